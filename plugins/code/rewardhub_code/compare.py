"""Comparison, outside of any sandbox: plain values with plain values, texts with texts."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from rewardhub_code.inside import plain

_LONGEST_NUMBER = 400
"""Characters of a number: longer ones are compared as words."""


def is_same(got: Any, expected: Any, *, tolerance: float = 0.0, any_order: bool = False) -> bool:
    """Return whether the plain value ``got`` is what was ``expected``.

    As ``==``, but: NaN is NaN; a list that is expected is also met by a tuple of the same items;
    numbers may differ by ``tolerance``, absolutely or as a share of the larger.

    Args:
        got: what the solution gave.
        expected: what it should have given.
        tolerance: for numbers.
        any_order: whether the items of a list or tuple may come in any order.
    """
    if any_order and isinstance(got, (list, tuple)) and isinstance(expected, (list, tuple)):
        got = type(got)(sorted(got, key=_text))
        expected = type(expected)(sorted(expected, key=_text))
    return _is_same(got, expected, tolerance)


def _text(value: Any) -> str:
    return json.dumps(plain.encode(value), sort_keys=True)


def _is_same(got: Any, expected: Any, tolerance: float) -> bool:
    if isinstance(expected, list):
        return isinstance(got, (list, tuple)) and _items_same(got, expected, tolerance)
    if isinstance(expected, tuple):
        return isinstance(got, tuple) and _items_same(got, expected, tolerance)
    if isinstance(expected, dict):
        return (
            isinstance(got, dict)
            and got.keys() == expected.keys()
            and all(_is_same(got[key], item, tolerance) for key, item in expected.items())
        )
    if isinstance(expected, (int, float)) and isinstance(got, (int, float)):
        return is_close(got, expected, tolerance)
    return bool(got == expected)


def _items_same(got: Sequence[Any], expected: Sequence[Any], tolerance: float) -> bool:
    return len(got) == len(expected) and all(
        _is_same(one, other, tolerance) for one, other in zip(got, expected, strict=True)
    )


def is_close(got: float, expected: float, tolerance: float) -> bool:
    """Return whether two numbers are equal, both NaN, or within ``tolerance``."""
    if got == expected or (got != got and expected != expected):  # noqa: PLR0124  # NaN
        return True
    if not tolerance:
        return False
    try:
        return math.isclose(got, expected, rel_tol=tolerance, abs_tol=tolerance)
    except OverflowError:  # an int that no float can hold
        return False


def exact_difference(got: str, expected: str) -> str:
    """Return how two texts differ, or an empty text; newlines at the end do not count."""
    one, other = _lines(got), _lines(expected)
    for number, (line, wanted) in enumerate(zip(one, other, strict=False), 1):
        if line != wanted:
            return f"line {number} is {_short(line)}, not {_short(wanted)}"
    if len(one) != len(other):
        return f"{len(one)} lines, not {len(other)}"
    return ""


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").rstrip("\n").split("\n")


def token_difference(got: str, expected: str, *, tolerance: float | None = None) -> str:
    """Return how the words of two texts differ, or an empty text.

    Args:
        got: what was printed.
        expected: what should have been.
        tolerance: within which words that are numbers agree; None: words are words.
    """
    one, other = got.split(), expected.split()
    for number, (word, wanted) in enumerate(zip(one, other, strict=False), 1):
        if word != wanted and (tolerance is None or not _close_words(word, wanted, tolerance)):
            return f"word {number} is {_short(word)}, not {_short(wanted)}"
    if len(one) != len(other):
        return f"{len(one)} words, not {len(other)}"
    return ""


def _close_words(got: str, expected: str, tolerance: float) -> bool:
    if max(len(got), len(expected)) > _LONGEST_NUMBER or not (got + expected).isascii():
        return False
    if "_" in got or "_" in expected:  # Python's own way to write numbers, nobody else's
        return False
    try:
        one, other = float(got), float(expected)
    except ValueError:
        return False
    return is_close(one, other, tolerance)


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}...")

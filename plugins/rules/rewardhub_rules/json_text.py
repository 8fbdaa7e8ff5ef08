"""JSON as a model wrote it, read strictly."""

from __future__ import annotations

import json
import math
from typing import Any

__all__ = ["MAX_NESTING", "BadJsonError", "read_json"]

MAX_NESTING = 64
"""How deep arrays and objects may nest; what validates them recurses."""


class BadJsonError(ValueError):
    """The text is no JSON, with the reason in one sentence."""


def read_json(text: str) -> Any:
    """Return the JSON value of ``text``.

    Stricter than `json`: a name twice in one object, NaN, infinity, numbers that no float holds,
    text before or after the value and more than 64 levels of nesting are refused.

    Raises:
        BadJsonError: saying what is wrong, and where.
    """
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_float=_float,
        )
    except json.JSONDecodeError as error:
        raise BadJsonError(f"it is no JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise BadJsonError(f"it nests deeper than {MAX_NESTING} levels") from None
    except BadJsonError:
        raise
    except ValueError as error:  # a whole number of thousands of digits
        raise BadJsonError(f"it is no JSON that can be read: {error!s:.120}") from None
    _refuse_depth(value)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise BadJsonError(f"the name {twice!r:.80} stands twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise BadJsonError(f"{name} is no JSON")


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise BadJsonError(f"{text:.40} is larger than a float holds")
    return number


def _refuse_depth(value: Any) -> None:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_NESTING):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise BadJsonError(f"it nests deeper than {MAX_NESTING} levels")

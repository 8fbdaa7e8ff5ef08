"""JSON that a model wrote: where a value ends, what it says, and its members as they stand."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

MAX_DEPTH = 100
"""How deep arguments may nest. What is deeper is no JSON here, as it is for many a reader."""

# Outside of texts only what JSON has: anything else, a marker or a backslash, ends the search. So a
# search that fails has not run over the marker at which the next one begins, and all of them
# together are linear.
_TOKEN = re.compile(r'[\s,:0-9A-Za-z.+-]++|"(?:[^"\\]++|\\.)*+"|[\[{]|[\]}]', re.DOTALL)
_SPACE = re.compile(r"\s*+")
_COLON = re.compile(r"\s*+:\s*+")
_COMMA = re.compile(r"\s*+,\s*+")
_TEXT = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SCALAR = re.compile(r"[^,\s\]}]*+")


class Value(NamedTuple):
    """A JSON value: the text as written, and what it says.

    Attributes:
        raw: as the model wrote it.
        parsed: its value, or None where it is no JSON.
        is_json: tells the value ``null`` from what is no JSON.
    """

    raw: str
    parsed: Any
    is_json: bool


def end_of(text: str, start: int) -> int | None:
    """Return where the object or array that begins at ``start`` ends, or None if it never does.

    Brackets in texts do not count. What is found need not be JSON.
    """
    if text[start : start + 1] not in {"{", "["}:
        return None
    depth, at = 0, start
    while token := _TOKEN.match(text, at):
        at = token.end()
        first = token[0][0]
        if first in "[{":
            depth += 1
        elif first in "]}":
            depth -= 1
            if depth == 0:
                return at
    return None


def read(raw: str) -> Value:
    """Return the JSON value that ``raw`` is; never an exception."""
    try:
        parsed = json.loads(raw, parse_constant=_refuse)
        _check(parsed, MAX_DEPTH)
    except (ValueError, RecursionError):  # too many digits are a ValueError, too
        return Value(raw, None, is_json=False)
    return Value(raw, parsed, is_json=True)


def members(raw: str) -> Mapping[str, str]:
    """Return key -> value as it is written, of the object ``raw``; as far as it can be read."""
    found: dict[str, str] = {}
    at = _SPACE.match(raw, 1).end()  # type: ignore[union-attr]  # it matches nothing, too
    while text := _TEXT.match(raw, at):
        key = read(text[0])
        colon = _COLON.match(raw, text.end())
        if colon is None or not isinstance(key.parsed, str):
            break
        start = colon.end()
        end = _end_of_member(raw, start)
        found[key.parsed] = raw[start:end].rstrip()
        comma = _COMMA.match(raw, end)
        if comma is None:
            break
        at = comma.end()
    return found


def _end_of_member(raw: str, start: int) -> int:
    """Return where a value ends; one that never does ends before the object's last brace."""
    if raw[start : start + 1] in {"{", "["}:
        return end_of(raw, start) or _end_of_broken(raw, start)
    if text := _TEXT.match(raw, start):
        return text.end()
    scalar = _SCALAR.match(raw, start)
    return scalar.end() if scalar else start


def _end_of_broken(raw: str, start: int) -> int:
    end = len(raw.rstrip())
    return end - 1 if raw[start:end].endswith("}") and end - 1 > start else end


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _check(value: Any, depth: int) -> None:
    """Refuse what no record can hold: deep nesting, huge numbers, half characters in a key."""
    if depth < 0:
        raise ValueError("nested too deep")
    if isinstance(value, dict):
        for key, item in value.items():
            key.encode()
            _check(item, depth - 1)
    elif isinstance(value, list):
        for item in value:
            _check(item, depth - 1)
    elif value in {float("inf"), float("-inf")}:
        raise ValueError("a number out of range")

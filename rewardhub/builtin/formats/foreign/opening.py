"""The first object of a file, to see of which format it is."""

from __future__ import annotations

from typing import Any

from pydantic_core import from_json

from rewardhub.builtin.formats.foreign.node import Fields


def first_object(head: bytes) -> Fields:
    """Return the first JSON object in ``head``, or as much of it as is there.

    It stands on the first line, spans lines, or is the first element of an array. Empty if
    ``head`` begins with something else.
    """
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    line = head.partition(b"\n")[0]
    for part in (line, head):
        try:
            value: Any = from_json(part, allow_partial="trailing-strings")
        except ValueError:
            continue
        if isinstance(value, list):
            value = value[0] if value else None
        if isinstance(value, dict) and (value or part is head):
            return value
    return {}

"""Fenced blocks of a Markdown text."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Fence", "fences"]

_LINE = re.compile(
    r"^[^\S\n]*(?P<run>`{3,}(?=[^`\n]*$)|~{3,})[^\S\n]*(?P<info>[^\n]*)$", re.MULTILINE
)


class Fence(NamedTuple):
    """A fenced block: characters ``start`` to ``end`` (not included) of the text, fences included.

    ``language`` is the first word after the opening fence, in lower case; ``content`` what stands
    between the fences; ``closed`` whether the closing fence is there.
    """

    start: int
    end: int
    language: str
    content: str
    closed: bool


def fences(text: str) -> tuple[Fence, ...]:
    """Return the fenced blocks of ``text`` in order.

    As CommonMark 0.31 has it: a block opens with three or more backquotes or tildes, and closes at
    a line with at least as many of the same and nothing else. So a block inside a block needs a
    longer fence outside. A fence may be indented as far as it likes, as inside of lists.

    Linear in the length of ``text``.
    """
    if "```" not in text and "~~~" not in text:
        return ()
    found: list[Fence] = []
    opening: re.Match[str] | None = None
    for line in _LINE.finditer(text):
        if opening is None:
            opening = line
        elif not line["info"].strip() and line["run"].startswith(opening["run"]):
            found.append(_block(text, opening, line.start(), line.end()))
            opening = None
    if opening is not None:
        found.append(_block(text, opening, None, len(text)))
    return tuple(found)


def _block(text: str, opening: re.Match[str], content_end: int | None, end: int) -> Fence:
    info = opening["info"].split(maxsplit=1)
    return Fence(
        start=opening.start(),
        end=end,
        language=info[0].lower() if info else "",
        content=text[opening.end() + 1 : content_end],
        closed=content_end is not None,
    )

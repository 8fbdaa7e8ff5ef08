"""One text to its steps: paragraphs, with code and display math kept whole."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Span", "split_steps"]

_MARK = re.compile(
    r"""
      (?P<blank>\n\s*\n)
    | (?P<fence>^[^\S\n]*(?:`{3,}[^`\n]*|~{3,}[^\n]*)$)
    | (?P<escape>\\[\\$])
    | (?P<math>\$\$|\\[\[\]]|\\(?:begin|end)\{[A-Za-z]{1,20}\*?\})
    """,
    re.MULTILINE | re.VERBOSE,
)


class Span(NamedTuple):
    """Characters ``start`` to ``end`` (not included) of a text, counted from 0."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """Return the characters of ``text`` that the span covers."""
        return text[self.start : self.end]


def split_steps(text: str) -> tuple[Span, ...]:
    """Return the steps of ``text`` in order: its paragraphs, which blank lines separate.

    Blank lines do not separate inside a code fence (``` or ~~~, up to the end of the text when it
    is never closed) and inside display math ($$ $$, \\[ \\], \\begin{x} \\end{x}) that is closed
    before the next fence. Spans are disjoint, hold no white space at their ends, are never empty,
    and cover all other characters. Linear in the length of ``text``.
    """
    spans: list[Span] = []
    start = 0
    for gap in (*_gaps(text), Span(len(text), len(text))):
        piece = text[start : gap.start]
        inner = piece.strip()
        if inner:
            offset = start + len(piece) - len(piece.lstrip())
            spans.append(Span(offset, offset + len(inner)))
        start = gap.end
    return tuple(spans)


def _gaps(text: str) -> list[Span]:
    """Return the blank lines of ``text`` that separate steps."""
    gaps: list[Span] = []
    fence = ""
    opened: dict[str, list[int]] = {}
    for mark in _MARK.finditer(text):
        if mark.lastgroup == "fence":
            fence = _fence_after(mark[0].strip(), fence)
            opened.clear()
        elif fence:
            continue
        elif mark.lastgroup == "blank":
            gaps.append(Span(*mark.span()))
        elif mark.lastgroup == "math":
            start = _math_start(mark, opened)
            while gaps and gaps[-1].start > start:
                gaps.pop()
    return gaps


def _fence_after(line: str, fence: str) -> str:
    """Return the fence that is open after ``line``, where ``fence`` (or none) was open before."""
    run = line[: len(line) - len(line.lstrip(line[0]))]
    if not fence:
        return run
    return "" if line == run and run.startswith(fence) else fence


def _math_start(mark: re.Match[str], opened: dict[str, list[int]]) -> int:
    """Return where the math began that ``mark`` closes; where it closes none, remember it.

    ``opened`` maps what would close math to where it was opened, the latest last.
    """
    if starts := opened.get(mark[0]):
        return starts.pop()
    if not mark[0].startswith(("\\]", "\\end")):
        closing = mark[0].replace("[", "]").replace("begin", "end", 1)
        opened.setdefault(closing, []).append(mark.start())
    return mark.end()

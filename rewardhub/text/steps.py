"""One text to its steps: paragraphs and numbered steps, with code and display math kept whole."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from rewardhub.records import Trajectory

__all__ = ["Span", "StepPlace", "split_steps", "split_trajectory"]

_HEAD = r"^\ {0,3}(?:\#{1,6}\ +|[-*+]\ +)?(?:\*\*|__)?"
_AFTER_LABEL = r"\ ?(?:[:.)*_\uff1a\u2013\u2014-]|[^\S\n]*$)"
_MARK = re.compile(
    rf"""
      (?P<blank>\n\s*\n)
    | (?P<fence>^[^\S\n]*(?:`{{3,}}[^`\n]*|~{{3,}}[^\n]*)$)
    | (?P<label>{_HEAD}(?i:step)\ +(?P<labelled>[0-9]{{1,3}}){_AFTER_LABEL})
    | (?P<item>{_HEAD}(?P<numbered>[0-9]{{1,3}})[.)](?=[\s*_]))
    | (?P<escape>\\[\\$])
    | (?P<math>\$\$|\\[\[\]]|\\(?:begin|end)\{{[A-Za-z]{{1,20}}\*?\}})
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


class StepPlace(NamedTuple):
    """Where in a trajectory a step of reasoning stands, as `StepValue` writes it.

    Attributes:
        step: index of the turn, from 0.
        field: ``text`` or ``reasoning`` of the turn.
        start: first character of the step in the field; None: the whole turn.
        end: the character after it.
    """

    step: int
    field: Literal["text", "reasoning"] = "text"
    start: int | None = None
    end: int | None = None


def split_trajectory(trajectory: Trajectory, *, reasoning: bool = False) -> tuple[StepPlace, ...]:
    """Return the steps of an attempt in order.

    Of several turns each is a step, whatever is in it. A single turn is split inside, by
    `split_steps`: its reasoning first where ``reasoning`` is asked for, then its text; blank ones
    have no steps.
    """
    if len(trajectory.steps) > 1:
        return tuple(StepPlace(index) for index in range(len(trajectory.steps)))
    places: list[StepPlace] = []
    for turn in trajectory.steps:
        if reasoning and turn.reasoning:
            places += [StepPlace(0, "reasoning", *span) for span in split_steps(turn.reasoning)]
        places += [StepPlace(0, "text", *span) for span in split_steps(turn.text)]
    return tuple(places)


def split_steps(text: str, *, numbered: bool = True) -> tuple[Span, ...]:
    """Return the steps of ``text`` in order: its paragraphs, and its numbered steps.

    Blank lines separate. They do not inside a code fence (``` or ~~~, up to the end of the text
    when it is never closed) and inside display math ($$ $$, \\[ \\], \\begin{x} \\end{x}) that is
    closed before the next fence. With ``numbered``, a line that begins a numbered step begins a
    step without a blank line, too:

    - ``Step 2:``, ``### Step 2``, ``**Step 3**``: in runs of two or more that count up by one.
      ``Step 1`` begins a new run; a label out of order begins nothing.
    - ``1.`` or ``1)``: only where the list *is* the text: there is no blank line that separates and
      no labelled step, at most one line stands before ``1.``, and the numbers are 1, 2, ... n, each
      once, n at least 2. Any other list is part of the step that it stands in.

    Spans are disjoint, hold no white space at their ends, are never empty, and cover all other
    characters. Linear in the length of ``text``.
    """
    spans: list[Span] = []
    start = 0
    for gap in (*_gaps(text, numbered=numbered), Span(len(text), len(text))):
        piece = text[start : gap.start]
        inner = piece.strip()
        if inner:
            offset = start + len(piece) - len(piece.lstrip())
            spans.append(Span(offset, offset + len(inner)))
        start = gap.end
    return tuple(spans)


class _Candidate(NamedTuple):
    """What may separate: blank lines, or the start of a line with the ``number`` of a step."""

    gap: Span
    kind: str
    number: int = 0


def _gaps(text: str, *, numbered: bool) -> Iterable[Span]:
    """Return what separates the steps of ``text``, in order."""
    found = _candidates(text)
    blanks = [each for each in found if each.kind == "blank"]
    if not numbered:
        return [each.gap for each in blanks]
    labels = _runs([each for each in found if each.kind == "label"])
    kept = {*blanks, *labels}
    if not labels and not _any_separates(text, blanks):
        kept.update(_whole_list(text, [each for each in found if each.kind == "item"]))
    return [each.gap for each in found if each in kept]


def _candidates(text: str) -> list[_Candidate]:
    """Return what may separate steps, outside code and display math."""
    found: list[_Candidate] = []
    fence = ""
    opened: dict[str, list[int]] = {}
    for mark in _MARK.finditer(text):
        kind = mark.lastgroup or ""
        if kind == "fence":
            fence = _fence_after(mark[0].strip(), fence)
            opened.clear()
        elif fence:
            continue
        elif kind == "blank":
            found.append(_Candidate(Span(*mark.span()), kind))
        elif kind in {"label", "item"}:
            number = int(mark["labelled"] or mark["numbered"])
            found.append(_Candidate(Span(mark.start(), mark.start()), kind, number))
        elif kind == "math":
            start = _math_start(mark, opened)
            while found and found[-1].gap.start > start:
                found.pop()
    return found


def _runs(labels: list[_Candidate]) -> list[_Candidate]:
    """Return the labels that count up by one; a run has two at least, and 1 begins a new one."""
    runs: list[list[_Candidate]] = []
    for label in labels:
        if runs and label.number == runs[-1][-1].number + 1:
            runs[-1].append(label)
        elif not runs or len(runs[-1]) == 1 or label.number <= 1:
            runs.append([label])
    return [label for run in runs if len(run) > 1 for label in run]


def _any_separates(text: str, blanks: list[_Candidate]) -> bool:
    """Whether blank lines separate: some have text before and after them."""
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())
    return any(first < each.gap.start and each.gap.end < last for each in blanks)


def _whole_list(text: str, items: list[_Candidate]) -> list[_Candidate]:
    """Return ``items`` if they are the text: 1 to n, with at most one line before them."""
    numbers = [item.number for item in items]
    if len(items) < 2 or numbers != list(range(1, len(items) + 1)):
        return []
    before = text[: items[0].gap.start].strip()
    return [] if "\n" in before else items


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

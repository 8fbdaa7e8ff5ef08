"""Long solutions: overlapping windows of whole steps, each with the problem in front."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from rewardhub_prm.encoding import Encoded, TextEncoder
from rewardhub_prm.presets.base import Preset


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a solution that fits into the model.

    Attributes:
        row: what the model reads; its positions are those of the steps whose values count.
        steps: the indices of these steps.
    """

    row: Encoded
    steps: range


@dataclass(frozen=True, slots=True)
class TooLong:
    """What does not fit: the solution (``step`` is None) or a step, and its tokens."""

    tokens: int
    step: int | None = None


def windows(
    preset: Preset,
    text: TextEncoder,
    problem: str,
    steps: Sequence[str],
    *,
    limit: int,
    cut: bool,
) -> list[Window] | TooLong:
    """Return what the model reads of a solution, each row with at most ``limit`` tokens.

    Where the whole does not fit and ``cut`` is true: the first window takes as many steps as fit.
    Each next one goes back over as many of the steps before it as half of the room holds, and on
    to as many as fit. The value of a step comes from the first window that it is in, where most
    steps stand before it.

    Returns:
        The windows, or what is too long: the whole where ``cut`` is false, else a single step.
    """
    whole = preset.encode(text, problem, steps)
    if len(whole) <= limit:
        return [Window(whole, range(len(steps)))]
    if not cut:
        return TooLong(len(whole))
    alone = [len(preset.encode(text, problem, [step])) for step in steps]
    longest = max(range(len(steps)), key=alone.__getitem__)
    if alone[longest] > limit:
        return TooLong(alone[longest], longest)
    sizes = [b - a for a, b in itertools.pairwise((0, *whole.positions))]
    found: list[Window] = []
    start = done = 0
    while done < len(steps):
        end = _fill(start, alone, sizes, limit)
        row = preset.encode(text, problem, steps[start:end])
        while len(row) > limit:  # tokens that join differently at the seams
            end -= 1
            row = preset.encode(text, problem, steps[start:end])
        if end <= done:  # the seam took the last step that is new: go back over fewer
            start += 1
            continue
        kept = Encoded(row.ids, row.positions[done - start :])
        found.append(Window(kept, range(done, end)))
        start = _back(end, alone, sizes, limit)
        done = end
    return found


def _fill(start: int, alone: Sequence[int], sizes: Sequence[int], limit: int) -> int:
    """Return the end of the longest window from ``start`` that fits."""
    end, tokens = start + 1, alone[start]
    while end < len(sizes) and tokens + sizes[end] <= limit:
        tokens += sizes[end]
        end += 1
    return end


def _back(end: int, alone: Sequence[int], sizes: Sequence[int], limit: int) -> int:
    """Return where the window after ``end`` starts: half of its room is for steps before it."""
    if end >= len(sizes):
        return end
    room = (limit - alone[end]) // 2
    start = end
    while start > 0 and sizes[start - 1] <= room:
        start -= 1
        room -= sizes[start]
    return start

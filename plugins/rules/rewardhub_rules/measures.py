"""`rules/length` and `rules/repetition`: how much the answer says, and how often."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal, Self

from pydantic import Field, model_validator

from rewardhub import Grader, Score, Trajectory, split_steps
from rewardhub_rules.answers import answer_of, empty
from rewardhub_rules.instructions.words import count_words
from rewardhub_rules.sentences import count_sentences

__all__ = ["UNITS", "Length", "Repetition"]

Unit = Literal["words", "characters", "sentences", "paragraphs", "lines"]
Measure = Literal["ngrams", "block", "lines", "compression"]


def _count_lines(text: str) -> int:
    return sum(1 for line in text.splitlines() if line and not line.isspace())


def _count_paragraphs(text: str) -> int:
    return len(split_steps(text))


UNITS: dict[str, Callable[[str], int]] = {
    "words": count_words,
    "characters": len,
    "sentences": count_sentences,
    "paragraphs": _count_paragraphs,
    "lines": _count_lines,
}
"""Unit -> how it is counted. Blank lines are no lines; a block of code is one paragraph."""


class Length(Grader):
    """Full marks for an answer within two bounds; with a margin, less and less beyond them.

    An answer that misses a bound by a share t of the margin gets 1 - t (`linear`) or
    (1 + cos(pi t)) / 2 (`cosine`), and 0 from the whole margin on.
    """

    unit: Unit = "words"
    """What is counted: `words`, `characters`, `sentences`, `paragraphs` or `lines`."""
    at_least: int = Field(default=1, ge=1)
    """The lower bound."""
    at_most: int | None = Field(default=None, ge=1)
    """The upper bound; null: none."""
    margin: float = Field(default=0.0, ge=0, le=1)
    """How far past a bound the value reaches 0, as a share of that bound. 0: a hard bound."""
    shape: Literal["linear", "cosine"] = "linear"
    """How the value falls over the margin."""

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.at_most is not None and self.at_most < self.at_least:
            raise ValueError(f"at_most ({self.at_most}) is below at_least ({self.at_least})")
        return self

    @cached_property
    def _count(self) -> Callable[[str], int]:
        return UNITS[self.unit]

    def grade(self, trajectory: Trajectory) -> Score:
        """Count the final text."""
        text = answer_of(trajectory)
        if not text:
            return empty()
        count = self._count(text.strip())
        if count < self.at_least:
            value = self._past(self.at_least, self.at_least - count)
            return Score.of(value, f"{count} {self.unit}, at least {self.at_least} asked")
        if self.at_most is not None and count > self.at_most:
            value = self._past(self.at_most, count - self.at_most)
            return Score.of(value, f"{count} {self.unit}, at most {self.at_most} asked")
        return Score.of(1.0, f"{count} {self.unit}")

    def _past(self, bound: int, missed: int) -> float:
        """Return the value of an answer that misses ``bound`` by so many units."""
        margin = self.margin * bound
        if missed >= margin:
            return 0.0
        used = missed / margin
        return 1.0 - used if self.shape == "linear" else (1.0 + math.cos(math.pi * used)) / 2.0


_BOUNDS: dict[str, tuple[float, float]] = {
    "ngrams": (0.1, 0.5),
    "block": (0.1, 0.5),
    "lines": (0.1, 0.5),
    "compression": (0.6, 0.9),
}
"""Measure -> what is free and what is too much, where the options do not say."""


class Repetition(Grader):
    """Full marks for an answer that does not repeat itself; 0 for one that loops.

    The value is 1 up to the share `free`, 0 from the share `limit` on, and linear in between. The
    share is, by `measure`:

    - ``ngrams``: 1 - distinct n-grams / n-grams of words (Welleck et al. 2020, seq-rep-n,
      https://arxiv.org/abs/1908.04319)
    - ``block``: words of the longest block that occurs again (overlaps allowed) / all words
    - ``lines``: lines that occurred before / lines, blank ones left out (Rae et al. 2021,
      appendix A1, https://arxiv.org/abs/2112.11446)
    - ``compression``: 1 - bytes after zlib / bytes before

    Words are what white space separates, in lower case; a text with hardly any white space is
    measured by its characters. Linear in the length of the text.
    """

    measure: Measure = "ngrams"
    """What is measured: `ngrams`, `block`, `lines` or `compression`."""
    n: int = Field(default=4, ge=1, le=32)
    """How many words an n-gram has."""
    free: float | None = Field(default=None, ge=0, lt=1)
    """The share that costs nothing; default 0.1, for `compression` 0.6."""
    limit: float | None = Field(default=None, gt=0, le=1)
    """The share that takes everything; default 0.5, for `compression` 0.9."""

    @model_validator(mode="after")
    def _free_is_below_limit(self) -> Self:
        free, limit = self._bounds
        if free >= limit:
            raise ValueError(f"free ({free:g}) must be below limit ({limit:g})")
        return self

    @cached_property
    def _bounds(self) -> tuple[float, float]:
        free, limit = _BOUNDS[self.measure]
        return (
            free if self.free is None else self.free,
            limit if self.limit is None else self.limit,
        )

    def grade(self, trajectory: Trajectory) -> Score:
        """Measure the final text."""
        text = answer_of(trajectory)
        if not text:
            return empty()
        share = self._share(text)
        free, limit = self._bounds
        used = 0.0 if share <= free else min(1.0, (share - free) / (limit - free))
        return Score.of(1.0 - used, f"{share:.1%} repeated ({self.measure})")

    def _share(self, text: str) -> float:
        if self.measure == "lines":
            lines = [line for each in text.splitlines() if (line := each.strip())]
            return 1.0 - len(set(lines)) / len(lines) if len(lines) > 1 else 0.0
        if self.measure == "compression":
            raw = text.encode("utf-8", "replace")
            return max(0.0, 1.0 - len(zlib.compress(raw)) / len(raw))
        units = _units(text)
        if self.measure == "block":
            return _longest_repeated(units) / len(units)
        count = len(units) - self.n + 1
        if count < 1:
            return 0.0
        return 1.0 - len(set(zip(*(units[i:] for i in range(self.n)), strict=False))) / count


def _units(text: str) -> Sequence[str]:
    """Return the words of ``text``, or its characters where they are not set apart by spaces."""
    text = text.casefold()
    words = text.split()
    return words if len(words) * 32 > len(text) else "".join(words)


def _longest_repeated(units: Sequence[str]) -> int:
    """Return the length of the longest run of units that occurs twice; the two may overlap.

    A suffix automaton, linear in the number of units: Blumer et al. (1985), The smallest automaton
    recognizing the subwords of a text. After each unit, the suffix link of the newest state has
    the length of the longest suffix that was there before.
    """
    lengths, links = [0], [-1]
    moves: list[dict[str, int]] = [{}]
    last = longest = 0
    for unit in units:
        state = len(lengths)
        lengths.append(lengths[last] + 1)
        links.append(0)
        moves.append({})
        at = last
        while at >= 0 and unit not in moves[at]:
            moves[at][unit] = state
            at = links[at]
        if at >= 0:
            target = moves[at][unit]
            if lengths[target] != lengths[at] + 1:
                target = _split(lengths, links, moves, at=at, unit=unit)
            links[state] = target
            longest = max(longest, lengths[target])
        last = state
    return longest


def _split(
    lengths: list[int], links: list[int], moves: list[dict[str, int]], *, at: int, unit: str
) -> int:
    """Give the shorter suffixes of a state a state of their own; return it."""
    target = moves[at][unit]
    clone = len(lengths)
    lengths.append(lengths[at] + 1)
    links.append(links[target])
    moves.append(dict(moves[target]))
    links[target] = clone
    while at >= 0 and moves[at].get(unit) == target:
        moves[at][unit] = clone
        at = links[at]
    return clone

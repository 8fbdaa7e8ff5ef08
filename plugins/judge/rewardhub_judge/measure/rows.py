"""Recorded decisions in the neutral format: pairs that were compared, answers that were scored.

A file is JSON Lines of one kind. A pair's decisions name the item, never the place where it was
shown, so that the two orders can be compared::

    {"id": "q7", "labels": ["first", "first", "tie"], "lengths": [120, 340],
     "decisions": {"my-judge": {"given": ["first"], "swapped": ["second"]}}}

A scored answer::

    {"id": "a7", "labels": [4], "length": 512, "votes": {"my-judge": [4, 3, 4]}}

``null`` among decisions and votes is an answer without a verdict. Several entries of one list are
repeats of the same question. ``cluster`` names rows that belong together, such as answers to one
question; they are drawn together where intervals are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Choice", "Decisions", "PairRow", "ScoreRow", "Value", "middle"]

Choice: TypeAlias = Literal["first", "second", "tie"]
Value: TypeAlias = Annotated[float, Field(allow_inf_nan=False)] | str
"""What an answer is scored with: a number, or a word of a menu."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Decisions(_Strict):
    """What one judge said of a pair, in both orders."""

    given: tuple[Choice | None, ...] = ()
    """Decisions with the first item shown first."""

    swapped: tuple[Choice | None, ...] = ()
    """Decisions with the second item shown first."""

    @cached_property
    def verdict(self) -> Choice | None:
        """What holds in both orders; a tie where they disagree, None where one has no verdict.

        Winning in both orders is what Zheng et al. (2023, arXiv 2306.05685, section 3.4) ask for.
        """
        orders: list[Choice | None] = [
            _of_repeats(each) for each in (self.given, self.swapped) if each
        ]
        if not orders or None in orders:
            return None
        return orders[0] if len(set(orders)) == 1 else "tie"


def _of_repeats(repeats: Sequence[Choice | None]) -> Choice | None:
    """Return what most repeats say, a tie where none has a majority, None without a verdict."""
    told: list[Choice] = [choice for choice in repeats if choice is not None]
    return (_agreed(told) or "tie") if told else None


def _agreed(choices: Sequence[Choice]) -> Choice | None:
    """Return what more than half of the choices are; None where there is no such."""
    most: Sequence[Choice] = [each for each in choices if 2 * choices.count(each) > len(choices)]
    return most[0] if most else None


class PairRow(_Strict):
    """Two items that were compared."""

    id: str
    cluster: str | None = None
    labels: tuple[Choice, ...] = ()
    decisions: dict[str, Decisions]
    lengths: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]] | None = None
    """Characters of the first and of the second item."""

    @property
    def label(self) -> Choice | None:
        """What more than half of the labels say; None where there is no such."""
        return _agreed(self.labels)


class ScoreRow(_Strict):
    """An answer that was scored."""

    id: str
    cluster: str | None = None
    labels: tuple[Value, ...] = ()
    votes: dict[str, tuple[Value | None, ...]]
    length: Annotated[int, Field(ge=0)] | None = None
    """Characters of the answer."""

    @property
    def label(self) -> Value | None:
        """The middle of the labels if they are numbers, else what more than half of them say."""
        return middle(self.labels)


def middle(values: Sequence[Value | None]) -> Value | None:
    """Return the lower median of numbers, so that it is one of them, or the majority of words."""
    told = [value for value in values if value is not None]
    numbers = sorted(value for value in told if not isinstance(value, str))
    if told and len(numbers) == len(told):
        return numbers[(len(numbers) - 1) // 2]
    most = [value for value in told if 2 * told.count(value) > len(told)]
    return most[0] if most else None

"""Interval arithmetic: the tightest interval that holds every result of one operation."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Interval", "hull"]


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers from ``low`` to ``high``, both finite and included.

    Rounding is to nearest, as in the evaluation itself: that is monotone, so an operation on
    numbers inside two intervals lands inside the result of the same operation on the intervals.

    Raises:
        ValueError: when ``low`` is above ``high``, or an end is not finite.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not -math.inf < self.low <= self.high < math.inf:
            raise ValueError(f"No interval goes from {self.low} to {self.high}.")

    @classmethod
    def at(cls, number: float) -> Interval:
        """Return the interval that holds ``number`` alone."""
        return cls(number, number)

    def __contains__(self, number: float) -> bool:
        return self.low <= number <= self.high

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Interval) -> Interval:
        corners = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(corners), max(corners))

    def __truediv__(self, other: Interval) -> Interval:
        if 0.0 in other:
            raise ZeroDivisionError(f"{other} holds 0")
        corners = [a / b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(corners), max(corners))


def hull(*intervals: Interval) -> Interval:
    """Return the smallest interval that holds all of ``intervals``."""
    return Interval(min(each.low for each in intervals), max(each.high for each in intervals))

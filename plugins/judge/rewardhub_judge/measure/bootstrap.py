"""Intervals by the bootstrap: rows are drawn anew, together with those that belong to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rewardhub_judge.measure.agreement import Statistic

__all__ = ["Draws", "Estimate"]

_MOST_UNDEFINED = 0.05
"""The share of draws without a value above which an interval says nothing."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic of the rows, and its 95 % interval; None where it is not defined."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Draws:
    """The same draws of rows for every statistic, so that differences are of the same rows.

    The percentile bootstrap of clusters (Efron and Tibshirani 1993, chapters 8 and 13): as many
    clusters as there are, drawn with replacement.

    Args:
        clusters: for each row what it belongs to.
        resamples: how many draws; 0 makes no intervals.
        seed: of the draws.
    """

    def __init__(self, clusters: Sequence[str], *, resamples: int, seed: int) -> None:
        import numpy as np

        names = {name: number for number, name in enumerate(dict.fromkeys(clusters))}
        self._places = np.array([names[name] for name in clusters], int)
        self._size = len(names)
        self._resamples = resamples
        self._seed = seed

    def value(self, statistic: Statistic) -> float | None:
        """Return the statistic of the rows as they are; None where it is not defined."""
        import numpy as np

        value = float(statistic(np.ones(len(self._places), int)))
        return None if np.isnan(value) else value

    def estimate(self, statistic: Statistic) -> Estimate:
        """Return the statistic with its interval."""
        import numpy as np

        value = self.value(statistic)
        if value is None:
            return Estimate(value=None)
        drawn = np.array([statistic(weights) for weights in self._weights()])
        told = drawn[~np.isnan(drawn)]
        if not len(told) or len(told) < (1 - _MOST_UNDEFINED) * len(drawn):
            return Estimate(value=value)
        low, high = (float(each) for each in np.quantile(told, [0.025, 0.975]))
        return Estimate(value=value, low=low, high=high)

    def _weights(self) -> Iterator[Any]:
        import numpy as np

        chance = np.random.default_rng(self._seed)
        for _ in range(self._resamples):
            drawn = chance.integers(0, self._size, self._size)
            yield np.bincount(drawn, minlength=self._size)[self._places]

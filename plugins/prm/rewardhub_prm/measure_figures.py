"""How well values tell where a solution goes wrong: ProcessBench's figures, and those of steps."""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rewardhub import UsageError
from rewardhub_prm.labelled import RIGHT, LabelledRow
from rewardhub_prm.train_parts import groups_of

__all__ = [
    "FIGURES",
    "Estimate",
    "ValuedRow",
    "figures_of",
    "harmonic",
    "mean_f1",
    "tuned_threshold",
]

FIGURES = (
    "accuracy_erroneous",
    "accuracy_correct",
    "f1",
    "auroc",
    "brier",
    "calibration_error",
)
"""The names of what is measured:

- ``accuracy_erroneous``: the share of the solutions with an error where the first step below the
  threshold is the first wrong one;
- ``accuracy_correct``: the share of the solutions without one where no step is below it;
- ``f1``: the harmonic mean of the two, as ProcessBench (arXiv 2412.06559) defines it;
- ``auroc``: how often a right step has a higher value than a wrong one, ties counted half, over the
  labelled steps;
- ``brier``: the mean squared distance of a labelled step's value from 1 (right) or 0 (wrong);
- ``calibration_error``: over ten equal bins of values, the mean distance between a bin's mean value
  and its share of right steps, by the steps in it (arXiv 1706.04599).
"""

_BINS = 10


NOWHERE = -1
"""What a row without values says: it is no index of a step, and not that no step is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuedRow:
    """A labelled solution with a value for each step, in [0, 1], high where it is right.

    A step's None says nothing of it. ``values`` None: the model could not be asked, as where the
    row is too long for it; such a row is missed, whatever its label.
    """

    row: LabelledRow
    values: tuple[float | None, ...] | None

    def first_below(self, threshold: float) -> int | None:
        """Return the index of the first step below ``threshold``; `NOWHERE` without values."""
        if self.values is None:
            return NOWHERE
        below = (at for at, v in enumerate(self.values) if v is not None and v < threshold)
        return next(below, None)

    def labelled(self) -> Iterator[tuple[float, bool]]:
        """Yield value and rightness of each step that has both."""
        for value, label in zip(self.values or (), self.row.labels, strict=self.values is not None):
            if value is not None and label is not None:
                yield value, label >= RIGHT


class Estimate(NamedTuple):
    """A figure with the middle 95 % of what it is when the problems are drawn again."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Bin(NamedTuple):
    """The labelled steps whose values are in one tenth: how many, mean value, share right."""

    steps: float
    value: float
    right: float


def harmonic(erroneous: float | None, correct: float | None) -> float | None:
    """Return the harmonic mean of two accuracies; None where one has no rows."""
    if erroneous is None or correct is None:
        return None
    total = erroneous + correct
    return 2 * erroneous * correct / total if total else 0.0


@dataclass
class Sample:
    """The rows of one split, ready to be counted again under other weights of its rows."""

    rows: Sequence[ValuedRow]
    threshold: float
    hits: list[tuple[bool, float]] = field(init=False)
    steps: list[tuple[float, bool, int]] = field(init=False)

    def __post_init__(self) -> None:
        judged = [(each.row.first_error, each.first_below(self.threshold)) for each in self.rows]
        self.hits = [(error is not None, float(error == found)) for error, found in judged]
        self.steps = sorted(
            (value, right, index)
            for index, each in enumerate(self.rows)
            for value, right in each.labelled()
        )

    def count(self, weights: Sequence[float]) -> dict[str, float | None]:
        """Return each of `FIGURES` where row i counts ``weights[i]`` times."""
        erroneous = self._accuracy(weights, erroneous=True)
        correct = self._accuracy(weights, erroneous=False)
        bins = self.bins(weights)
        total = sum(each.steps for each in bins)
        off = sum(each.steps * abs(each.value - each.right) for each in bins)
        squares = sum(weights[row] * (value - right) ** 2 for value, right, row in self.steps)
        return {
            "accuracy_erroneous": erroneous,
            "accuracy_correct": correct,
            "f1": harmonic(erroneous, correct),
            "auroc": self._auroc(weights),
            "brier": squares / total if total else None,
            "calibration_error": off / total if total else None,
        }

    def bins(self, weights: Sequence[float]) -> list[Bin]:
        """Return the labelled steps by tenths of their values; a tenth without steps has zeros."""
        sums = [[0.0, 0.0, 0.0] for _ in range(_BINS)]
        for value, right, row in self.steps:
            found = sums[min(int(value * _BINS), _BINS - 1)]
            found[0] += weights[row]
            found[1] += weights[row] * value
            found[2] += weights[row] * right
        return [Bin(n, value / n, right / n) if n else Bin(0, 0, 0) for n, value, right in sums]

    def _accuracy(self, weights: Sequence[float], *, erroneous: bool) -> float | None:
        chosen = [
            (weight, hit)
            for weight, (kind, hit) in zip(weights, self.hits, strict=True)
            if kind == erroneous
        ]
        total = sum(weight for weight, _ in chosen)
        return sum(weight * hit for weight, hit in chosen) / total if total else None

    def _auroc(self, weights: Sequence[float]) -> float | None:
        """Return the statistic of Mann and Whitney as a share of the pairs, ties counted half."""
        won = wrong = right = tied_wrong = tied_right = 0.0
        at = math.nan
        for value, is_right, row in self.steps:
            if value != at:
                won += tied_right * (wrong + tied_wrong / 2)
                wrong, right = wrong + tied_wrong, right + tied_right
                tied_wrong = tied_right = 0.0
                at = value
            if is_right:
                tied_right += weights[row]
            else:
                tied_wrong += weights[row]
        won += tied_right * (wrong + tied_wrong / 2)
        pairs = (wrong + tied_wrong) * (right + tied_right)
        return won / pairs if pairs else None


class Figures(NamedTuple):
    """What was measured of one split, and each figure again for every draw of its problems."""

    estimates: Mapping[str, Estimate]
    f1_draws: Sequence[float | None]
    bins: Sequence[Bin]


def figures_of(
    rows: Sequence[ValuedRow], *, threshold: float, resamples: int, seed: int = 0
) -> Figures:
    """Return each of `FIGURES` over ``rows``; a figure that lacks its rows is None.

    Intervals are the percentile bootstrap over problems (all attempts at equal or nearly equal
    problems are drawn together), of ``resamples`` draws.
    """
    sample = Sample(rows, threshold)
    whole = sample.count([1.0] * len(rows))
    bins = sample.bins([1.0] * len(rows))
    draws: dict[str, list[float | None]] = {name: [] for name in FIGURES}
    names = groups_of([each.row.problem for each in rows])
    index = {name: at for at, name in enumerate(dict.fromkeys(names))}
    owner = [index[name] for name in names]
    dice = random.Random(f"{seed}:{len(rows)}")  # noqa: S311  # statistics, no secret
    for _ in range(resamples):
        counts = [0.0] * len(index)
        for drawn in dice.choices(range(len(index)), k=len(index)):
            counts[drawn] += 1
        for name, value in sample.count([counts[group] for group in owner]).items():
            draws[name].append(value)
    estimates = {name: _estimate(whole[name], draws[name]) for name in FIGURES}
    return Figures(estimates, draws["f1"], bins)


def mean_f1(splits: Sequence[Figures]) -> Estimate:
    """Return the mean of the F1 of the splits that have one, as ProcessBench reports it."""
    having = [split for split in splits if split.estimates["f1"].value is not None]
    if not having:
        return Estimate(None)
    draws = [_mean(values) for values in zip(*(split.f1_draws for split in having), strict=True)]
    return _estimate(_mean([split.estimates["f1"].value for split in having]), draws)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _estimate(value: float | None, draws: Sequence[float | None]) -> Estimate:
    known = sorted(draw for draw in draws if draw is not None)
    if value is None or not known:
        return Estimate(value)
    last = len(known) - 1
    return Estimate(value, known[round(0.025 * last)], known[round(0.975 * last)])


def tuned_threshold(rows: Sequence[ValuedRow]) -> float:
    """Return the threshold with the best F1 on ``rows``; of several the one closest to 0.5.

    Raises:
        UsageError: if they lack solutions with an error or without one.
    """
    hit: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for each in rows:
        error = each.row.first_error
        values = [1.0 if value is None else value for value in each.values or ()]
        # A row is right for every threshold above ``low`` up to ``high``.
        low = -math.inf if error is None else math.inf if not values else values[error]
        high = -math.inf if not values else min(values[:error], default=math.inf)
        hit[error is not None].append((low, max(low, high)))
    for erroneous, word in ((True, "with an error"), (False, "without an error")):
        if not hit[erroneous]:
            raise UsageError(f"A threshold can't be tuned on rows of which none is {word}.")
    lows = {kind: sorted(low for low, _ in found) for kind, found in hit.items()}
    highs = {kind: sorted(high for _, high in found) for kind, found in hit.items()}

    def f1(threshold: float) -> float:
        shares = (
            (bisect_left(lows[kind], threshold) - bisect_left(highs[kind], threshold)) / len(found)
            for kind, found in hit.items()
        )
        return harmonic(*shares) or 0.0

    candidates = {min(high, 1.0) for found in highs.values() for high in found} | {0.5}
    return max(candidates, key=lambda threshold: (f1(threshold), -abs(threshold - 0.5), threshold))

"""`rewardhub prm measure`: how well a process reward model finds the first wrong step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardhub import UnknownNameError, UsageError
from rewardhub_prm.baselines import Baseline, baselines_of
from rewardhub_prm.labelled import LabelledRow
from rewardhub_prm.measure_figures import (
    FIGURES,
    Bin,
    Estimate,
    Figures,
    ValuedRow,
    figures_of,
    mean_f1,
    tuned_threshold,
)

__all__ = ["ALL", "Measured", "SplitMeasured", "measure", "with_verdict"]

ALL = "all rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitMeasured:
    """What was measured of one split.

    Attributes:
        name: of the split.
        rows: how many solutions; ``erroneous`` of them have a wrong step.
        unvalued: how many of them the model could not be asked about: they count as missed.
        labelled_steps: how many steps have a value and a label.
        estimates: each of `FIGURES`.
        bins: labelled steps by tenths of their values.
        baselines: figures of each of `BASELINES`.
    """

    name: str
    rows: int
    erroneous: int
    unvalued: int
    labelled_steps: int
    estimates: Mapping[str, Estimate]
    bins: Sequence[Bin]
    baselines: Mapping[str, Baseline]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "split": self.name,
            "rows": self.rows,
            "erroneous": self.erroneous,
            "unvalued": self.unvalued,
            "labelled_steps": self.labelled_steps,
            "figures": {name: each._asdict() for name, each in self.estimates.items()},
            "calibration": [each._asdict() for each in self.bins],
            "baselines": {name: each._asdict() for name, each in self.baselines.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A measurement.

    Attributes:
        threshold: a step is said to be wrong where its value is below it.
        tuned_on: the split that the threshold was tuned on, which is not measured; None: none.
        splits: what was measured of each.
        pooled: what was measured of the rows of all splits together.
        f1: the mean of the splits' F1.
        baselines_f1: the same of each of `BASELINES`; None where it has none.
        resamples: how many draws the intervals are made of.
    """

    threshold: float
    tuned_on: str | None
    splits: Sequence[SplitMeasured]
    pooled: SplitMeasured
    f1: Estimate
    baselines_f1: Mapping[str, float | None]
    resamples: int

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "threshold": self.threshold,
            "tuned_on": self.tuned_on,
            "splits": [each.to_json() for each in self.splits],
            "pooled": self.pooled.to_json(),
            "mean_f1": self.f1._asdict(),
            "baselines_mean_f1": dict(self.baselines_f1),
            "resamples": self.resamples,
        }


def with_verdict(rows: Sequence[LabelledRow]) -> tuple[LabelledRow, ...]:
    """Return the rows whose first wrong step is known.

    Raises:
        UsageError: if there are none.
    """
    known = tuple(row for row in rows if row.has_verdict)
    if not known:
        raise UsageError("Of no row the first wrong step is known: there is nothing to measure by.")
    return known


def measure(
    rows: Sequence[ValuedRow],
    *,
    threshold: float = 0.5,
    tune_on: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Measured:
    """Return the figures of each split, their mean, and the baselines beside them.

    Args:
        rows: solutions with values, whose first wrong step is known.
        threshold: a step is said to be wrong where its value is below it.
        tune_on: the split to choose the threshold with the best F1 on instead; it is then left out
            of what is measured.
        resamples: draws for the intervals.
        seed: of all draws.

    Raises:
        UsageError: for a split that is not there, or if nothing is left to measure.
    """
    splits: dict[str, list[ValuedRow]] = {}
    for each in rows:
        splits.setdefault(each.row.split, []).append(each)
    if tune_on is not None:
        if tune_on not in splits:
            raise UnknownNameError("split", tune_on, splits)
        threshold = tuned_threshold(splits.pop(tune_on))
        if not splits:
            raise UsageError(
                f"All rows are of the split `{tune_on}`, and a threshold is not measured on the "
                "rows that it was tuned on. Name rows of another split, too."
            )
    everything = [each for own in splits.values() for each in own]
    figures = {
        name: figures_of(own, threshold=threshold, resamples=resamples, seed=seed)
        for name, own in {**splits, ALL: everything}.items()
    }
    pooled = _split(ALL, everything, figures.pop(ALL), threshold, seed)
    found = [_split(name, splits[name], own, threshold, seed) for name, own in figures.items()]
    return Measured(
        threshold=threshold,
        tuned_on=tune_on,
        splits=found,
        pooled=pooled,
        f1=mean_f1(list(figures.values())),
        baselines_f1=_baselines(found),
        resamples=resamples,
    )


def _split(
    name: str, rows: Sequence[ValuedRow], figures: Figures, threshold: float, seed: int
) -> SplitMeasured:
    return SplitMeasured(
        name=name,
        rows=len(rows),
        erroneous=sum(each.row.first_error is not None for each in rows),
        unvalued=sum(each.values is None for each in rows),
        labelled_steps=sum(1 for each in rows for _ in each.labelled()),
        estimates={figure: figures.estimates[figure] for figure in FIGURES},
        bins=figures.bins,
        baselines=baselines_of(rows, threshold=threshold, seed=seed),
    )


def _baselines(splits: Sequence[SplitMeasured]) -> dict[str, float | None]:
    """Return the mean F1 of each baseline, over the splits where the model has an F1, too."""
    having = [split for split in splits if split.estimates["f1"].value is not None]
    means: dict[str, float | None] = {}
    for name in having[0].baselines if having else ():
        scores = [split.baselines[name].f1 for split in having]
        known = [score for score in scores if score is not None]
        means[name] = sum(known) / len(known) if len(known) == len(scores) else None
    return means

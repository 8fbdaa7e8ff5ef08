"""How judges are measured, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rewardhub_judge.measure.agreement import Level, Weighting
from rewardhub_judge.measure.bootstrap import Estimate

__all__ = ["TITLES", "Asked", "Measured", "Report"]

TITLES: Mapping[str, str] = {
    "accuracy": "accuracy",
    "kappa": "Cohen's kappa",
    "alpha": "Krippendorff's alpha",
    "rank_correlation": "rank correlation with labels",
    "mean_difference": "mean less the labels'",
    "shown_first": "prefers the one shown first",
    "consistent": "both orders agree",
    "repeats": "repeats agree",
    "alpha_of_repeats": "alpha of its repeats",
    "longer": "prefers the longer one",
    "length_slope": "log-odds per doubled length",
    "length_correlation": "rank correlation with length",
}
"""Measure -> what a table calls it, in the order of the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How to measure.

    Attributes:
        level: of scores; None: words are nominal, whole numbers ordinal, others interval.
        weighting: of Cohen's kappa.
        threshold: scores from here on count as 1, others as 0; None leaves them as they are.
        resamples: draws of the bootstrap.
        seed: of the draws.
    """

    level: Level | None = None
    weighting: Weighting = "none"
    threshold: float | None = None
    resamples: int = 2000
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One judge.

    Attributes:
        judge: its name.
        answers: how often it was asked.
        without_verdict: how many of these have none.
        ties: how many are ties.
        measures: name, as in `TITLES` -> the estimate.
    """

    judge: str
    answers: int
    without_verdict: int
    ties: int
    measures: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All judges of a file.

    Attributes:
        kind: ``pairs`` or ``scores``.
        rows: how many.
        labelled: how many have a label that counts.
        labels_agree: on how many rows with several labels all of them agree, and how many such
            rows there are.
        of_labels: what is measured of the labels themselves, by the same names: ``alpha`` among
            several, and what length has to do with them, which is no bias.
        judges: in the order of the file.
        differences: judge -> its accuracy less that of the best judge, on the same draws.
        notes: what is worth knowing of these figures.
    """

    kind: str
    rows: int
    labelled: int
    labels_agree: tuple[int, int]
    of_labels: Mapping[str, Estimate]
    judges: tuple[Measured, ...]
    differences: Mapping[str, Estimate] = field(default_factory=dict[str, Estimate])
    notes: tuple[str, ...] = ()

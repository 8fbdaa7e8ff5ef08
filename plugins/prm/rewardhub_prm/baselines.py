"""What one gets without a process reward model: the figures that a model has to beat."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from rewardhub_prm.labelled import LabelledRow
from rewardhub_prm.measure_figures import FIGURES, Sample, ValuedRow, harmonic

__all__ = ["BASELINES", "Baseline", "baselines_of"]

BASELINES = {
    "always right": "says of every solution that no step is wrong",
    "always the last step": "says of every solution that its last step is the first wrong one",
    "outcome only": "knows whether the final answer is right: then no step is wrong, else the last",
    "dealt anew": "the model's values, dealt anew among the steps of their split",
    "dealt anew by place": "the same, among the steps at the same place only",
}
"""Name of a baseline -> what it does.

The last two are what chance gives, with the model's own distribution of values: the second keeps
what the model knows from how far down a step stands, which alone tells something, for later steps
are more often wrong.
"""


class Baseline(NamedTuple):
    """The figures of a baseline: over the rows that it can judge, and None where it has none.

    Attributes:
        accuracy_erroneous: as in `FIGURES`.
        accuracy_correct: as in `FIGURES`.
        f1: as in `FIGURES`; where values are dealt, the mean over the deals.
        f1_high: of dealt values: the F1 that 95 % of the deals don't exceed.
        auroc: of dealt values: the mean over the deals.
        auroc_high: of dealt values: the AUROC that 95 % of the deals don't exceed.
    """

    accuracy_erroneous: float | None
    accuracy_correct: float | None
    f1: float | None
    f1_high: float | None = None
    auroc: float | None = None
    auroc_high: float | None = None


def baselines_of(
    rows: Sequence[ValuedRow], *, threshold: float, deals: int = 200, seed: int = 0
) -> dict[str, Baseline]:
    """Return the figures of each of `BASELINES` on ``rows``."""
    told = [each.row for each in rows if each.row.final_answer_correct is not None]
    labelled = [each.row for each in rows]
    return {
        "always right": _figures(labelled, [None] * len(labelled)),
        "always the last step": _figures(labelled, [len(row.steps) - 1 for row in labelled]),
        "outcome only": _figures(
            told, [None if row.final_answer_correct else len(row.steps) - 1 for row in told]
        ),
        "dealt anew": _dealt(rows, threshold, deals, seed, by_place=False),
        "dealt anew by place": _dealt(rows, threshold, deals, seed, by_place=True),
    }


def _figures(rows: Sequence[LabelledRow], found: Sequence[int | None]) -> Baseline:
    hits: dict[bool, list[bool]] = {True: [], False: []}
    for row, at in zip(rows, found, strict=True):
        hits[row.first_error is not None].append(at == row.first_error)
    erroneous, correct = (sum(each) / len(each) if each else None for each in hits.values())
    return Baseline(erroneous, correct, harmonic(erroneous, correct))


def _dealt(
    rows: Sequence[ValuedRow], threshold: float, deals: int, seed: int, *, by_place: bool
) -> Baseline:
    dice = random.Random(f"{seed}:{by_place}")  # noqa: S311  # statistics, no secret
    rows = [each for each in rows if each.values is not None]
    stacks: defaultdict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for row, each in enumerate(rows):
        for at in range(len(each.row.steps)):
            stacks[each.row.split, at if by_place else 0].append((row, at))
    dealt = [list(each.values or ()) for each in rows]
    results: list[dict[str, float | None]] = []
    for _ in range(deals):
        for stack in stacks.values():
            values = [dealt[row][at] for row, at in stack]
            dice.shuffle(values)
            for (row, at), value in zip(stack, values, strict=True):
                dealt[row][at] = value
        anew = [
            ValuedRow(row=each.row, values=tuple(own))
            for each, own in zip(rows, dealt, strict=True)
        ]
        results.append(Sample(anew, threshold).count([1.0] * len(anew)))
    of = {name: [each[name] for each in results] for name in FIGURES}
    return Baseline(
        accuracy_erroneous=_mean(of["accuracy_erroneous"]),
        accuracy_correct=_mean(of["accuracy_correct"]),
        f1=_mean(of["f1"]),
        f1_high=_high(of["f1"]),
        auroc=_mean(of["auroc"]),
        auroc_high=_high(of["auroc"]),
    )


def _high(values: Sequence[float | None]) -> float | None:
    known = sorted(value for value in values if value is not None)
    return known[round(0.95 * (len(known) - 1))] if known else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None

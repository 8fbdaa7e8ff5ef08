"""From values of steps and spans to a part's value, and from a part's share to its steps.

`value_of` makes one value of a Score's step values; `place` splits what the part adds to the
reward over the steps by the same rule, so that the sum over steps is what it adds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from rewardhub.records import Score, SpanReward, StepValue
from rewardhub.spec.model import StepsRule


def values_by_step(score: Score) -> dict[int, float]:
    """Return step index -> value, spans of one step averaged; steps without a value left out."""
    spans: dict[int, list[float]] = {}
    for each in score.step_values:
        if each.value is not None:
            spans.setdefault(each.step, []).append(each.value)
    return {step: math.fsum(values) / len(values) for step, values in sorted(spans.items())}


def value_of(rule: StepsRule, score: Score) -> float | None:
    """Return the part's value by ``rule``; the Score's own where no step has a value."""
    values = list(values_by_step(score).values())
    if not values:
        return score.value
    if rule == "mean":
        return math.fsum(values) / len(values)
    if rule == "min":
        return min(values)
    if rule == "last":
        return values[-1]
    return math.prod(values)


class Ledger:
    """Where the shares of one reward land: on steps, on spans, or on none (unplaced)."""

    __slots__ = ("spans", "steps", "unplaced")

    def __init__(self, steps: int) -> None:
        self.steps = [0.0] * steps
        self.spans: list[SpanReward] = []
        self.unplaced = 0.0

    def place(self, rule: StepsRule, score: Score, amount: float, *, penalty: bool) -> None:
        """Split ``amount`` over the steps that ``score`` gives values to.

        Args:
            rule: how the stage makes one value of many.
            score: the part's Score.
            amount: what the part adds to the reward.
            penalty: whether the stage's weight is negative, so that 1 - value counts.
        """
        values = values_by_step(score)
        if not values:
            self.unplaced += amount
            return
        for step, share in _shares(rule, values, amount, penalty=penalty).items():
            self.steps[step] += share
            self._split(score, step, share, penalty=penalty)

    def _split(self, score: Score, step: int, share: float, *, penalty: bool) -> None:
        spans = [each for each in score.step_values if each.step == step and each.value is not None]
        if all(each.start is None for each in spans):
            return
        weights = [_counts(each, penalty=penalty) for each in spans]
        total = math.fsum(weights)
        for each, weight in zip(spans, weights, strict=True):
            part = share * (weight / total if total else 1 / len(spans))
            if each.start is not None and each.end is not None:
                self.spans.append(SpanReward(step, each.start, each.end, part, each.field))


def _counts(each: StepValue, *, penalty: bool) -> float:
    value = each.value or 0.0
    return 1.0 - value if penalty else value


def _shares(
    rule: StepsRule, values: Mapping[int, float], amount: float, *, penalty: bool
) -> dict[int, float]:
    if rule == "mean":
        weights = {step: 1.0 - value if penalty else value for step, value in values.items()}
        total = math.fsum(weights.values())
        if not total:
            return dict.fromkeys(values, 0.0) | {next(iter(values)): amount}
        return {step: amount * weight / total for step, weight in weights.items()}
    if rule == "min":
        return {min(values, key=lambda step: values[step]): amount}
    return {max(values): amount}

"""What one stage makes of its parts: a value, and what each part adds to the reward."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rewardhub.compose.steps import value_of
from rewardhub.records import TOLERANCE, Fault, Score
from rewardhub.spec.model import Entry, Gate, Stage


@dataclass(frozen=True, slots=True)
class Skipped:
    """Stands where a Score would: the part was not run, and why."""

    reason: str


Standing = Score | Skipped
"""What became of a part."""


@dataclass(slots=True)
class StageResult:
    """What a stage comes to.

    Attributes:
        value: the stage's value, or None if it has none.
        amount: what it adds to the reward.
        contributions: part id -> what the part adds; None where that cannot be said.
        decider: under min, max and cascade: the part that takes the whole amount.
        fault: whose fault it is that there is no value, where the reward is None for it.
        reason: why there is no value.
    """

    value: float | None
    amount: float = 0.0
    contributions: dict[str, float | None] = field(default_factory=dict[str, float | None])
    decider: str | None = None
    fault: Fault | None = None
    reason: str = ""


def part_value(stage: Stage, standing: Standing) -> float | None:
    """Return the value that a part counts with: 0 when skipped, None when it has none."""
    if type(standing) is Score:
        if stage.steps is not None and standing.step_values:
            return value_of(stage.steps, standing)
        return standing.value
    return 0.0


def _ends(entry: Entry, score: Score) -> bool:
    """Whether a part without a value unscores the reward: it failed and is not forgiven."""
    forgiven = entry.optional and score.fault == "infrastructure"
    return score.status == "failed" and not forgiven


def result_of(stage: Stage, standings: Mapping[str, Standing]) -> StageResult:
    """Return what ``stage`` makes of its parts (design: the reward arithmetic).

    Args:
        stage: the stage.
        standings: part id -> its Score, or why it was skipped; every part of the stage is there.
    """
    if stage.is_single:
        name = stage.order[0][1]
        standing = standings[name]
        value = standing.value if type(standing) is Score else 0.0
        if value is not None:
            amount = amount_of(stage, value)
            return StageResult(value, amount, {name: amount})
    counted: list[tuple[Entry, float]] = []
    for entry, name, _ in stage.order:
        standing = standings[name]
        value = part_value(stage, standing)
        if value is not None:
            counted.append((entry, value))
        elif isinstance(standing, Score) and _ends(entry, standing):
            return _valueless(stage, entry.id, standing)
    if stage.combine == "formula":
        return _by_formula(stage, standings)
    if not counted:
        return _nothing_left(stage, standings)
    if stage.combine == "mean":
        return _by_mean(stage, counted)
    if stage.combine == "product":
        return _by_product(stage, counted)
    return _by_decider(stage, counted)


def amount_of(stage: Stage, value: float) -> float:
    """Return what a stage of this value adds to the reward: W v, or W (1 - v) for a penalty."""
    return stage.weight * value if stage.weight >= 0 else stage.weight * (1.0 - value)


def _by_mean(stage: Stage, counted: Sequence[tuple[Entry, float]]) -> StageResult:
    contributions: dict[str, float | None] = {}
    total = stage.total
    if len(counted) != len(stage.entries):
        contributions = {entry.id: 0.0 for entry in stage.entries}
        total = sum(entry.weight for entry, _ in counted)
    weight = stage.weight / total
    value = amount = 0.0
    for entry, part in counted:
        value += entry.weight * part
        added = entry.weight * weight * (part if weight >= 0.0 else 1.0 - part)
        contributions[entry.id] = added
        amount += added
    value /= total
    return StageResult(min(1.0, value), amount, contributions)


def _by_product(stage: Stage, counted: Sequence[tuple[Entry, float]]) -> StageResult:
    value = math.prod(part for _, part in counted)
    contributions: dict[str, float | None] = {entry.id: 0.0 for entry in stage.entries}
    contributions.update({entry.id: None for entry, _ in counted})
    return StageResult(value, amount_of(stage, value), contributions)


def _by_decider(stage: Stage, counted: Sequence[tuple[Entry, float]]) -> StageResult:
    pick: Callable[..., tuple[Entry, float]] = min if stage.combine == "min" else max
    decider, value = pick(counted, key=lambda each: each[1])
    amount = amount_of(stage, value)
    contributions: dict[str, float | None] = {entry.id: 0.0 for entry in stage.entries}
    contributions[decider.id] = amount
    return StageResult(value, amount, contributions, decider.id)


def _by_formula(stage: Stage, standings: Mapping[str, Standing]) -> StageResult:
    assert stage.formula is not None
    values: dict[str, float] = {}
    for name in stage.formula.names:
        value = part_value(stage, standings[name])
        if value is None:
            return _without_value(stage, name, standings[name])
        values[name] = value
    value = min(1.0, max(0.0, float(stage.formula.evaluate(values))))
    contributions: dict[str, float | None] = {
        entry.id: None if part_value(stage, standings[entry.id]) is not None else 0.0
        for entry in stage.entries
    }
    return StageResult(value, amount_of(stage, value), contributions)


def _nothing_left(stage: Stage, standings: Mapping[str, Standing]) -> StageResult:
    first = stage.entries[0]
    return _without_value(stage, first.id, standings[first.id])


def _without_value(stage: Stage, part: str, standing: Standing) -> StageResult:
    if stage.optional:
        nothing: dict[str, float | None] = {entry.id: 0.0 for entry in stage.entries}
        return StageResult(None, 0.0, nothing)
    assert isinstance(standing, Score)
    return _valueless(stage, part, standing)


def _valueless(stage: Stage, part: str, score: Score) -> StageResult:
    reason = f"part `{part}` of stage `{stage.name}` {score.status}: {score.reason}"
    return StageResult(None, fault=score.fault, reason=reason)


def closes(gate: Gate, result: StageResult) -> bool:
    """Whether nothing later runs: the stage is below its gate, or has no value."""
    return result.value is None or result.value < gate.below - TOLERANCE

"""Scores -> Reward."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rewardhub.compose.stage import Skipped, StageResult, Standing, closes, part_value
from rewardhub.compose.steps import Ledger
from rewardhub.records import Part, Reward, Score
from rewardhub.spec.model import Credit, Spec, Stage


def compose(
    spec: Spec, standings: Mapping[str, Standing], steps: int, results: Sequence[StageResult]
) -> Reward:
    """Return what ``spec`` makes of the Scores of one trajectory.

    Args:
        spec: the resolved reward spec.
        standings: part id -> its Score, or why it was skipped; parts not reached are missing.
        steps: how many steps the trajectory has.
        results: what each stage comes to, up to the gate that ended the grading.
    """
    last = spec.stages[len(results) - 1]
    if last.gate is not None:
        ending = results[-1].value
        if ending is not None and closes(last.gate, results[-1]):
            return _gated(spec, standings, steps, last, ending)
    for result in results:
        if result.fault is not None:
            parts = _parts(spec, standings, {})
            return Reward.unscored(result.fault, result.reason, parts=parts, spec=spec.info)
    return _scored(spec, standings, steps, results)


def _scored(
    spec: Spec,
    standings: Mapping[str, Standing],
    steps: int,
    results: Sequence[StageResult],
) -> Reward:
    contributions: dict[str, float | None] = {}
    amounts: list[float] = []
    for result in results:
        contributions |= result.contributions
        amounts.append(result.amount)
    value = math.fsum(amounts)
    if spec.places_steps:
        ledger = Ledger(steps)
        for stage, result in zip(spec.stages, results, strict=True):
            _place(ledger, stage, result, standings)
        unplaced, placed, spans = ledger.unplaced, ledger.steps, tuple(ledger.spans)
    else:
        unplaced, placed, spans = value, [0.0] * steps, ()
    return Reward.composed(
        value,
        success_of(spec, standings),
        _credited(placed, unplaced, spec.credit),
        spans,
        unplaced,
        _parts(spec, standings, contributions),
        spec.info,
    )


def _place(
    ledger: Ledger, stage: Stage, result: StageResult, standings: Mapping[str, Standing]
) -> None:
    if stage.steps is None or stage.combine in {"product", "formula"}:
        ledger.unplaced += result.amount
        return
    for part, amount in result.contributions.items():
        standing = standings[part]
        if isinstance(standing, Score) and standing.step_values:
            ledger.place(stage.steps, standing, amount or 0.0, penalty=stage.weight < 0)
        else:
            ledger.unplaced += amount or 0.0


def _credited(placed: list[float], unplaced: float, credit: Credit) -> tuple[float, ...]:
    if credit == "last":
        placed[-1] += unplaced
        return tuple(placed)
    share = unplaced / len(placed)
    return tuple([each + share for each in placed])


def _gated(
    spec: Spec, standings: Mapping[str, Standing], steps: int, gate: Stage, value: float
) -> Reward:
    assert gate.gate is not None
    amount = gate.gate.reward
    contributions: dict[str, float | None] = {entry.id: 0.0 for entry in spec.entries}
    return Reward(
        amount,
        False,
        reason=f"the gate `{gate.name}` closed: {value:g} is below {gate.gate.below:g}",
        step_rewards=(0.0,) * (steps - 1) + (amount,),
        unplaced=amount,
        parts=_parts(spec, standings, contributions),
        decided_by=gate.name,
        spec=spec.info,
    )


def success_of(spec: Spec, standings: Mapping[str, Standing]) -> bool | None:
    """Return whether the attempt reached the goal; None if that reads a part without a value."""
    success = spec.success
    if success is None:
        return None
    stages = spec.stage_of
    values: dict[str, float] = {}
    for name in success.names:
        value = part_value(stages[name], standings[name])
        if value is None:
            return None
        values[name] = value
    return bool(success.evaluate(values))


def values_for(
    spec: Spec, names: tuple[str, ...], standings: Mapping[str, Standing]
) -> dict[str, float | None]:
    """Return part id -> the value that an expression reads, None for a part without one."""
    stages = spec.stage_of
    return {name: part_value(stages[name], standings[name]) for name in names}


def _parts(
    spec: Spec, standings: Mapping[str, Standing], contributions: Mapping[str, float | None]
) -> tuple[Part, ...]:
    parts: list[Part] = []
    for place in spec.places:
        name = place[0]
        standing = standings.get(name)
        if type(standing) is Score:
            parts.append(Part.placed(place, standing, contributions.get(name)))
            continue
        reason = standing.reason if type(standing) is Skipped else "not reached"
        parts.append(Part.placed(place, None, contributions.get(name), reason))
    return tuple(parts)

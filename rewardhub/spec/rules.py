"""What the pieces of a spec say about each other: names, ranges, gates, what is optional."""

from __future__ import annotations

from collections.abc import Sequence

from rewardhub.expression import Expression, ExpressionError, interval, is_name
from rewardhub.records import TOLERANCE
from rewardhub.spec.drafts import PartDraft, SpecDraft, StageDraft, inline
from rewardhub.spec.marks import Mistakes, Node


def check_rules(draft: SpecDraft, mistakes: Mistakes) -> None:
    """Note every breach of the rules between the pieces of a spec.

    A rule that needs a piece with mistakes of its own is left for when that one is mended.
    """
    for stage in draft.stages:
        if stage.shape is not None:
            _check_stage(stage, mistakes)
    stages = draft.stages
    if draft.shape is None or any(stage.shape is None for stage in stages):
        return
    low, high = draft.shape.range
    place = draft.node.fields.get("range", draft.node).mark
    if not low < high:
        mistakes.add(place, f"`range` goes from low to high, not from {low:g} to {high:g}.")
        return
    _check_reach(draft, low, high, mistakes)
    _check_gates(stages, low, high, mistakes)
    unscored = draft.shape.training.unscored_reward
    if not low - TOLERANCE <= unscored <= high + TOLERANCE:
        training = draft.node.fields.get("training", draft.node)
        mark = training.fields.get("unscored_reward", training).mark
        problem = (
            f"`training.unscored_reward` is {unscored:g}, and `range` is {low:g} to {high:g}. "
        )
        mistakes.add(mark, problem + "Set it inside.")


def check_names(draft: SpecDraft, mistakes: Mistakes) -> None:
    """Note each name of a stage and each id of a part that is there twice."""
    first: dict[str, StageDraft] = {}
    for stage in draft.stages:
        if stage.name and first.setdefault(stage.name, stage) is not stage:
            line = _line(first[stage.name].node)
            mark = stage.node.fields["name"].mark
            mistakes.add(mark, f"A stage is already called `{stage.name}`{line}. Rename one.")
    parts: dict[str, PartDraft] = {}
    for part in draft.parts:
        if part.id and parts.setdefault(part.id, part) is not part:
            taken = f"taken in {inline(parts[part.id].stage.where)}{_line(parts[part.id].node)}"
            mistakes.add(
                part.node.fields.get("as", part.node).mark,
                f"{part.where}: the id `{part.id}` is {taken}. Say `as: {_longer_id(part)}`, or "
                "another one.",
            )


def _longer_id(part: PartDraft) -> str:
    longer = part.node.text("use").replace("/", "_").replace("-", "_")
    return longer if is_name(longer) and longer != part.id else f"{part.id}_2"


def _line(node: Node) -> str:
    return f" (line {node.mark.line})" if node.mark.line else ""


def _check_stage(stage: StageDraft, mistakes: Mistakes) -> None:
    shape, node = stage.shape, stage.node
    assert shape is not None

    def note(key: str, problem: str) -> None:
        mistakes.add(node.fields[key].mark, f"{stage.where}: {problem}")

    if shape.formula is not None and shape.combine not in {None, "formula"}:
        note("combine", f"`combine: {shape.combine}` and `formula` are two answers. Keep one.")
    if shape.combine == "formula" and shape.formula is None:
        note("combine", "`combine: formula` needs the line `formula: ...`.")
    if shape.optional and shape.gate is not None:
        note("optional", "A gate cannot be optional: without a value it ends the reward.")
    elif shape.optional and stage.weight < 0:
        note("optional", f"A stage with a negative weight ({stage.weight:g}) cannot be optional: "
             "an attempt would be spared the penalty where it cannot be measured.")  # fmt: skip
    for part in stage.parts:
        if part.shape is not None:
            _check_part(part, stage, mistakes)
    graders = [part.registered for part in stage.parts if part.registered]
    gives = any("steps" in registered.card.gives for registered in graders)
    if shape.steps is not None and len(graders) == len(stage.parts) and not gives:
        problem = f"{stage.where}: `steps: {shape.steps}` changes nothing: none of its graders "
        mistakes.warn(node.fields["steps"].mark, problem + "gives values for steps.")


def _check_part(part: PartDraft, stage: StageDraft, mistakes: Mistakes) -> None:
    shape = part.shape
    assert shape is not None
    assert stage.shape is not None
    combine = "formula" if stage.shape.formula else stage.shape.combine or "mean"
    if shape.weight != 1 and combine != "mean":
        problem = f"`weight` counts in a mean only, and the stage says `combine: {combine}`."
        mistakes.warn(part.node.fields["weight"].mark, f"{part.where}: {problem}")
    if not shape.optional:
        return
    mark = part.node.fields["optional"].mark
    if stage.shape.gate is not None:
        problem = "A part of a gate cannot be optional: the gate would open unseen."
        mistakes.add(mark, f"{part.where}: {problem}")
    elif stage.weight < 0:
        problem = (
            f"A part of a stage with a negative weight ({stage.weight:g}) cannot be optional: "
        )
        problem += "an attempt would be spared the penalty where the infrastructure breaks."
        mistakes.add(mark, f"{part.where}: {problem}")
    else:
        problem = "`optional` leaves the part out where its infrastructure breaks, so attempts may "
        mistakes.warn(mark, f"{part.where}: {problem}be compared on different parts.")


def _check_reach(draft: SpecDraft, low: float, high: float, mistakes: Mistakes) -> None:
    weights = [stage.weight for stage in draft.stages]
    least = sum(weight for weight in weights if weight < 0)
    most = sum(weight for weight in weights if weight > 0)
    node = draft.node.fields.get("range")
    mark = (node or draft.node.fields["stages"]).mark
    if least < low - TOLERANCE or most > high + TOLERANCE:
        mistakes.add(
            mark,
            f"The weights reach from {least:g} to {most:g}, and `range` is {low:g} to {high:g}. "
            f"Say `range: [{min(low, least):g}, {max(high, most):g}]`, or change the weights.",
        )
    if node is None:
        return
    gates = [stage.shape.gate for stage in draft.stages if stage.shape and stage.shape.gate]
    least = min([least, *(gate.reward for gate in gates)])
    most = max([most, *(gate.reward for gate in gates)])
    problem = f"`range` is {low:g} to {high:g}, and no reward gets "
    if least > low + TOLERANCE:
        mistakes.warn(mark, f"{problem}below {least:g}.")
    if most < high - TOLERANCE:
        mistakes.warn(mark, f"{problem}above {most:g}.")


def _check_gates(stages: Sequence[StageDraft], low: float, high: float, mistakes: Mistakes) -> None:
    """Note each gate that pays outside of ``range``, or more than passing it can."""
    floor = sum(_least_amount(stage) for stage in stages)
    for stage in reversed(stages):
        gate = stage.shape.gate if stage.shape else None
        if gate is None:
            continue
        mark = stage.node.fields["gate"].fields["reward"].mark
        if not low - TOLERANCE <= gate.reward <= high + TOLERANCE:
            problem = f"the gate's reward {gate.reward:g} lies outside of `range`, {low:g} to "
            mistakes.add(mark, f"{stage.where}: {problem}{high:g}. Change one of them.")
        if gate.reward > floor + TOLERANCE:
            problem = f"the gate gives {gate.reward:g}, and an attempt that passes it may get only "
            problem += f"{floor:g}. Say `reward: {floor:g}` or less."
            mistakes.add(mark, f"{stage.where}: {problem}")
        # Who fails a later gate has passed this one.
        floor = min(floor, gate.reward)


def _least_amount(stage: StageDraft) -> float:
    """Return the least that a stage can add to the reward of an attempt that no gate stops."""
    assert stage.shape is not None
    if stage.shape.optional:
        return 0.0
    least = max(stage.shape.gate.below if stage.shape.gate else 0.0, _lowest(stage.formula))
    return stage.weight * (least if stage.weight >= 0 else 1 - least)


def _lowest(formula: Expression | None) -> float:
    try:
        return 0.0 if formula is None else min(1.0, max(0.0, interval(formula).low))
    except ExpressionError:
        return 0.0  # said already

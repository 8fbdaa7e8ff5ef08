"""An explanation at a terminal: the reward as a tree, the steps as a table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rewardhub.records import Part, Score, Trajectory
from rewardhub.report.console import Column, counted, one_line, show_line, show_table
from rewardhub.report.explain import Explanation, StagePlace

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

_TEXT = 200
_STEP_TEXT = 60
_EVIDENCE = 240
_STYLES = {"graded": "", "abstained": "yellow", "failed": "red", "skipped": "dim"}


def show_explanation(console: Console, explanation: Explanation) -> None:
    """Print why a trajectory got its reward."""
    from rich.tree import Tree

    tree = Tree(_text(_headline(explanation), "bold"))
    for stage in explanation.stages:
        branch = tree.add(_text(_stage_line(stage, explanation), "bold"))
        for part in stage.parts:
            leaf = branch.add(_text(_part_line(part), _STYLES[part.status]))
            _add_evidence(leaf, part.score)
    console.print(tree)
    show_line(console)
    for line in _facts(explanation):
        show_line(console, line)
    _show_steps(console, explanation)


def _text(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(text, style, overflow="fold")


def _headline(explanation: Explanation) -> str:
    reward = explanation.reward
    name = explanation.head["id"]
    if reward.value is None:
        return f"{name}: unscored (fault: {reward.fault}): {reward.reason}"
    success = {True: "success", False: "no success", None: "success unknown"}[reward.success]
    because = f": {reward.reason}" if reward.reason else ""
    return f"{name}: reward {reward.value:.6g}, {success}{because}"


def _stage_line(stage: StagePlace, explanation: Explanation) -> str:
    told = [f"weight {stage.weight:g}"]
    if stage.combine != "mean":
        told.append(stage.combine)
    if stage.gate:
        told.append(f"gate: below {stage.gate['below']:g} the reward is {stage.gate['reward']:g}")
    added = ""
    if explanation.reward.decided_by == stage.name:
        added = ": decided the reward"
    elif explanation.reward.value is not None and stage.contribution is not None:
        added = f": {stage.contribution:+.6g}"
    return f"{stage.name}{added} ({', '.join(told)})"


def _part_line(part: Part) -> str:
    score = part.score
    if score is None:
        return f"{part.id}: skipped: {part.reason}"
    use = f" ({score.grader})" if score.grader else ""
    reason = f": {score.reason}" if score.reason else ""
    if score.value is None:
        return f"{part.id}{use}: {score.status}, fault {score.fault}{reason}"
    added = f", adds {part.contribution:+.6g}" if part.contribution is not None else ""
    weight = f", weight {part.weight:g}" if part.weight != 1 else ""
    return f"{part.id}{use}: {score.value:.6g}{weight}{added}{reason}"


def _add_evidence(leaf: Tree, score: Score | None) -> None:
    if score is None:
        return
    for name, number in score.metrics.items():
        leaf.add(_text(f"{name} = {number:.6g}", "dim"))
    for name, value in score.evidence.items():
        leaf.add(_text(f"{name}: {_short(value)}", "dim"))


def _short(value: Any) -> str:
    """Return a piece of evidence on one line; of a long text its beginning and its end."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    flat = " ".join(text.split())
    half = _EVIDENCE // 2
    return flat if len(flat) <= _EVIDENCE else f"{flat[:half]} … {flat[-half:]}"


def _facts(explanation: Explanation) -> Iterator[str]:
    head, trajectory = explanation.head, explanation.trajectory
    yield f"Where    {explanation.file}, row {head['row']}"
    spec = explanation.reward.spec
    if spec.name:
        yield f"Spec     {spec.name} {spec.version} ({spec.digest[:8]})"
    yield f"Attempt  {head['status']}, {counted(head['steps'], 'step')}, task {head['task']}"
    if trajectory is None:
        yield f"Texts    not at hand: {explanation.note}"
        return
    if trajectory.task.prompt:
        yield f"Asked    {one_line(trajectory.task.prompt, _TEXT)}"
    if trajectory.task.reference is not None:
        yield f"Wanted   {_short(trajectory.task.reference)}"
    yield f"Answer   {one_line(trajectory.final_text, _TEXT) or '(empty)'}"


def _show_steps(console: Console, explanation: Explanation) -> None:
    rewards = explanation.reward.step_rewards
    valued = [part for part in explanation.reward.parts if part.score and part.score.step_values]
    if not rewards or (len(rewards) == 1 and not valued):
        return
    columns = [
        Column("Step", right=True),
        Column("Reward", right=True),
        *(Column(part.id, right=True) for part in valued),
        Column("Text", flexible=True),
    ]
    rows = [
        (
            str(step),
            f"{reward:+.4f}",
            *(_step_values(part, step) for part in valued),
            _step_text(explanation.trajectory, step),
        )
        for step, reward in enumerate(rewards)
    ]
    show_line(console)
    show_table(console, columns, rows)


def _step_values(part: Part, step: int) -> str:
    assert part.score is not None
    values = [each.value for each in part.score.step_values if each.step == step]
    return " ".join("-" if value is None else f"{value:.3g}" for value in values)


def _step_text(trajectory: Trajectory | None, step: int) -> str:
    if trajectory is None or step >= len(trajectory.steps):
        return ""
    turn = trajectory.steps[step]
    calls = " ".join(f"{call.name}({call.arguments})" for call in turn.tool_calls)
    return one_line(f"{turn.text} {calls}", _STEP_TEXT)

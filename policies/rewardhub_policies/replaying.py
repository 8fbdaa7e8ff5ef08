"""Replaying: the actions of a recorded trajectory again, in a fresh environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rewardhub import Environment, InfrastructureError, Observation, Step, Trajectory, Turn
from rewardhub_policies.acting import OutsideError
from rewardhub_policies.attempts import reset
from rewardhub_policies.environments.source import Environments
from rewardhub_policies.limits import cut
from rewardhub_policies.snapshots import Difference, differences

Ending = Literal["same", "parts", "cannot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What came of a replay.

    Attributes:
        ending: ``same``; ``parts`` (at ``step``); ``cannot`` (for a ``reason``).
        steps: how many steps were played.
        step: where the states part; -1: before the first step.
        states: where the states differ.
        said: observations of that step that differ, recorded and now.
        unlike: steps whose observations differ though the states do not.
        changed: what changed in the fresh environment, path -> diff.
        recorded: what changed in the recorded one.
        warnings: what else is not as it was: another interpreter, other tools.
        reason: why it cannot be told.
    """

    ending: Ending
    steps: int
    step: int | None = None
    states: tuple[Difference, ...] = ()
    said: tuple[tuple[str, str], ...] = ()
    unlike: tuple[int, ...] = ()
    changed: Mapping[str, str] | None = None
    recorded: Mapping[str, str] | None = None
    warnings: tuple[str, ...] = ()
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "ending": self.ending,
            "steps": self.steps,
            "step": self.step,
            "states": [
                {"place": each.place, "recorded": each.recorded, "now": each.now}
                for each in self.states
            ],
            "observations": [{"recorded": old, "now": new} for old, new in self.said],
            "unlike": list(self.unlike),
            "changed": dict(self.changed or {}),
            "changed_recorded": dict(self.recorded or {}),
            "warnings": list(self.warnings),
            "reason": self.reason,
        }


async def replay(trajectory: Trajectory, environments: Environments) -> Replay:
    """Play the actions of ``trajectory`` in a fresh environment, until the states part.

    States decide where they are recorded, and observations where they are not: two runs of one
    command may well print another time and leave the same files.

    Raises:
        TaskError: if the task's environment cannot be built.
        InfrastructureError: if it cannot be built now.
    """
    environment = environments.of(trajectory.task)
    if environment is None:
        return Replay(ending="cannot", steps=0, reason="the task has no environment to act in")
    try:
        first = await reset(environment, trajectory.task, environments.resources)
        return await _played(trajectory, environment, first)
    finally:
        await environment.close()


async def _played(trajectory: Trajectory, environment: Environment, first: Turn) -> Replay:
    about: Mapping[str, Any] = trajectory.metadata.get("environment") or {}
    warnings = _warnings(about.get("identity"), environment.identity)
    initial = (about.get("initial") or {}).get("state")
    parted = differences(initial, first.state) if initial is not None else ()
    if parted:
        return Replay(ending="parts", steps=0, step=-1, states=tuple(parted), warnings=warnings)
    turns: Sequence[Any] = about.get("turns") or ()
    unlike: list[int] = []
    for number, step in enumerate(trajectory.steps):
        recorded = turns[number] if number < len(turns) else {}
        try:
            turn = await environment.act(step, step.tool_calls)
        except OutsideError as error:
            return Replay(ending="cannot", steps=number, reason=str(error), warnings=warnings)
        except InfrastructureError as error:
            return Replay(**_ended(trajectory, number, recorded, str(error)), warnings=warnings)
        said = _unlike(step, turn, _most_of(trajectory))
        states = differences(step.state, turn.state) if step.state is not None else []
        if states or (said and step.state is None):
            return Replay(
                ending="parts",
                steps=number + 1,
                step=number,
                states=tuple(states),
                said=tuple(said),
                unlike=tuple(unlike),
                changed=turn.metadata.get("changes"),
                recorded=recorded.get("changes"),
                warnings=warnings,
            )
        if said:
            unlike.append(number)
    count = len(trajectory.steps)
    if all(step.state is None and not step.observations for step in trajectory.steps):
        reason = "the trajectory records neither states nor observations"
        return Replay(ending="cannot", steps=count, reason=reason)
    return Replay(ending="same", steps=count, unlike=tuple(unlike), warnings=warnings)


def _ended(
    trajectory: Trajectory, number: int, recorded: Mapping[str, Any], error: str
) -> dict[str, Any]:
    """Return what it means that the environment died at a step."""
    if "died" in recorded and number == len(trajectory.steps) - 1:
        return {"ending": "same", "steps": number + 1}
    said = ((_text(trajectory.steps[number].observations), f"[it died] {error}"),)
    return {"ending": "parts", "steps": number + 1, "step": number, "said": said}


def _warnings(recorded: Any, now: Mapping[str, Any]) -> tuple[str, ...]:
    if not isinstance(recorded, Mapping):
        return ("the record does not say what its environment was",)
    return tuple(f"not as recorded: {each}" for each in differences(recorded, now))


def _most_of(trajectory: Trajectory) -> int:
    limits: Any = trajectory.metadata.get("limits") or {}
    most = limits.get("output_chars")
    return most if isinstance(most, int) else 1 << 30


def _unlike(step: Step, turn: Turn, most: int) -> list[tuple[str, str]]:
    """Return the observations that differ, as texts: recorded and now."""
    if step.state is None and not step.observations:
        return []  # the attempt was cut off in the middle of it
    old, new = list(step.observations), list(turn.observations)
    count = max(len(old), len(new))
    pairs = [(_text(old[i : i + 1]), _text(new[i : i + 1], most)) for i in range(count)]
    return [pair for pair in pairs if pair[0] != pair[1]]


def _text(observations: Sequence[Observation], most: int = 1 << 30) -> str:
    return "\n".join(
        "\n".join(
            filter(
                None,
                (
                    cut(each.content, most),
                    f"[error] {each.error}" if each.error else "",
                    f"[exit code {each.exit_code}]" if each.exit_code else "",
                ),
            )
        )
        for each in observations
    )

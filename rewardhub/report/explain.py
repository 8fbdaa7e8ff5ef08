"""Why a trajectory got its reward: stage by stage, part by part, step by step."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardhub.host import Registry
from rewardhub.records import Part, Reward, Trajectory, dump_json, read_reward
from rewardhub.report.lookup import find_line, trajectory_at
from rewardhub.report.scored import open_run


@dataclass(frozen=True, kw_only=True)
class StagePlace:
    """One stage of the spec, and what it came to.

    Attributes:
        name: the stage.
        weight: what it weighs in the reward.
        combine: how its parts make its value.
        gate: the border and the reward of its gate (``below``, ``reward``), or None.
        parts: its Parts.
    """

    name: str
    weight: float
    combine: str
    gate: Mapping[str, float] | None
    parts: tuple[Part, ...]

    @property
    def contribution(self) -> float | None:
        """What it adds to the reward, or None where its parts do not say."""
        added = [part.contribution for part in self.parts]
        known = [each for each in added if each is not None]
        return math.fsum(known) if len(known) == len(added) else None


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """One Reward, and what led to it.

    Attributes:
        head: the ledger's line without the reward: id, task, group, row, status...
        file: the input that the trajectory is from.
        reward: the Reward.
        stages: the stages of the spec, in order.
        trajectory: what was graded, where the input still has it.
        note: why the trajectory is not there, else empty.
    """

    head: Mapping[str, Any]
    file: Path
    reward: Reward
    stages: tuple[StagePlace, ...]
    trajectory: Trajectory | None
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as JSON; the reward in it is the ledger's."""
        return {
            **self.head,
            "file": str(self.file),
            "reward": json.loads(dump_json(self.reward)),
            "stages": [_stage_json(stage) for stage in self.stages],
            "trajectory": json.loads(self.trajectory.to_json()) if self.trajectory else None,
            "note": self.note,
        }


def explain(path: Path, name: str, registry: Registry) -> Explanation:
    """Return why the trajectory ``name`` got its reward in the run at ``path``.

    Args:
        path: the run folder.
        name: the trajectory's id, or its place, as ``answers.jsonl:17``.
        registry: knows the reader of the input. The spec's graders are not needed.

    Raises:
        UsageError: if there is no such run or trajectory.
    """
    run = open_run(path, registry)
    line = json.loads(find_line(run, name))
    reward = read_reward(json.dumps(line.pop("reward")))
    found = trajectory_at(run, line)
    return Explanation(
        head=line,
        file=run.input(line["source"]),
        reward=reward,
        stages=tuple(_stages(run.described["spec"], reward)),
        trajectory=None if isinstance(found, str) else found,
        note=found if isinstance(found, str) else "",
    )


def _stages(raw: Mapping[str, Any], reward: Reward) -> Iterator[StagePlace]:
    written = {stage["name"]: stage for stage in _spec_of(raw, reward).get("stages", ())}
    for name in dict.fromkeys(part.stage for part in reward.parts):
        stage = written.get(name, {})
        gate = stage.get("gate")
        yield StagePlace(
            name=name,
            weight=float(stage.get("weight", 1.0 if gate is None else 0.0)),
            combine=stage.get("combine", "formula" if "formula" in stage else "mean"),
            gate=gate,
            parts=tuple(part for part in reward.parts if part.stage == name),
        )


def _spec_of(raw: Mapping[str, Any], reward: Reward) -> Mapping[str, Any]:
    """Return the spec that made the reward: the file's own, or the one that its route names."""
    routed = raw.get("route")
    if routed is None:
        return raw
    specs: Mapping[str, Mapping[str, Any]] = {
        value: spec for value, spec in routed.items() if value != "by"
    }
    nothing: Mapping[str, Any] = {}
    return next((spec for spec in specs.values() if spec["name"] == reward.spec.name), nothing)


def _stage_json(stage: StagePlace) -> dict[str, Any]:
    return {
        "name": stage.name,
        "weight": stage.weight,
        "combine": stage.combine,
        "gate": dict(stage.gate) if stage.gate else None,
        "contribution": stage.contribution,
        "parts": [part.id for part in stage.parts],
    }

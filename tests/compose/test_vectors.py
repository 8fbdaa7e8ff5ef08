"""The 300 worked examples of the reward arithmetic, by others."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rewardhub.compose import Course
from rewardhub.host import Registry
from rewardhub.records import Reward, Score, StepValue
from rewardhub.spec import Spec, load

FOLDER = Path(os.environ.get("REWARDHUB_VECTORS", "../shared/vectors"))
FILE = FOLDER / "compose.jsonl"
TOLERANCE = 1e-9


def _cases() -> Iterator[dict[str, Any]]:
    if not FILE.is_file():
        pytest.skip(f"there is no {FILE}: set REWARDHUB_VECTORS to the folder of compose.jsonl")
    with FILE.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _score(fields: Mapping[str, Any]) -> Score:
    if fields["status"] == "abstained":
        return Score.abstain("the task has no reference")
    if fields["status"] == "failed":
        return Score.fail("it broke", fault=fields["fault"])
    values = [StepValue(step, value) for step, value in fields.get("step_values", ())]
    return Score.of(fields["value"], step_values=values)


def _reward(case: Mapping[str, Any], registry: Registry) -> Reward:
    spec = load(case["spec"], registry)
    assert isinstance(spec, Spec)
    course = Course(spec, case["steps"])
    for entry in course.ready():
        course.put(entry, _score(case["scores"][entry.id]))
    assert course.done
    return course.reward()


def _told(reward: Reward) -> dict[str, Any]:
    """Return what the examples tell of a Reward."""
    told = {name: getattr(reward, name) for name in ("value", "success", "status", "decided_by")}
    if reward.value is None:
        return {**told, "fault": reward.fault}
    return {
        **told,
        "step_rewards": list(reward.step_rewards),
        "unplaced": reward.unplaced,
        "contributions": {part.id: part.contribution for part in reward.parts},
        "parts": {part.id: part.status for part in reward.parts},
    }


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= TOLERANCE
    return bool(one == other)


def test_reproduces_every_worked_example(registry: Registry) -> None:
    cases = list(_cases())
    wrong = [
        number
        for number, case in enumerate(cases, start=1)
        if not _is_same(_told(_reward(case, registry)), case["expected"])
    ]
    assert not wrong, f"lines that come out otherwise: {wrong}"
    assert len(cases) >= 300

from __future__ import annotations

from collections.abc import Callable

import pytest

from rewardhub.records import Message, Task
from rewardhub.spec import Spec, field_of

TASK = Task(
    id="t",
    domain="math",
    messages=(Message(role="user", content="2+2?"),),
    metadata={"level": {"name": "hard"}},
)
BASE = (
    "stages: [{name: outcome, weight: 0.5, graders: "
    "[{use: cost/steps, options: {budget: 5}}, {use: judge/rank}]}]\n"
    "success: steps == 1\n"
)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("task.domain", "math"),
        ("task.split", None),
        ("task.metadata.level.name", "hard"),
        ("task.metadata.missing.name", None),
    ],
)
def test_finds_the_field_of_a_task(path: str, value: object) -> None:
    assert field_of(TASK, path) == value


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("weight: 0.5", "weight: 0.6"),
        ("budget: 5", "budget: 6"),
        ("steps == 1", "steps > 0.5"),
        ("judge/rank", "judge/rank, weight: 2"),
        ("judge/rank", "judge/rank, when: steps > 0"),
        ("judge/rank", "judge/rank, optional: true"),
        ("judge/rank", "judge/rank, limits: {cpu_seconds: 3}"),
        ("name: outcome", "name: outcome, combine: min"),
        ("name: outcome", "name: outcome, steps: mean"),
        ("name: outcome", "name: outcome, gate: {below: 0.1, reward: 0}"),
        ("success", "credit: spread\nsuccess"),
        ("success", "version: 2\nsuccess"),
    ],
)
def test_the_digest_changes_with_what_a_reward_depends_on(
    parsed: Callable[[str], Spec], old: str, new: str
) -> None:
    assert parsed(BASE.replace(old, new)).digest != parsed(BASE).digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("success", "range: [-2, 2]\nsuccess"),
        ("success", "training: {stop_above: 0.5}\nsuccess"),
        ("weight: 0.5", "weight: 0.50"),
        ("{budget: 5}", "{unit: steps, budget: 5}"),
    ],
)
def test_the_digest_stays_with_what_no_reward_depends_on(
    parsed: Callable[[str], Spec], old: str, new: str
) -> None:
    assert parsed(BASE.replace(old, new)).digest == parsed(BASE).digest

"""Scoring in one call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

import rewardhub
from rewardhub import Grader, GraderCard, Registry, Reward, SpecError, Trajectory, registry_of
from rewardhub.testing import make_trajectory


class Budget(Grader):
    """Falls from 1 to 0 as the steps use up the budget."""

    budget: int

    def grade(self, trajectory: Trajectory) -> float:
        return 1 - min(len(trajectory.steps), self.budget) / self.budget


class Length(Grader):
    async def grade(self, trajectory: Trajectory) -> float:
        await asyncio.sleep(0)
        return min(1.0, len(trajectory.final_text) / 10)


@pytest.fixture
def registry() -> Registry:
    return registry_of(
        GraderCard(name="cost/steps", grader=Budget), GraderCard(name="text/length", grader=Length)
    )


LENGTH = """
rewardhub: 1
name: text/length
success: length == 1
stages:
  - name: only
    graders: [{use: text/length}]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "reward.yaml"
    path.write_text(LENGTH)
    return path


def _answers() -> Iterator[Trajectory]:
    return (make_trajectory("x" * length) for length in range(4))


VALUES = [0.0, 0.1, 0.2, 0.3]


def test_scores_one_trajectory_by_a_file(file: Path, registry: Registry) -> None:
    reward = rewardhub.score(make_trajectory("xxxxx"), file, registry=registry)
    assert (reward.value, reward.success, reward.spec.name) == (0.5, False, "text/length")
    assert rewardhub.score(make_trajectory("x"), str(file), registry=registry).value == 0.1


def test_scores_many_in_their_order(file: Path, registry: Registry) -> None:
    rewards = rewardhub.score_all(_answers(), file, registry=registry, workers=1)
    assert [reward.value for reward in rewards] == VALUES


def test_scores_on_a_running_loop(file: Path, registry: Registry) -> None:
    async def later() -> AsyncIterator[Trajectory]:
        for each in _answers():
            yield each

    async def score() -> tuple[Reward, list[float | None], list[float | None]]:
        one = await rewardhub.ascore(make_trajectory("x"), file, registry=registry)
        many = rewardhub.ascore_all(_answers(), file, registry=registry)
        stream = rewardhub.ascore_all(later(), file, registry=registry)
        return one, [each.value async for each in many], [each.value async for each in stream]

    one, many, stream = asyncio.run(score())
    assert (one.value, many, stream) == (0.1, VALUES, VALUES)


def test_leaves_nothing_running(file: Path, registry: Registry) -> None:
    before = threading.active_count()
    rewards = rewardhub.score_all(_answers(), file, registry=registry)
    next(rewards)
    rewards.close()  # type: ignore[attr-defined]  # it is a generator
    rewardhub.score(make_trajectory("x"), file, registry=registry)
    assert threading.active_count() == before


def test_mistakes_of_the_reward_file_are_raised(tmp_path: Path, registry: Registry) -> None:
    path = tmp_path / "reward.yaml"
    path.write_text(LENGTH.replace("use: text/length", "use: text/lenght"))
    with pytest.raises(SpecError, match="Did you mean `text/length`"):
        rewardhub.score(make_trajectory("x"), path, registry=registry)


# --- a whole spec ---------------------------------------------------------------------------------

BUDGET = 20
BY_HAND: dict[str, Any] = {
    "rewardhub": 1,
    "name": "by-hand",
    "range": [-2, 1.5],
    "success": "success == 1",
    "stages": [
        {"name": "goal", "graders": [{"use": "recorded/value", "as": "success"}]},
        {
            "name": "tests",
            "weight": 0.5,
            "graders": [{"use": "recorded/value", "as": "tests", "options": {"key": "tests"}}],
        },
        {
            "name": "cost",
            "weight": -0.1 * BUDGET,
            "graders": [{"use": "cost/steps", "options": {"budget": BUDGET}}],
        },
    ],
}


@pytest.mark.parametrize("success", [True, False])
@pytest.mark.parametrize("tests", [True, False])
@pytest.mark.parametrize("steps", [1, 7, 20])
def test_gives_one_for_success_a_half_for_tests_and_takes_a_tenth_for_each_step(
    success: bool, tests: bool, steps: int, registry: Registry
) -> None:
    attempt = make_trajectory(["again"] * steps, metadata={"success": success, "tests": tests})
    reward = rewardhub.score(attempt, BY_HAND, registry=registry)
    assert reward.value is not None
    assert abs(reward.value - (1.0 * success + 0.5 * tests - 0.1 * steps)) <= 1e-9
    assert reward.success is success
    assert abs(sum(reward.step_rewards) - reward.value) <= 1e-9

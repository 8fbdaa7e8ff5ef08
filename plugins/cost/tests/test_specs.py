import itertools

import pytest
import rewardhub_cost

from rewardhub import Engine, Reward, SpecCard, load_reward
from rewardhub.testing import make_trajectory, registry_of

REGISTRY = registry_of(rewardhub_cost)
SPEC = "cost/success-tests-steps"


def rewards_of(attempts: list[tuple[bool, bool, int]]) -> list[Reward]:
    trajectories = [
        make_trajectory(["go on"] * steps, metadata={"success": success, "tests": tests})
        for success, tests, steps in attempts
    ]
    with Engine(SPEC, registry=REGISTRY) as engine:
        return list(engine.score_all(trajectories))


def test_one_spec_is_shipped() -> None:
    assert list(REGISTRY.all(SpecCard)) == [SPEC]


def test_pays_for_success_and_tests_and_takes_a_tenth_for_each_step() -> None:
    attempts = list(itertools.product((True, False), (True, False), range(1, 21)))
    wanted = [1.0 * success + 0.5 * tests - 0.1 * steps for success, tests, steps in attempts]
    assert [reward.value for reward in rewards_of(attempts)] == pytest.approx(wanted, abs=1e-9)


def test_takes_no_more_than_the_budget() -> None:
    values = [reward.value for reward in rewards_of([(True, True, 20), (True, True, 50)])]
    assert values == pytest.approx([-0.5, -0.5], abs=1e-9)


def test_reaches_both_ends_of_its_range() -> None:
    low, high = load_reward(SPEC, REGISTRY).range  # type: ignore[union-attr]  # it is no route
    worst, best = rewards_of([(False, False, 20), (True, True, 1)])
    assert worst.value == pytest.approx(low, abs=1e-9)
    assert best.value == pytest.approx(high - 0.1, abs=1e-9)


def test_success_is_the_recorded_one_alone() -> None:
    assert [reward.success for reward in rewards_of([(True, False, 1), (False, True, 1)])] == [
        True,
        False,
    ]


def test_a_missing_verdict_is_no_reward() -> None:
    attempt = make_trajectory("done", metadata={"success": True})
    with Engine(SPEC, registry=REGISTRY) as engine:
        reward = engine.score(attempt)
    assert (reward.value, reward.fault) == (None, "task")
    assert "records no `tests`" in reward.reason

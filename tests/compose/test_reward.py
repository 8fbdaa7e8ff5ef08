"""Scores -> Reward: the sum of the stages, success, and what belongs to no step."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rewardhub.records import Reward, Score
from rewardhub.spec import Spec

MakeSpec = Callable[..., Spec]
Finish = Callable[..., Reward]

ABSTAINED = Score.abstain("no reference")


def test_the_reward_is_the_sum_of_the_stages(make_spec: MakeSpec, finish: Finish) -> None:
    spec = make_spec(
        {"weight": 0.75, "graders": ["a"]},
        {"weight": 2, "graders": ["b"]},
        {"weight": -0.5, "graders": ["c"]},
    )
    reward = finish(spec, {"a": 1.0, "b": 0.25, "c": 0.5})
    assert reward.value == pytest.approx(0.75 + 0.5 - 0.25)
    assert [part.contribution for part in reward.parts] == [0.75, 0.5, -0.25]


def test_a_stage_weighs_one_unless_it_says_so(make_spec: MakeSpec, finish: Finish) -> None:
    assert finish(make_spec({"graders": ["a"]}, {"graders": ["b"]}), {"a": 1, "b": 1}).value == 2


def test_parts_stand_in_the_order_of_the_spec(make_spec: MakeSpec, finish: Finish) -> None:
    spec = make_spec({"graders": ["b", "a"]}, {"graders": ["c"]})
    reward = finish(spec, {"a": 1, "b": 1, "c": 1})
    assert [(part.id, part.stage) for part in reward.parts] == [
        ("b", "stage0"), ("a", "stage0"), ("c", "stage1"),
    ]  # fmt: skip


def test_every_reward_says_which_spec_made_it(make_spec: MakeSpec, finish: Finish) -> None:
    spec = make_spec({"graders": ["a"]}, name="math/strict", version=3)
    for score in (Score.of(1.0), ABSTAINED):
        assert finish(spec, {"a": score}).spec == spec.info
    assert (spec.info.name, spec.info.version) == ("math/strict", "3")
    assert spec.info.digest == spec.digest


# --- success --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "success"), [(1.0, True), (0.99, False), (1 - 1e-10, True)])
def test_success_is_what_the_spec_says(
    value: float, success: bool, make_spec: MakeSpec, finish: Finish
) -> None:
    assert finish(make_spec({"graders": ["a"]}), {"a": value}).success is success


def test_the_only_part_of_the_stage_outcome_is_success_by_default(
    make_spec: MakeSpec, finish: Finish
) -> None:
    spec = make_spec({"graders": ["a"]}, {"name": "outcome", "graders": ["b"]}, success=None)
    assert finish(spec, {"a": 0.0, "b": 1.0}).success is True
    assert finish(spec, {"a": 1.0, "b": 0.5}).success is False


def test_success_is_unknown_where_it_reads_a_part_without_a_value(
    make_spec: MakeSpec, finish: Finish
) -> None:
    spec = make_spec({"graders": ["a", "b"]})
    reward = finish(spec, {"a": ABSTAINED, "b": 0.5})
    assert (reward.value, reward.success) == (0.5, None)


def test_success_reads_all_that_it_names(make_spec: MakeSpec, finish: Finish) -> None:
    spec = make_spec({"graders": ["a", "b"]}, success="a == 1 or b == 1")
    assert finish(spec, {"a": ABSTAINED, "b": 1.0}).success is None


def test_success_is_unknown_without_a_reward(make_spec: MakeSpec, finish: Finish) -> None:
    spec = make_spec({"graders": ["a"]}, {"graders": ["b"]})
    assert finish(spec, {"a": 1.0, "b": ABSTAINED}).success is None


def test_success_reads_a_skipped_part_as_zero(make_spec: MakeSpec, finish: Finish) -> None:
    spec = make_spec({"graders": ["a", {"as": "b", "when": "a == 1"}]}, success="b == 1")
    assert finish(spec, {"a": 0.0}).success is False


# --- unscored -------------------------------------------------------------------------------------


def test_without_a_value_there_are_no_shares(make_spec: MakeSpec, finish: Finish) -> None:
    spec = make_spec({"graders": ["a"]}, {"steps": "mean", "graders": ["b", "c"]})
    reward = finish(spec, {"a": ABSTAINED, "b": 1.0, "c": 0.0}, steps=3)
    assert (reward.value, reward.status) == (None, "unscored")
    assert (reward.step_rewards, reward.span_rewards, reward.unplaced) == ((), (), 0.0)
    assert [part.contribution for part in reward.parts] == [None, None, None]
    assert [part.status for part in reward.parts] == ["abstained", "graded", "graded"]


# --- credit ---------------------------------------------------------------------------------------


def test_what_belongs_to_no_step_lands_on_the_last(make_spec: MakeSpec, finish: Finish) -> None:
    reward = finish(make_spec({"graders": ["a"]}), {"a": 0.75}, steps=3)
    assert reward.step_rewards == (0.0, 0.0, 0.75)
    assert reward.unplaced == 0.75


def test_what_belongs_to_no_step_is_spread_where_the_spec_says_so(
    make_spec: MakeSpec, finish: Finish
) -> None:
    reward = finish(make_spec({"graders": ["a"]}, credit="spread"), {"a": 0.75}, steps=3)
    assert reward.step_rewards == (0.25, 0.25, 0.25)
    assert reward.unplaced == 0.75

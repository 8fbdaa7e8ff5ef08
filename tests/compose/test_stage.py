"""What one stage makes of its parts: combining, skipping, leaving out, failing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rewardhub.records import Reward, Score
from rewardhub.spec import Spec

MakeSpec = Callable[..., Spec]
Finish = Callable[..., Reward]

ABSTAINED = Score.abstain("no reference")
GRADER = Score.fail("a bug", fault="grader")
INFRASTRUCTURE = Score.fail("the endpoint is down", fault="infrastructure")


def _contributions(reward: Reward) -> dict[str, float | None]:
    return {part.id: part.contribution for part in reward.parts}


# --- how values combine ---------------------------------------------------------------------------


def test_a_stage_is_the_weighted_mean_of_its_parts(make_spec: MakeSpec, finish: Finish) -> None:
    spec = make_spec({"graders": ["a", {"as": "b", "weight": 3}]})
    reward = finish(spec, {"a": 1.0, "b": 0.2})
    assert reward.value == pytest.approx(0.4)
    assert _contributions(reward) == {"a": pytest.approx(0.25), "b": pytest.approx(0.15)}


@pytest.mark.parametrize(
    ("combine", "value", "first", "second"),
    [("min", 0.25, 0.0, 0.25), ("max", 0.75, 0.75, 0.0), ("product", 0.1875, None, None)],
)
def test_combines_by_minimum_maximum_and_product(
    combine: str, value: float, first: float, second: float, make_spec: MakeSpec, finish: Finish
) -> None:
    spec = make_spec({"combine": combine, "graders": ["a", "b"]})
    reward = finish(spec, {"a": 0.75, "b": 0.25})
    assert reward.value == pytest.approx(value)
    assert _contributions(reward) == {"a": first, "b": second}


@pytest.mark.parametrize("combine", ["min", "max", "cascade"])
def test_the_first_of_equal_parts_decides(
    combine: str, make_spec: MakeSpec, finish: Finish
) -> None:
    reward = finish(make_spec({"combine": combine, "graders": ["a", "b"]}), {"a": 0.5, "b": 0.5})
    assert _contributions(reward) == {"a": 0.5, "b": 0.0}


def test_weights_inside_a_stage_count_in_a_mean_only(make_spec: MakeSpec, finish: Finish) -> None:
    spec = make_spec({"combine": "max", "graders": ["a", {"as": "b", "weight": 9}]})
    assert finish(spec, {"a": 0.75, "b": 0.25}).value == 0.75


def test_a_formula_makes_the_value_and_no_contributions(
    make_spec: MakeSpec, finish: Finish
) -> None:
    spec = make_spec({"formula": "0.5 * a + 0.5 * min(a, b)", "graders": ["a", "b"]})
    reward = finish(spec, {"a": 0.8, "b": 0.4})
    assert reward.value == pytest.approx(0.6)
    assert _contributions(reward) == {"a": None, "b": None}


# --- a penalty ------------------------------------------------------------------------------------


def test_a_negative_weight_takes_what_the_value_leaves(make_spec: MakeSpec, finish: Finish) -> None:
    spec = make_spec({"weight": -0.5, "graders": ["a", {"as": "b", "weight": 3}]})
    reward = finish(spec, {"a": 0.0, "b": 0.8})
    assert reward.value == pytest.approx(-0.5 * (1 - 0.6))
    assert _contributions(reward) == {"a": pytest.approx(-0.125), "b": pytest.approx(-0.075)}


def test_a_perfect_value_costs_nothing(make_spec: MakeSpec, finish: Finish) -> None:
    assert finish(make_spec({"weight": -2, "graders": ["a"]}), {"a": 1.0}).value == 0.0


# --- skipped: as if graded 0 ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("combine", "value"),
    [("mean", 0.25), ("min", 0.0), ("max", 0.5), ("product", 0.0), ("cascade", 0.5)],
)
def test_a_skipped_part_counts_as_zero(
    combine: str, value: float, make_spec: MakeSpec, finish: Finish
) -> None:
    parts = ["a", {"as": "b", "when": "a == 1"}]
    reward = finish(make_spec({"combine": combine, "graders": parts}), {"a": 0.5})
    assert reward.value == value
    assert reward.part("b").status == "skipped"
    assert reward.part("b").reason == "`a == 1` is false"


def test_a_skipped_part_counts_as_zero_in_a_formula(make_spec: MakeSpec, finish: Finish) -> None:
    parts = ["a", {"as": "b", "when": "a == 1"}]
    spec = make_spec({"formula": "0.5 * a + 0.5 * b", "graders": parts})
    reward = finish(spec, {"a": 0.5})
    assert reward.value == 0.25
    assert reward.part("b").contribution is None


def test_a_skipped_part_keeps_its_weight(make_spec: MakeSpec, finish: Finish) -> None:
    parts = ["a", {"as": "b", "weight": 3, "when": "a > 0.5"}]
    assert finish(make_spec({"graders": parts}), {"a": 0.5}).value == 0.125


def test_a_skipped_part_of_a_penalty_costs_all_of_its_share(
    make_spec: MakeSpec, finish: Finish
) -> None:
    parts = ["a", {"as": "b", "when": "a == 1"}]
    reward = finish(make_spec({"weight": -1, "graders": parts}), {"a": 0.5})
    assert reward.value == -0.75
    assert _contributions(reward) == {"a": -0.25, "b": -0.5}


def test_a_stage_of_skipped_parts_is_worth_nothing(make_spec: MakeSpec, finish: Finish) -> None:
    spec = make_spec({"graders": ["a"]}, {"graders": [{"as": "b", "when": "a == 1"}]})
    assert finish(spec, {"a": 0.25}).value == 0.25


# --- abstained: left out --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("combine", "value"),
    [("mean", 0.5), ("min", 0.5), ("max", 0.5), ("product", 0.5), ("cascade", 0.5)],
)
def test_a_part_that_abstains_is_left_out(
    combine: str, value: float, make_spec: MakeSpec, finish: Finish
) -> None:
    spec = make_spec({"combine": combine, "graders": [{"as": "a", "weight": 7}, "b"]})
    reward = finish(spec, {"a": ABSTAINED, "b": 0.5})
    assert reward.value == value
    assert reward.part("a").status == "abstained"
    assert reward.part("a").contribution == 0.0


def test_a_formula_over_a_part_that_abstains_has_no_value(
    make_spec: MakeSpec, finish: Finish
) -> None:
    spec = make_spec({"formula": "0.5 * a + 0.5 * b", "graders": ["a", "b"]})
    reward = finish(spec, {"a": 1.0, "b": ABSTAINED})
    assert (reward.value, reward.fault) == (None, "task")


def test_a_formula_takes_the_fault_of_the_first_part_it_names_without_a_value(
    make_spec: MakeSpec, finish: Finish
) -> None:
    parts = ["a", {"as": "b", "optional": True}]
    spec = make_spec({"formula": "0.5 * b + 0.5 * a", "graders": parts})
    reward = finish(spec, {"a": ABSTAINED, "b": INFRASTRUCTURE})
    assert (reward.value, reward.fault) == (None, "infrastructure")


def test_a_stage_where_nothing_is_graded_has_no_value(make_spec: MakeSpec, finish: Finish) -> None:
    reward = finish(make_spec({"graders": ["a", "b"]}), {"a": ABSTAINED, "b": ABSTAINED})
    assert (reward.value, reward.status, reward.fault) == (None, "unscored", "task")
    assert "`a`" in reward.reason
    assert "no reference" in reward.reason


def test_an_optional_stage_where_nothing_is_graded_adds_nothing(
    make_spec: MakeSpec, finish: Finish
) -> None:
    spec = make_spec({"graders": ["a"]}, {"optional": True, "weight": 5, "graders": ["b"]})
    reward = finish(spec, {"a": 0.5, "b": ABSTAINED})
    assert reward.value == 0.5
    assert _contributions(reward) == {"a": 0.5, "b": 0.0}


def test_an_optional_formula_without_a_value_adds_nothing(
    make_spec: MakeSpec, finish: Finish
) -> None:
    formula = {"optional": True, "formula": "0.5 * b + 0.5 * c", "graders": ["b", "c"]}
    spec = make_spec({"graders": ["a"]}, formula)
    reward = finish(spec, {"a": 0.5, "b": 1.0, "c": ABSTAINED})
    assert reward.value == 0.5
    assert _contributions(reward) == {"a": 0.5, "b": 0.0, "c": 0.0}


# --- failed: no reward ----------------------------------------------------------------------------


@pytest.mark.parametrize("score", [GRADER, INFRASTRUCTURE])
@pytest.mark.parametrize("combine", ["mean", "min", "max", "product", "cascade"])
def test_a_failed_part_leaves_no_reward(
    combine: str, score: Score, make_spec: MakeSpec, finish: Finish
) -> None:
    spec = make_spec({"combine": combine, "graders": ["a", "b"]})
    reward = finish(spec, {"a": 0.5, "b": score})
    assert (reward.value, reward.fault) == (None, score.fault)
    assert reward.part("a").status == "graded"


@pytest.mark.parametrize("combine", ["mean", "min", "max", "product"])
def test_optional_forgives_the_infrastructure(
    combine: str, make_spec: MakeSpec, finish: Finish
) -> None:
    parts = [{"as": "a", "optional": True}, "b"]
    spec = make_spec({"combine": combine, "graders": parts})
    reward = finish(spec, {"a": INFRASTRUCTURE, "b": 0.5})
    assert reward.value == 0.5
    assert reward.part("a").contribution == 0.0


def test_optional_does_not_forgive_a_grader(make_spec: MakeSpec, finish: Finish) -> None:
    spec = make_spec({"graders": [{"as": "a", "optional": True}, "b"]})
    reward = finish(spec, {"a": GRADER, "b": 0.5})
    assert (reward.value, reward.fault) == (None, "grader")


def test_an_optional_stage_does_not_forgive_a_failed_part(
    make_spec: MakeSpec, finish: Finish
) -> None:
    reward = finish(make_spec({"optional": True, "graders": ["a"]}), {"a": INFRASTRUCTURE})
    assert (reward.value, reward.fault) == (None, "infrastructure")


def test_a_forgiven_part_alone_leaves_the_stage_without_a_value(
    make_spec: MakeSpec, finish: Finish
) -> None:
    spec = make_spec({"graders": [{"as": "a", "optional": True}]})
    assert finish(spec, {"a": INFRASTRUCTURE}).fault == "infrastructure"


def test_the_fault_is_that_of_the_first_failed_part_that_is_not_forgiven(
    make_spec: MakeSpec, finish: Finish
) -> None:
    parts: list[Any] = ["a", {"as": "b", "optional": True}, "c", "d"]
    scores = {"a": ABSTAINED, "b": INFRASTRUCTURE, "c": GRADER, "d": INFRASTRUCTURE}
    reward = finish(make_spec({"graders": parts}), scores)
    assert reward.fault == "grader"
    assert "`c`" in reward.reason


def test_the_fault_is_that_of_the_first_stage_without_a_value(
    make_spec: MakeSpec, finish: Finish
) -> None:
    spec = make_spec({"graders": ["a"]}, {"graders": ["b"]})
    assert finish(spec, {"a": ABSTAINED, "b": GRADER}).fault == "task"

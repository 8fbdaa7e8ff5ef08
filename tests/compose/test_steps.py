"""Values of steps and spans: one value of many, and one share for each."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rewardhub.records import Reward, Score
from rewardhub.spec import Spec

MakeSpec = Callable[..., Spec]
Finish = Callable[..., Reward]
Stepped = Callable[..., Score]


@pytest.fixture
def by_rule(make_spec: MakeSpec, finish: Finish) -> Callable[..., Reward]:
    """Return a function: the Reward of one part, its step values taken by a rule."""

    def make(rule: str, score: Score, steps: int = 3, weight: float = 1.0) -> Reward:
        spec = make_spec({"steps": rule, "weight": weight, "graders": ["a"]})
        return finish(spec, {"a": score}, steps=steps)

    return make


@pytest.mark.parametrize(
    ("rule", "value", "placed"),
    [
        ("mean", 0.6, (0.3, 0.1, 0.2)),
        ("min", 0.3, (0.0, 0.3, 0.0)),
        ("last", 0.6, (0.0, 0.0, 0.6)),
        ("product", 0.9 * 0.3 * 0.6, (0.0, 0.0, 0.9 * 0.3 * 0.6)),
    ],
)
def test_makes_one_value_and_places_it(
    rule: str, value: float, placed: tuple[float, ...], by_rule: Finish, stepped: Stepped
) -> None:
    reward = by_rule(rule, stepped(0.123, (0, 0.9), (1, 0.3), (2, 0.6)))
    assert reward.value == pytest.approx(value)
    assert reward.step_rewards == pytest.approx(placed)
    assert reward.unplaced == 0.0


@pytest.mark.parametrize(
    ("rule", "value", "placed"),
    [
        ("mean", -0.4, (-0.1 / 3, -0.7 / 3, -0.4 / 3)),
        ("min", -0.7, (0.0, -0.7, 0.0)),
        ("last", -0.4, (0.0, 0.0, -0.4)),
        ("product", -(1 - 0.162), (0.0, 0.0, -(1 - 0.162))),
    ],
)
def test_places_a_penalty_by_what_each_step_leaves(
    rule: str, value: float, placed: tuple[float, ...], by_rule: Finish, stepped: Stepped
) -> None:
    reward = by_rule(rule, stepped(0.5, (0, 0.9), (1, 0.3), (2, 0.6)), weight=-1.0)
    assert reward.value == pytest.approx(value)
    assert reward.step_rewards == pytest.approx(placed)


def test_a_mean_counts_only_steps_that_have_a_value(by_rule: Finish, stepped: Stepped) -> None:
    reward = by_rule("mean", stepped(0.0, (0, 1.0), (1, None), (2, 0.5)))
    assert reward.value == 0.75
    assert reward.step_rewards == pytest.approx((0.5, 0.0, 0.25))


@pytest.mark.parametrize("rule", ["last", "product"])
def test_pays_on_the_last_step_that_has_a_value(
    rule: str, by_rule: Finish, stepped: Stepped
) -> None:
    reward = by_rule(rule, stepped(0.0, (0, 1.0), (1, 0.5), (2, None)))
    assert reward.step_rewards == (0.0, 0.5, 0.0)


def test_a_minimum_pays_on_the_first_of_equal_steps(by_rule: Finish, stepped: Stepped) -> None:
    reward = by_rule("min", stepped(0.0, (0, 1.0), (1, 0.5), (2, 0.5)))
    assert reward.step_rewards == (0.0, 0.5, 0.0)


def test_steps_may_come_in_any_order(by_rule: Finish, stepped: Stepped) -> None:
    reward = by_rule("last", stepped(0.0, (2, 0.25), (0, 1.0)))
    assert reward.step_rewards == (0.0, 0.0, 0.25)


def test_spans_of_one_step_are_averaged_first(by_rule: Finish, stepped: Stepped) -> None:
    score = stepped(0.0, (0, 1.0, 0, 4), (0, 0.5, 4, 9), (1, 0.25))
    assert by_rule("mean", score, steps=2).value == pytest.approx((0.75 + 0.25) / 2)
    assert by_rule("min", score, steps=2).value == 0.25


def test_finer_spans_are_kept(by_rule: Finish, stepped: Stepped) -> None:
    score = stepped(0.0, (0, 1.0, 0, 4), (0, 0.5, 4, 9, "reasoning"), (1, 0.25))
    reward = by_rule("mean", score, steps=2)
    places = [(each.step, each.start, each.end, each.field) for each in reward.span_rewards]
    assert places == [(0, 0, 4, "text"), (0, 4, 9, "reasoning")]
    assert [each.value for each in reward.span_rewards] == pytest.approx([0.25, 0.125])
    assert reward.step_rewards == pytest.approx((0.375, 0.125))


def test_spans_of_a_penalty_share_what_they_leave(by_rule: Finish, stepped: Stepped) -> None:
    score = stepped(0.0, (0, 1.0, 0, 4), (0, 0.5, 4, 9))
    reward = by_rule("mean", score, steps=1, weight=-1.0)
    assert [each.value for each in reward.span_rewards] == pytest.approx([0.0, -0.25])


def test_spans_that_are_all_zero_share_alike(by_rule: Finish, stepped: Stepped) -> None:
    score = stepped(0.0, (0, 0.0, 0, 4), (0, 0.0, 4, 9))
    reward = by_rule("mean", score, steps=1)
    assert [each.value for each in reward.span_rewards] == [0.0, 0.0]


def test_a_score_without_step_values_keeps_its_value_and_lands_by_credit(
    by_rule: Finish,
) -> None:
    reward = by_rule("mean", Score.of(0.75))
    assert (reward.value, reward.unplaced) == (0.75, 0.75)
    assert reward.step_rewards == (0.0, 0.0, 0.75)


def test_step_values_that_say_nothing_leave_the_scores_own_value(
    by_rule: Finish, stepped: Stepped
) -> None:
    reward = by_rule("min", stepped(0.75, (0, None), (1, None)))
    assert (reward.value, reward.unplaced) == (0.75, 0.75)


def test_without_steps_the_scores_value_counts(
    make_spec: MakeSpec, finish: Finish, stepped: Stepped
) -> None:
    spec = make_spec({"graders": ["a"]}, {"steps": "mean", "weight": 2, "graders": ["b"]})
    reward = finish(spec, {"a": stepped(0.75, (0, 0.0)), "b": stepped(0.5, (0, 1.0))}, steps=2)
    assert reward.value == 2.75
    assert reward.step_rewards == (2.0, 0.75)
    assert reward.unplaced == 0.75


def test_parts_share_by_their_weights(
    make_spec: MakeSpec, finish: Finish, stepped: Stepped
) -> None:
    spec = make_spec({"steps": "mean", "weight": 2, "graders": ["a", {"as": "b", "weight": 3}]})
    scores = {"a": stepped(0.0, (0, 1.0), (1, 0.5)), "b": stepped(0.0, (1, 0.5))}
    reward = finish(spec, scores, steps=2)
    # W s_p v_k / n, with W = 2, shares 1/4 and 3/4, n = 2 and 1
    assert reward.step_rewards == pytest.approx((0.25, 0.125 + 0.75))
    assert [part.contribution for part in reward.parts] == pytest.approx([0.375, 0.75])


@pytest.mark.parametrize("combine", ["min", "max"])
def test_the_deciding_part_places_the_whole_amount(
    combine: str, make_spec: MakeSpec, finish: Finish, stepped: Stepped
) -> None:
    spec = make_spec({"steps": "mean", "combine": combine, "graders": ["a", "b"]})
    low, high = stepped(0.0, (0, 0.25)), stepped(0.0, (1, 0.75))
    reward = finish(spec, {"a": low, "b": high}, steps=3)
    assert reward.step_rewards == ((0.25, 0.0, 0.0) if combine == "min" else (0.0, 0.75, 0.0))
    assert reward.unplaced == 0.0


@pytest.mark.parametrize("stage", [{"combine": "product"}, {"formula": "0.5 * a + 0.5 * b"}])
def test_a_product_and_a_formula_land_by_credit(
    stage: dict[str, str], make_spec: MakeSpec, finish: Finish, stepped: Stepped
) -> None:
    spec = make_spec({"steps": "mean", **stage, "graders": ["a", "b"]}, credit="spread")
    scores = {"a": stepped(0.0, (0, 1.0)), "b": stepped(0.0, (0, 0.5))}
    reward = finish(spec, scores, steps=2)
    assert reward.unplaced == reward.value
    assert reward.step_rewards[0] == reward.step_rewards[1]
    assert [part.contribution for part in reward.parts] == [None, None]


def test_a_part_left_out_of_a_product_contributes_nothing(
    make_spec: MakeSpec, finish: Finish
) -> None:
    spec = make_spec({"combine": "product", "graders": ["a", "b"]})
    reward = finish(spec, {"a": Score.abstain("no reference"), "b": 0.5})
    assert [part.contribution for part in reward.parts] == [0.0, None]


def test_spread_credit_adds_to_what_steps_have(
    make_spec: MakeSpec, finish: Finish, stepped: Stepped
) -> None:
    spec = make_spec({"steps": "last", "graders": ["a"]}, {"graders": ["b"]}, credit="spread")
    reward = finish(spec, {"a": stepped(0.0, (0, 0.5)), "b": 1.0}, steps=2)
    assert reward.step_rewards == (1.0, 0.5)
    assert reward.unplaced == 1.0


def test_a_condition_reads_the_value_that_counts(
    make_spec: MakeSpec, finish: Finish, stepped: Stepped
) -> None:
    spec = make_spec({"steps": "min", "graders": ["a", {"as": "b", "when": "a == 1"}]})
    assert finish(spec, {"a": stepped(1.0, (0, 0.5))}).part("b").status == "skipped"


def test_success_reads_the_value_that_counts(
    make_spec: MakeSpec, finish: Finish, stepped: Stepped
) -> None:
    spec = make_spec({"steps": "min", "graders": ["a"]})
    assert finish(spec, {"a": stepped(1.0, (0, 0.5))}).success is False

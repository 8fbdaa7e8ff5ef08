import math
from typing import Any

import pytest
import rewardhub_cost
from hypothesis import given
from hypothesis import strategies as st
from rewardhub_cost.graders import Steps

from rewardhub import GraderCard, RecordError
from rewardhub.testing import grade, make_trajectory, registry_of

REGISTRY = registry_of(rewardhub_cost)
SHAPES = ["linear", "cosine", "step"]


def score_of(grader: str, trajectory: Any, **options: Any) -> Any:
    return grade(REGISTRY.grader(grader).card, trajectory, options=options)


def value(amount: int, **options: Any) -> float:
    trajectory = make_trajectory("x" * amount)
    score = score_of("cost/length", trajectory, **options)
    assert score.value is not None
    return float(score.value)


@pytest.mark.parametrize("steps", range(1, 26))
def test_twenty_steps_cost_a_twentieth_each(steps: int) -> None:
    score = score_of("cost/steps", make_trajectory(["go on"] * steps), budget=20)
    assert score.value == max(0.0, 1 - steps / 20)
    assert score.reason == f"{steps} of 20 steps"
    assert score.metrics == {"steps": steps}


def test_the_linear_value_falls_from_free_to_budget() -> None:
    values = [value(amount, budget=10, free=2) for amount in (0, 2, 4, 6, 8, 10, 12)]
    assert values == [1.0, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0]


def test_the_cosine_value_falls_slowly_at_both_ends() -> None:
    values = [value(amount, budget=10, shape="cosine") for amount in (0, 1, 5, 9, 10)]
    assert values == pytest.approx([1.0, 0.97552825814757681, 0.5, 0.02447174185242318, 0.0])
    assert values[1] == pytest.approx((1 + math.cos(math.pi / 10)) / 2, abs=1e-15)


def test_the_step_value_is_a_limit() -> None:
    assert [value(amount, budget=10, free=2, shape="step") for amount in (0, 10, 11)] == [1, 1, 0]


@given(
    st.integers(0, 300), st.integers(0, 300), st.floats(0, 99), st.floats(100, 200),
    st.sampled_from(SHAPES),
)  # fmt: skip
def test_more_never_pays_more(one: int, other: int, free: float, budget: float, shape: str) -> None:
    less, more = sorted((one, other))
    grader = {"free": free, "budget": budget, "shape": shape}
    assert 0.0 <= value(more, **grader) <= value(less, **grader) <= 1.0


def test_the_recorded_total_counts_before_the_steps() -> None:
    trajectory = make_trajectory([{"text": "a", "tokens": 5}], tokens=30)
    assert score_of("cost/tokens", trajectory, budget=100).value == 0.7


def test_zero_is_a_record_and_none_is_not() -> None:
    trajectory = make_trajectory([{"text": "a", "seconds": 9.0}], seconds=0.0)
    assert score_of("cost/seconds", trajectory, budget=10).value == 1.0


@pytest.mark.parametrize("grader", ["cost/tokens", "cost/seconds"])
def test_what_nobody_recorded_is_a_fault_of_the_infrastructure(grader: str) -> None:
    score = score_of(grader, make_trajectory("a"), budget=10)
    assert (score.status, score.fault, score.value) == ("failed", "infrastructure", None)
    assert "record them in the rollout" in score.reason


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "`budget` is missing"),
        ({"budget": 0}, "greater than 0"),
        ({"budget": math.inf}, "finite"),
        ({"budget": 5, "free": -1}, "greater than or equal to 0"),
        ({"budget": 5, "free": 5}, r"free \(5\) must be below budget \(5\)"),
        ({"budget": 5, "shape": "cubic"}, "linear"),
        ({"budget": 5, "bugdet": 5}, "Did you mean `budget`"),
    ],
)
def test_refuses_options_that_make_no_sense(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        score_of("cost/steps", make_trajectory("a"), **options)


def test_each_card_reads_only_what_its_grader_counts() -> None:
    reads = {name: each.card.all_reads for name, each in _cards().items()}
    assert reads == {
        "cost/length": ("final_text",),
        "cost/seconds": ("seconds", "steps.seconds"),
        "cost/steps": ("steps.text",),
        "cost/tokens": ("tokens", "steps.tokens"),
        "cost/tool-calls": ("steps.tool_calls",),
    }


def _cards() -> dict[str, Any]:
    cards = REGISTRY.all(GraderCard)
    return {name: each for name, each in cards.items() if name.startswith("cost/")}


def test_a_grader_can_be_used_on_its_own() -> None:
    assert Steps(budget=4).grade(make_trajectory(["a"])).value == 0.75

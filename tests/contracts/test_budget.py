import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rewardhub import Budgeted, Grader, Score, Trajectory
from rewardhub.testing import make_trajectory

SHAPES = ("linear", "cosine", "step")


class Words(Budgeted, Grader):
    """Words of the final answer."""

    def grade(self, trajectory: Trajectory) -> Score:
        return Score.of(self.left_of(len(trajectory.final_text.split())))


@pytest.mark.parametrize(
    ("shape", "amount", "left"),
    [
        ("linear", 2, 1.0),
        ("linear", 4, 0.75),
        ("linear", 10, 0.0),
        ("cosine", 6, 0.5),
        ("cosine", 4, (1 + math.cos(math.pi / 4)) / 2),
        ("step", 10, 1.0),
        ("step", 10.1, 0.0),
    ],
)
def test_what_is_left_follows_the_shape(shape: str, amount: float, left: float) -> None:
    words = Words.model_validate({"budget": 10, "free": 2, "shape": shape})
    assert words.left_of(amount) == pytest.approx(left)


def test_a_grader_takes_it_beside_its_own_base() -> None:
    assert Words(budget=4).grade(make_trajectory("one two three")).value == 0.25


@given(st.sampled_from(SHAPES), st.floats(0, 1e6), st.floats(0, 1e6))
def test_nobody_gains_by_using_more(shape: str, one: float, other: float) -> None:
    words = Words.model_validate({"budget": 1000, "free": 10, "shape": shape})
    low, high = sorted((one, other))
    assert 0.0 <= words.left_of(high) <= words.left_of(low) <= 1.0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"budget": 2, "free": 2}, r"free \(2\) must be below budget \(2\)"),
        ({"budget": 0}, "greater than 0"),
        ({"budget": math.nan}, "finite number"),
        ({"budget": 1, "shape": "round"}, "'linear', 'step' or 'cosine'"),
    ],
)
def test_an_impossible_budget_is_refused(options: dict[str, object], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        Words.model_validate(options)

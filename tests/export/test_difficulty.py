"""Difficulty: what attempts show of a pass rate, against sums done elsewhere."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.errors import UsageError
from rewardhub.export.difficulty import Difficulty, Prior

JEFFREYS = Prior()
counts = st.floats(0, 200)
difficulties = st.builds(Difficulty, st.just(JEFFREYS), counts, counts)


def of(passed, missed, prior=JEFFREYS):
    return Difficulty(prior, passed, missed)


def test_nothing_known_is_the_prior():
    assert of(0, 0).pass_rate == 0.5
    assert of(0, 0, Prior(1, 3)).pass_rate == 0.25


def test_each_attempt_moves_it():
    assert of(0, 0).after(True).after(False).after(True) == of(2, 1)
    assert of(2, 1).pass_rate == pytest.approx(2.5 / 4)


@given(difficulties)
def test_the_weight_is_the_expected_signal(difficulty):
    source = random.Random(1)
    rates = [source.betavariate(difficulty.a, difficulty.b) for _ in range(4000)]
    expected = sum(rate * (1 - rate) for rate in rates) / len(rates)
    assert difficulty.weight == pytest.approx(expected, abs=0.02)
    assert 0 < difficulty.weight < 0.25


def test_a_task_in_the_middle_weighs_most():
    assert of(4, 4).weight > of(2, 6).weight > of(0, 8).weight
    assert of(2, 6).weight == pytest.approx(of(6, 2).weight)


def test_more_attempts_make_it_surer():
    def width(difficulty):
        return difficulty.interval.high - difficulty.interval.low

    assert width(of(40, 40)) < width(of(4, 4)) < width(of(0, 0))


def test_the_interval_holds_its_level():
    low, high = of(3, 5).interval
    assert of(3, 5).below(high) - of(3, 5).below(low) == pytest.approx(0.95)


@given(difficulties, st.floats(0, 1))
def test_what_fades_comes_closer_to_the_prior(difficulty, keep):
    faded = difficulty.faded(keep)
    assert abs(faded.pass_rate - 0.5) <= abs(difficulty.pass_rate - 0.5) + 1e-12
    assert difficulty.faded(0.0).pass_rate == 0.5


@pytest.mark.parametrize("wrong", [(0, 1), (1, -1), (float("nan"), 1), (float("inf"), 1)])
def test_a_prior_that_cannot_be_is_refused(wrong):
    with pytest.raises(UsageError, match="needs two positive numbers"):
        Prior(*wrong)

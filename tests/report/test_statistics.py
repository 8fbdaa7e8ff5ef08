"""Estimates against what can be counted by hand, or comes from elsewhere."""

import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardhub.report.statistics import (
    LEAST_TASKS,
    MANY_TASKS,
    Vote,
    beta_cdf,
    beta_quantile,
    majority_at_k,
    mean_over_tasks,
    pass_at_k,
    wilson,
)

counts = st.integers(1, 8).flatmap(
    lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))
)
shapes = st.floats(0.05, 400.0)


@given(counts)
def test_pass_at_k_is_the_share_of_draws_with_a_right_one(drawn):
    n, right, k = drawn
    draws = list(itertools.combinations([True] * right + [False] * (n - right), k))
    expected = sum(any(draw) for draw in draws) / len(draws)
    assert pass_at_k(n, right, k) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("wrong", [(8, 1, 9), (8, 1, 0), (8, 9, 1), (0, 0, 1)])
def test_pass_at_k_refuses_what_cannot_be_estimated(wrong):
    with pytest.raises(ValueError, match="cannot be estimated"):
        pass_at_k(*wrong)


def drawn_majority(votes, silent, k):
    """Draw every k attempts, and count the votes of each."""
    attempts = [place for place, vote in enumerate(votes) for _ in range(vote.times)]
    attempts += [None] * silent
    total = []
    for draw in itertools.combinations(attempts, k):
        tally = {each: draw.count(each) for each in draw if each is not None}
        top = [each for each in tally if tally[each] == max(tally.values())]
        total.append(sum(votes[each].right for each in top) / len(top) if top else 0.0)
    return sum(total) / len(total)


@settings(max_examples=150)
@given(
    st.lists(st.builds(Vote, st.integers(1, 3), st.sampled_from([0.0, 0.5, 1.0])), max_size=4),
    st.integers(0, 2),
    st.data(),
)
def test_majority_at_k_is_that_of_all_draws(votes, silent, data):
    n = silent + sum(vote.times for vote in votes)
    if n:
        k = data.draw(st.integers(1, n))
        assert majority_at_k(votes, silent, k) == pytest.approx(drawn_majority(votes, silent, k))


def test_a_majority_of_one_is_pass_at_1():
    votes = [Vote(3, 1.0), Vote(4, 0.0)]
    assert majority_at_k(votes, 1, 1) == pytest.approx(pass_at_k(8, 3, 1))


def test_a_majority_needs_attempts():
    with pytest.raises(ValueError, match="majority@2 of 1 attempts"):
        majority_at_k([Vote(1, 1.0)], 0, 2)


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    # From Newcombe 1998, Statistics in Medicine 17, table I, method 3.
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_published_intervals(right, n, low, high):
    assert wilson(right, n) == pytest.approx((low, high), abs=6e-5)


def test_wilson_refuses_what_is_no_share():
    with pytest.raises(ValueError, match="3 of 2 is no share"):
        wilson(3, 2)


def test_an_interval_of_few_tasks_is_unknown():
    assert mean_over_tasks([0.0, 1.0] * (LEAST_TASKS // 2 - 1)) is None


@pytest.mark.parametrize("n", [MANY_TASKS - 1, MANY_TASKS])
def test_an_interval_over_tasks_is_as_wide_as_theory_has_it(n):
    source = random.Random(3)
    values = [source.random() for _ in range(n)]
    low, high = mean_over_tasks(values)
    mean = math.fsum(values) / n
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / n / n)
    expected = (mean - 1.96 * error, mean + 1.96 * error)
    assert (low, high) == pytest.approx(expected, abs=0.15 * error)


def test_an_interval_over_tasks_is_the_same_every_time():
    values = [0.125 * (each % 9) for each in range(40)]
    assert mean_over_tasks(values, seed=1) == mean_over_tasks(values, seed=1)


def test_tasks_that_are_all_alike_do_not_make_it_certain():
    assert mean_over_tasks([0.0] * 10) == wilson(0, 10)


@given(st.floats(0, 1), shapes, shapes)
def test_beta_agrees_with_scipy(x, a, b):
    beta = pytest.importorskip("scipy.stats").beta
    assert beta_cdf(x, a, b) == pytest.approx(float(beta.cdf(x, a, b)), abs=1e-10)


@given(shapes, shapes, st.floats(0.001, 0.999))
def test_a_quantile_has_its_share_below(a, b, share):
    middle = beta_quantile(share, a, b)
    below, above = beta_cdf(middle - 1e-12, a, b), beta_cdf(middle + 1e-12, a, b)
    assert below - 1e-9 <= share <= above + 1e-9


@pytest.mark.parametrize(("a", "b"), [(1e5, 2e5), (0.5, 1e4), (3e3, 0.5)])
def test_beta_holds_for_much_evidence(a, b):
    beta = pytest.importorskip("scipy.stats").beta
    for x in (1e-6, 0.01, 0.3334, 0.9, 0.9999):
        assert beta_cdf(x, a, b) == pytest.approx(float(beta.cdf(x, a, b)), abs=1e-9)


def test_beta_needs_positive_numbers():
    with pytest.raises(ValueError, match="does not exist"):
        beta_cdf(0.5, 0.0, 1.0)

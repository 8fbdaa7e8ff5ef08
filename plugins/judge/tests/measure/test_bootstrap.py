"""Intervals by the bootstrap."""

import math

import pytest
from rewardhub_judge.measure.agreement import mean
from rewardhub_judge.measure.bootstrap import Draws

np = pytest.importorskip("numpy", reason="measuring judges needs numpy")


def draws(rows=100, **more):
    clusters = more.pop("clusters", [str(row) for row in range(rows)])
    return Draws(clusters, **{"resamples": 1000, "seed": 0} | more)


def test_the_interval_of_a_share_is_near_the_one_of_theory():
    found = draws(400).estimate(mean([1] * 280 + [0] * 120, [1] * 400))
    error = 1.96 * math.sqrt(0.7 * 0.3 / 400)
    assert found.value == 0.7
    assert (found.low, found.high) == pytest.approx((0.7 - error, 0.7 + error), abs=0.01)


def test_the_same_seed_draws_the_same_interval_and_another_one_another():
    statistic = mean([row**0.5 for row in range(100)], [1] * 100)
    assert draws().estimate(statistic) == draws().estimate(statistic)
    assert draws().estimate(statistic) != draws(seed=1).estimate(statistic)


def test_rows_of_one_cluster_are_drawn_together():
    statistic = mean([1] * 50 + [0] * 50, [1] * 100)
    apart = draws().estimate(statistic)
    together = draws(clusters=[str(row // 10) for row in range(100)]).estimate(statistic)
    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_every_statistic_sees_the_same_draws():
    seen = ([], [])
    for each in seen:
        draws(5, resamples=20).estimate(
            lambda weights, each=each: each.append(tuple(weights)) or 0.0
        )
    assert seen[0] == seen[1]


def test_the_difference_of_a_judge_to_itself_is_surely_nothing():
    one = mean([1, 0] * 50, [1] * 100)
    found = draws().estimate(lambda weights: one(weights) - one(weights))
    assert (found.value, found.low, found.high) == (0, 0, 0)


def test_what_is_not_defined_has_no_value_and_no_interval():
    found = draws().estimate(lambda weights: math.nan)
    assert (found.value, found.low, found.high) == (None, None, None)


def test_what_is_rarely_defined_has_a_value_and_no_interval():
    found = draws(2).estimate(lambda weights: 1.0 if weights[0] else math.nan)
    assert (found.value, found.low, found.high) == (1.0, None, None)


def test_no_resamples_make_no_interval():
    found = draws(resamples=0).estimate(lambda weights: 0.5)
    assert (found.value, found.low, found.high) == (0.5, None, None)

"""Biases: of the place, of the length, and how far a judge agrees with itself."""

import math
import random

import pytest
from rewardhub_judge.measure.bias import (
    both_orders_agree,
    length_slope,
    prefers_longer,
    prefers_shown_first,
    rank_correlation,
    repeats_agree,
)
from rewardhub_judge.measure.rows import Decisions

np = pytest.importorskip("numpy", reason="measuring judges needs numpy")


def once(statistic, rows):
    return statistic(np.ones(rows, int))


def orders(*pairs):
    return [Decisions(given=(given,), swapped=(swapped,)) for given, swapped in pairs]


def test_a_judge_that_always_takes_the_one_shown_first():
    rows = orders(("first", "second")) * 4
    assert once(prefers_shown_first(rows), 4) == 1
    assert once(both_orders_agree(rows), 4) == 0


def test_a_judge_that_names_the_same_item_in_both_orders_has_no_bias_of_place():
    rows = orders(("first", "first"), ("first", "first"), ("second", "second"))
    assert once(prefers_shown_first(rows), 3) == 0.5
    assert once(both_orders_agree(rows), 3) == 1


def test_ties_say_nothing_of_the_place_and_agree_with_ties():
    rows = orders(("tie", "tie"), ("tie", "first"), ("first", "first"))
    assert once(prefers_shown_first(rows), 3) == pytest.approx(1 / 3)
    assert once(both_orders_agree(rows), 3) == pytest.approx(2 / 3)


def test_an_order_without_a_verdict_is_not_consistent():
    assert once(both_orders_agree(orders((None, None), ("first", None))), 2) == 0


def test_a_judge_that_did_not_see_a_pair_is_not_asked_about_it():
    assert once(both_orders_agree([None, *orders(("first", "first"))]), 2) == 1


def test_repeats_are_compared_within_their_question():
    rows = [(("first", "first"), ("second", "tie")), ((None, None),)]
    assert once(repeats_agree(rows), 2) == pytest.approx(1 / 3)


def test_three_repeats_make_three_comparisons():
    assert once(repeats_agree([((3, 2, 3),)]), 1) == pytest.approx(1 / 3)


def test_how_often_the_longer_one_wins():
    choices = [("first",), ("second",), ("second", "first"), ("tie",), (None,), ("first",)]
    lengths = [(9, 1), (9, 1), (1, 9), (9, 1), (9, 1), (5, 5)]
    assert once(prefers_longer(choices, lengths), 6) == pytest.approx(2 / 4)


def test_pairs_without_lengths_say_nothing_of_length():
    assert math.isnan(once(prefers_longer([("first",)], [None]), 1))


def test_the_slope_is_where_the_likelihood_is_greatest():
    chance = random.Random(4)
    lengths = [(chance.randint(10, 900), chance.randint(10, 900)) for _ in range(80)]
    choices = [
        ("first" if chance.random() < (0.7 if one > other else 0.35) else "second",)
        for one, other in lengths
    ]
    slope = once(length_slope(choices, lengths), 80)

    def likelihood(b):
        total = 0.0
        for (choice,), (one, other) in zip(choices, lengths, strict=True):
            x = math.log2((one + 1) / (other + 1))
            share = 1 / (1 + math.exp(-b * x))
            total += math.log(share if choice == "first" else 1 - share)
        return total

    assert slope > 0
    assert likelihood(slope) > max(likelihood(slope - 1e-3), likelihood(slope + 1e-3))


def test_the_slope_does_not_hang_on_which_item_is_called_the_first():
    lengths = [(10, 40), (30, 20), (8, 64), (50, 51)]
    choices = [("second",), ("first",), ("first",), ("second",)]
    other = {"first": "second", "second": "first"}
    turned = length_slope([(other[c],) for (c,) in choices], [(b, a) for a, b in lengths])
    assert once(length_slope(choices, lengths), 4) == pytest.approx(once(turned, 4))


def test_length_that_separates_all_decisions_has_no_slope():
    assert math.isnan(once(length_slope([("first",), ("second",)], [(9, 1), (1, 9)]), 2))


def slow_spearman(one, other):
    """Correlate middle ranks, each found by counting."""

    def ranks(values):
        return [
            sum(v < value for v in values) + (sum(v == value for v in values) + 1) / 2
            for value in values
        ]

    return np.corrcoef(ranks(one), ranks(other))[0, 1]


def test_rank_correlation_is_that_of_the_slow_reference():
    chance = random.Random(5)
    one = [chance.randint(1, 5) for _ in range(40)]
    other = [value + chance.randint(-2, 2) for value in one]
    expected = slow_spearman(one, other)
    assert once(rank_correlation(one, other), 40) == pytest.approx(expected)


def test_a_row_that_weighs_two_is_ranked_twice():
    chance = random.Random(6)
    rows = [(chance.randint(1, 5), chance.randint(1, 5)) for _ in range(20)]
    weights = np.array([chance.randint(0, 3) for _ in rows])
    repeated = [row for row, count in zip(rows, weights, strict=True) for _ in range(count)]
    found = rank_correlation(*zip(*rows, strict=True))(weights)
    assert found == pytest.approx(slow_spearman(*zip(*repeated, strict=True)))


def test_rank_correlation_leaves_out_rows_without_a_value():
    assert once(rank_correlation([1, None, 2, 3], [1, 9, 2, None]), 4) == pytest.approx(1)


@pytest.mark.parametrize("one", [[1, 1, 1], [None, None, None], [1, None, None]])
def test_rank_correlation_with_what_never_changes_is_not_defined(one):
    assert math.isnan(once(rank_correlation(one, [1, 2, 3]), 3))

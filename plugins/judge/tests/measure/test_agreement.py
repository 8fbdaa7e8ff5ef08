"""Agreement: figures of the literature, and slow references."""

import itertools
import math
import random

import pytest
from rewardhub_judge.measure.agreement import alpha, kappa, mean

np = pytest.importorskip("numpy", reason="measuring judges needs numpy")


def once(statistic, rows):
    return statistic(np.ones(rows, int))


# Krippendorff (2011), section C: four observers, twelve units, values that are missing.
FOUR_OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
UNITS = [
    [value for value in unit if value is not None] for unit in zip(*FOUR_OBSERVERS, strict=True)
]


@pytest.mark.parametrize(
    ("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_is_that_of_krippendorffs_own_example(level, value):
    assert once(alpha(UNITS, level), 12) == pytest.approx(value, abs=5e-4)


def test_alpha_of_two_observers_with_nominal_values_is_that_of_krippendorffs_example():
    # Krippendorff (2011), section B: two observers, words.
    one = ["a", "a", "b", "b", "d", "c", "c", "c", "e", "d", "d", "a"]
    other = ["b", "a", "b", "b", "b", "c", "c", "c", "e", "d", "d", "d"]
    assert once(alpha(list(zip(one, other, strict=True))), 12) == pytest.approx(0.692, abs=5e-4)


def test_kappa_is_that_of_cohens_own_example():
    # Cohen (1960), table 1, as counts of 200.
    table = [[88, 14, 18], [10, 40, 10], [2, 6, 12]]
    rows = [[(a, b)] * table[a][b] for a in range(3) for b in range(3)]
    assert once(kappa(rows), 9) == pytest.approx(0.492, abs=5e-4)


def slow_alpha(units, level):
    """Compare each two values of a unit, and each two values of all."""
    values = [value for unit in units if len(unit) > 1 for value in unit]

    def apart(a, b):
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return (a - b) ** 2
        low, high = min(a, b), max(a, b)
        between = sum(low <= value <= high for value in values)
        return (between - (values.count(a) + values.count(b)) / 2) ** 2 if a != b else 0.0

    observed = sum(
        apart(a, b) / (len(unit) - 1)
        for unit in units
        if len(unit) > 1
        for a, b in itertools.permutations(unit, 2)
    )
    expected = sum(apart(a, b) for a, b in itertools.permutations(values, 2))
    return 1 - (len(values) - 1) * observed / expected


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("seed", range(5))
def test_alpha_is_that_of_the_slow_reference(level, seed):
    chance = random.Random(seed)
    units = [[chance.choice([1, 2, 3, 5]) for _ in range(chance.randint(0, 4))] for _ in range(20)]
    assert once(alpha(units, level), 20) == pytest.approx(slow_alpha(units, level))


def slow_kappa(pairs, weighting):
    def apart(a, b):
        return {"none": float(a != b), "linear": abs(a - b), "quadratic": (a - b) ** 2}[weighting]

    observed = sum(apart(a, b) for a, b in pairs) / len(pairs)
    expected = sum(apart(a, b) for a, _ in pairs for _, b in pairs) / len(pairs) ** 2
    return 1 - observed / expected


@pytest.mark.parametrize("weighting", ["none", "linear", "quadratic"])
def test_kappa_is_that_of_the_slow_reference(weighting):
    chance = random.Random(1)
    pairs = [(chance.randint(1, 5), chance.randint(1, 5)) for _ in range(60)]
    value = once(kappa([[pair] for pair in pairs], weighting), 60)
    assert value == pytest.approx(slow_kappa(pairs, weighting))


@pytest.mark.parametrize("make", [lambda rows: alpha(rows, "ordinal"), kappa])
def test_a_row_that_weighs_two_counts_as_two_rows(make):
    chance = random.Random(2)
    rows = [(chance.randint(1, 3), chance.randint(1, 3)) for _ in range(12)]
    weights = np.array([chance.randint(0, 3) for _ in rows])
    repeated = [row for row, count in zip(rows, weights, strict=True) for _ in range(count)]

    def shaped(rows):
        return [[row] for row in rows] if make is kappa else rows

    assert make(shaped(rows))(weights) == pytest.approx(once(make(shaped(repeated)), len(repeated)))


@pytest.mark.parametrize(
    "statistic",
    [
        alpha([[], []]),
        alpha([["a", "a"], ["a", "a"]]),
        alpha([["a"], ["b"]]),
        kappa([[], []]),
        kappa([[("a", "a")], [("a", "a")]]),
        mean([0, 0], [0, 0]),
    ],
    ids=["alpha-nothing", "alpha-one-value", "alpha-alone", "kappa-nothing", "kappa-one", "mean"],
)
def test_what_is_not_defined_is_nan(statistic):
    assert math.isnan(statistic(np.ones(2, int)))


def test_kappa_of_opposite_answers_is_minus_one():
    rows = [[("a", "b")], [("b", "a")]] * 5
    assert once(kappa(rows), 10) == pytest.approx(-1)


def test_words_are_all_equally_far_apart():
    rows = [[("a", "b")], [("b", "c")], [("c", "c")]]
    assert once(kappa(rows, "quadratic"), 3) == once(kappa(rows), 3)

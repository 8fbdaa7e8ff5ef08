from fractions import Fraction

import pytest
from rewardhub_math.units import read_label


def test_knows_the_size_of_a_unit() -> None:
    label = read_label("cm", apart=True)
    assert label is not None
    assert label.unit is not None
    assert label.unit.size == Fraction(1, 100)


def test_raises_a_unit_to_its_power() -> None:
    label = read_label("cm^2", apart=True)
    assert label is not None
    assert label.unit is not None
    assert label.unit.size == Fraction(1, 10_000)
    assert label == read_label("square centimeters", apart=True)


def test_counts_in_millions() -> None:
    label = read_label("million dollars", apart=True)
    assert label is not None
    assert label.factor == 10**6


@pytest.mark.parametrize("text", ["m", "x", "t"])
def test_takes_a_letter_at_a_number_for_a_variable(text: str) -> None:
    assert read_label(text, apart=False) is None


@pytest.mark.parametrize("text", ["or 8", "is not right", "not", "if x", "squared", "pi"])
def test_does_not_take_a_statement_for_a_unit(text: str) -> None:
    assert read_label(text, apart=True, in_text=True) is None

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewardhub_math.exact import magnitude, read_decimal_comma, read_number, same_number
from rewardhub_math.tidy import tidy

VALUES = {
    "42": 42,
    "-5": -5,
    "+5": 5,
    "- 5": -5,
    "042": 42,
    "3.0": 3,
    ".5": Fraction(1, 2),
    "1,234,567": 1234567,
    "1 000": 1000,
    "1/2": Fraction(1, 2),
    "-1/2": Fraction(-1, 2),
    r"\frac{-1}{2}": Fraction(-1, 2),
    r"\frac{1}{-2}": Fraction(-1, 2),
    "1 4/5": Fraction(9, 5),
    r"-1\frac{4}{5}": Fraction(-9, 5),
    "1e3": 1000,
    "1E-3": Fraction(1, 1000),
    r"1.5\times 10^{10}": 15 * 10**9,
    "1.5*10^10": 15 * 10**9,
    "10^{-2}": Fraction(1, 100),
    r"0.\overline{3}": Fraction(1, 3),
    r"0.1\overline{6}": Fraction(1, 6),
    "0.(3)": Fraction(1, 3),
    "(5)": 5,
    "5 million": 5_000_000,
    "$1,000.50": Fraction(2001, 2),
    "12 apples": 12,
    r"\approx 3.14": Fraction(314, 100),
    "204_5": 54,
    "0xFF": 255,
    "1010 base 2": 10,
}
NOT_PLAIN = ["", "x", r"\pi", "2t", "2xy", "1/0", "1--2", "7 8", "1,2", "1,22", "12_a", "9_5", "5?"]


@pytest.mark.parametrize(("text", "value"), VALUES.items())
def test_reads_a_number_exactly(text: str, value: Fraction) -> None:
    number = read_number(tidy(text))
    assert number is not None
    assert number.value == value


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_leaves_what_is_no_plain_number(text: str) -> None:
    assert read_number(tidy(text)) is None


SAME = [
    ("0.333333", "1/3"),
    ("0.3333333333", "1/3"),
    ("0.30000000000000004", "0.3"),
    ("99.99999999", "100"),
    ("1.2676506e30", "1267650600228229401496703205376"),
    ("1e-9", "0.000000001"),
    ("50%", "0.5"),
    ("50%", "50"),
    ("5 ft", "60 inches"),
    ("5 m", "5"),
    ("$0.054", "5.4 cents"),
    ("204_5", "204"),
]
DIFFERENT = [
    ("0.333", "1/3"),
    ("3.14", "3.14159"),
    ("1e-9", "2e-9"),
    ("0", "1e-12"),
    ("16386.16", "16386.17"),
    ("1000000.4", "1000000"),
    ("12345678", "12345679"),
    ("0.5%", "0.5"),
    ("5 m", "5 ft"),
    ("5 cm", "5 m"),
    ("$5", "5 euros"),
    ("204_5", "204_7"),
    ("204_5", "54"),
    ("54_{10}", "204_5"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_calls_two_ways_to_write_a_number_the_same(one: str, other: str) -> None:
    assert _same(one, other)
    assert _same(other, one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_tells_numbers_apart(one: str, other: str) -> None:
    assert not _same(one, other)
    assert not _same(other, one)


def test_compares_to_as_many_digits_as_asked() -> None:
    assert _same("0.33", "1/3", precision=2)
    assert not _same("0.33", "1/3", precision=3)


def test_takes_a_lone_comma_for_a_decimal_point_where_asked() -> None:
    number = read_decimal_comma("2,74")
    assert number is not None
    assert number.value == Fraction(274, 100)
    assert read_decimal_comma("2, 74") is None
    assert read_decimal_comma("1,2,3") is None


@given(st.integers(-(10**30), 10**30))
def test_reads_back_any_integer(value: int) -> None:
    for text in (str(value), f"{value:,}", f"${value}$", f"{value}.0"):
        number = read_number(tidy(text))
        assert number is not None
        assert number.value == value


@given(st.fractions(max_denominator=10**6))
def test_reads_back_any_fraction(value: Fraction) -> None:
    number = read_number(tidy(rf"\dfrac{{{value.numerator}}}{{{value.denominator}}}"))
    assert number is not None
    assert number.value == value


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e300, 1e300))
def test_compares_floats_the_same_both_ways_round(one: float, other: float) -> None:
    assert _same(repr(one), repr(one))
    assert _same(repr(one), repr(other)) == _same(repr(other), repr(one))


@given(st.integers(-9999, 9999), st.integers(1, 999), st.integers(0, 9))
def test_compares_numbers_of_any_size(exponent: int, mantissa: int, more: int) -> None:
    one, other = f"{mantissa}e{exponent}", f"{mantissa + more}e{exponent}"
    assert _same(one, other) == (more == 0)
    assert _same(one, rf"{mantissa}\times 10^{{{exponent}}}")


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_finds_the_power_of_ten_of_the_first_digit(value: Fraction) -> None:
    assert Fraction(10) ** magnitude(value) <= value < Fraction(10) ** (magnitude(value) + 1)


def _same(one: str, other: str, precision: int = 6) -> bool:
    a, b = read_number(tidy(one)), read_number(tidy(other))
    assert a is not None, one
    assert b is not None, other
    return same_number(a, b, precision)

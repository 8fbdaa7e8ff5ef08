from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from rewardhub.expression import ExpressionError, parse


def result(text: str, *, dotted: bool = False, **values: float | str) -> float | bool:
    return parse(text, dotted=dotted).evaluate(values)


def mistake(
    text: str, values: Mapping[str, float | str], *, dotted: bool = False
) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        parse(text, dotted=dotted).evaluate(values)
    return caught.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b", 0.75),
        ("a - b", -0.25),
        ("a * b", 0.125),
        ("a / b", 0.5),
        ("-a", -0.25),
        ("min(a, b, 1)", 0.25),
        ("max(a, b, 0)", 0.5),
        ("abs(a - b)", 0.25),
        ("2 * (a + b) - 1", 0.5),
    ],
)
def test_computes_a_formula(text: str, expected: float) -> None:
    assert result(text, a=0.25, b=0.5) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b", True),
        ("a > b", False),
        ("a != b", True),
        ("a == b", False),
        ("a <= 0.25", True),
        ("a >= 0.25", True),
        ("a > 0 and b > 0", True),
        ("a > 1 or b > 1", False),
        ("not a > 1", True),
        ("true", True),
        ("false or true", True),
    ],
)
def test_decides_a_condition(text: str, expected: bool) -> None:
    assert result(text, a=0.25, b=0.5) is expected


@pytest.mark.parametrize("offset", [-9e-10, 0.0, 9e-10])
def test_numbers_within_the_tolerance_are_equal(offset: float) -> None:
    a = 0.5 + offset
    assert result("a == 0.5", a=a) is True
    assert result("a >= 0.5", a=a) is True
    assert result("a <= 0.5", a=a) is True
    assert result("a != 0.5", a=a) is False
    assert result("a > 0.5", a=a) is False
    assert result("a < 0.5", a=a) is False


def test_numbers_outside_the_tolerance_differ() -> None:
    above = 0.5 + 2e-9
    assert result("a == 0.5", a=above) is False
    assert result("a > 0.5", a=above) is True
    assert result("a <= 0.5", a=above) is False


def test_a_sum_of_tenths_reaches_one() -> None:
    assert result("a + b + c >= 1", a=0.7, b=0.2, c=0.1) is True


def test_a_formula_of_bools_is_a_float() -> None:
    value = result("a", a=True)
    assert type(value) is float
    assert value == 1.0


def test_division_by_zero_points_at_the_division() -> None:
    error = mistake("1 + 1 / a", {"a": 0.0})
    assert error.position == 6
    assert "zero" in error.problem


def test_a_missing_name_brings_the_nearest_one() -> None:
    error = mistake("style > 0 and tets == 1", {"style": 1.0, "tests": 1.0})
    assert error.position == 14
    assert "`tets`" in error.problem
    assert "Did you mean `tests`?" in error.problem


@pytest.mark.parametrize("text", ["a > 0 or b > 0", "a < 0 and b > 0", "not (a > 0 or b > 0)"])
def test_reads_every_name_even_where_the_result_is_clear(text: str) -> None:
    assert "`b`" in mistake(text, {"a": 1.0}).problem


def test_reads_both_sides_even_where_one_cannot_be_computed() -> None:
    assert "zero" in mistake("a > 0 or 1 / b > 0", {"a": 1.0, "b": 0.0}).problem


@pytest.mark.parametrize("text", ["a * 1e308 * 1e308", "a * 1e308 * 10 - a * 1e308 * 10"])
def test_a_result_that_is_no_number_is_an_error(text: str) -> None:
    mistake(text, {"a": 1.0})


@pytest.mark.parametrize("comparison", ["==", "!=", "<", "<=", ">", ">="])
def test_what_is_not_a_number_does_not_compare(comparison: str) -> None:
    assert "not a number" in mistake(f"a {comparison} 1", {"a": float("nan")}).problem


def test_an_integer_beyond_floats_is_an_error() -> None:
    assert "larger" in mistake("a + 0.5", {"a": 10**400}).problem


def test_text_is_equal_to_itself_only() -> None:
    assert result("level == 'hard'", dotted=True, level="hard") is True
    assert result("level == 'hard'", dotted=True, level="easy") is False
    assert result("level != 'hard'", dotted=True, level="easy") is True
    assert result('"hard" == level', dotted=True, level="hard") is True


def test_text_never_equals_a_number() -> None:
    assert result("level == 1", dotted=True, level="1") is False
    assert result("level == '1'", dotted=True, level=1.0) is False
    assert result("level != 1", dotted=True, level="1") is True


def test_two_fields_compare_as_what_they_hold() -> None:
    assert result("one == other", dotted=True, one="x", other="x") is True
    assert result("one == other", dotted=True, one=0.1 + 0.2, other=0.3) is True


@pytest.mark.parametrize(
    "text", ["t.level > 1", "t.level + 1", "max(t.level, 1)", "t.level", "-t.level"]
)
def test_text_where_a_number_is_needed_is_an_error(text: str) -> None:
    error = mistake(text, {"t.level": "hard"}, dotted=True)
    assert "`t.level` holds 'hard'" in error.problem
    assert error.position == text.index("t.level")


EIGHTHS = st.integers(-16, 16).map(lambda eighths: eighths / 8)
ATOMS = st.sampled_from(["a", "b", "c", "0.5", "1", "2", "0.125"])


def _chains(atoms: SearchStrategy[str]) -> SearchStrategy[str]:
    """Join operands without parentheses, so that only precedence decides."""
    chain = st.lists(
        st.tuples(st.sampled_from([" + ", " - ", " * "]), st.sampled_from(["", "-"]), atoms),
        min_size=1,
        max_size=4,
    ).map(lambda parts: "".join("".join(part) for part in parts)[3:])
    return st.one_of(
        chain,
        chain.map("({})".format),
        chain.map("abs({})".format),
        st.tuples(st.sampled_from(["min", "max"]), chain, chain).map(
            lambda it: "{}({}, {})".format(*it)
        ),
    )


CHAINS = st.recursive(ATOMS, _chains, max_leaves=10)
COMPARISONS = st.tuples(
    st.sampled_from(["", "not "]),
    CHAINS,
    st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
    CHAINS,
).map(" ".join)
CONDITIONS = st.lists(
    st.tuples(st.sampled_from([" and ", " or "]), COMPARISONS), min_size=1, max_size=4
).map(lambda parts: "".join("".join(part) for part in parts).split(maxsplit=1)[1])


@given(text=CHAINS | CONDITIONS, a=EIGHTHS, b=EIGHTHS, c=EIGHTHS)
def test_agrees_with_python_where_floats_are_exact(text: str, a: float, b: float, c: float) -> None:
    values = {"a": a, "b": b, "c": c}
    assert parse(text).evaluate(values) == eval(text, {}, values)

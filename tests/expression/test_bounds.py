from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from rewardhub.expression import Expression, ExpressionError, Interval, interval, parse


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("a", 0, 1),
        ("0.25", 0.25, 0.25),
        ("-a", -1, 0),
        ("a + b", 0, 2),
        ("a - b", -1, 1),
        ("(a + b) / 2", 0, 1),
        ("2 * a * b", 0, 2),
        ("1 / (1 + a)", 0.5, 1),
        ("min(a, 0.5)", 0, 0.5),
        ("max(a, 0.5, b)", 0.5, 1),
        ("abs(a - 0.25)", 0, 0.75),
        ("abs(a + 1)", 1, 2),
        ("abs(-a - 1)", 1, 2),
    ],
)
def test_bounds_a_formula(text: str, low: float, high: float) -> None:
    assert interval(parse(text)) == Interval(low, high)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("a * (1 - b) + b", 0, 1), ("a - a", 0, 0), ("a / (1 + a)", 0, 0.5), ("b - a * b", 0, 1)],
)
def test_a_name_that_appears_twice_counts_once(text: str, low: float, high: float) -> None:
    found = interval(parse(text))
    assert abs(found.low - low) <= 1e-9
    assert abs(found.high - high) <= 1e-9


def test_uses_the_bounds_that_are_given() -> None:
    assert interval(parse("a + b"), {"a": (2, 3)}) == Interval(2, 4)


def test_ignores_bounds_of_other_names() -> None:
    assert interval(parse("a"), {"b": (2, 3)}) == Interval(0, 1)


def test_refuses_bounds_that_are_no_interval() -> None:
    with pytest.raises(ValueError, match="No interval"):
        interval(parse("a"), {"a": (1, 0)})


@pytest.mark.parametrize("text", ["1 / a", "1 / (a - b)", "1 + a / (b - 0.5)", "1 / 0"])
def test_refuses_a_division_by_what_can_be_zero(text: str) -> None:
    with pytest.raises(ExpressionError, match="divisor can be 0") as caught:
        interval(parse(text))
    assert caught.value.position == text.index("/")


def test_divides_by_what_bounds_keep_from_zero() -> None:
    assert interval(parse("1 / a"), {"a": (0.5, 1)}) == Interval(1, 2)


@pytest.mark.parametrize("text", ["a * 1e308 + b * 1e308", "a * 1e200 * 1e200", "1 / (a + 1e-320)"])
def test_refuses_what_outgrows_a_float(text: str) -> None:
    with pytest.raises(ExpressionError, match="larger than a float"):
        interval(parse(text))


def test_refuses_a_condition() -> None:
    with pytest.raises(ExpressionError, match="only formulas"):
        interval(parse("a > 0"))


@given(data=st.data())
def test_every_value_lies_inside(
    data: st.DataObject, formulas: SearchStrategy[str], points: SearchStrategy[dict[str, float]]
) -> None:
    expression = parse(data.draw(formulas))
    found = interval_or_none(expression, {})
    assume(found)
    assert_inside(found, expression.evaluate(data.draw(points)))


@given(data=st.data())
def test_every_value_lies_inside_for_any_bounds(
    data: st.DataObject, formulas: SearchStrategy[str]
) -> None:
    number = st.floats(-3, 3)
    bounds = {
        name: (min(it), max(it)) for name in "abc" if (it := data.draw(st.tuples(number, number)))
    }
    expression = parse(data.draw(formulas))
    found = interval_or_none(expression, bounds)
    assume(found)
    point = {name: data.draw(st.floats(low, high)) for name, (low, high) in bounds.items()}
    assert_inside(found, expression.evaluate(point))


def interval_or_none(
    expression: Expression, bounds: dict[str, tuple[float, float]]
) -> Interval | None:
    try:
        return interval(expression, bounds)
    except ExpressionError:
        return None


def assert_inside(found: Interval | None, value: float) -> None:
    assert found is not None
    slack = 1e-9 * max(1.0, abs(found.low), abs(found.high))
    assert found.low - slack <= value <= found.high + slack

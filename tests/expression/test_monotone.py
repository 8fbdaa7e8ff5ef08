from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from rewardhub.expression import ExpressionError, parse, why_not_monotone


def why(text: str, **bounds: tuple[float, float]) -> str | None:
    return why_not_monotone(parse(text), bounds)


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "0.5",
        "0.3 * a + 0.7 * b",
        "a * b",
        "a - 0.5",
        "-(-a)",
        "1 - (1 - a) * (1 - b)",
        "a * (1 - b) + b",
        "a / (1 + a)",
        "a / 2",
        "1 / (2 - a)",
        "min(a, b, 0.5)",
        "max(a, 0)",
        "max(0, min(1, 2 * a - 0.5))",
        "abs(a)",
        "abs(a - 2) * -1",
        "min(a, 2 - b)",
        "max(a, -b)",
        "a - a",
    ],
)
def test_accepts_a_formula_that_never_falls(text: str) -> None:
    assert why(text) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("1 - a", "a"),
        ("a - 0.5 * b", "b"),
        ("abs(a - 0.5)", "a"),
        ("1 / (1 + b)", "b"),
        ("min(a, 1 - b)", "b"),
        ("max(a, 0.5 - a)", "a"),
        ("a * (b - 1)", "a"),
        ("a * (a - 1)", "a"),
    ],
)
def test_refuses_a_formula_that_can_fall_and_names_the_part(text: str, name: str) -> None:
    reason = why(text)
    assert reason is not None
    assert f"as `{name}` rises" in reason
    assert "monotone: false" in reason


@pytest.mark.parametrize(
    "text",
    [
        "tests == 1",
        "1 == tests",
        "tests >= 0.5",
        "tests > 0",
        "0.5 <= tests",
        "0 < tests",
        "a == 1 and (b > 0 or c >= 0.25)",
        "a + b == 2",
        "min(a, b) == 1",
        "a - 1 == 0",
        "a >= 1 - b",
        "true",
        "not 1 > 2",
        "1 != 2 and a > 0",
    ],
)
def test_accepts_a_condition_that_never_turns_false(text: str) -> None:
    assert why(text) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a == 0.5", "Compare by `>=`"),
        ("a == b", "Compare by `>=`"),
        ("a == 0", "`==`"),
        ("a < 0.5", "`<`"),
        ("a <= 0.5", "`<=`"),
        ("0.5 > a", "`>`"),
        ("b > a", "as `a` rises"),
        ("a > 0 and b < 1", "`b`"),
        ("a > 1 - b or a + c < 1", "`a`"),
        ("not a > 0", "`not`"),
        ("not a < 0.5", "`not`"),
        ("a != 1", "`!=`"),
    ],
)
def test_refuses_a_condition_that_can_turn_false(text: str, says: str) -> None:
    reason = why(text)
    assert reason is not None
    assert says in reason
    assert "monotone: false" in reason


def test_the_upper_end_comes_from_the_bounds() -> None:
    assert why("a == 2", a=(0, 2)) is None
    assert why("a == 1", a=(0, 2)) is not None


def test_the_signs_come_from_the_bounds() -> None:
    assert why("a * b", a=(-1, 1)) is not None
    assert why("a * b", a=(0.5, 1)) is None


def test_refuses_to_order_text() -> None:
    reason = why_not_monotone(parse("task.level == 'hard'", dotted=True))
    assert reason is not None
    assert "no order" in reason


@pytest.mark.parametrize(
    "text", ["1 / a", "1 / a > 0.5", "not 1 / a > 0.5", "b > 0 or 1 / (a - 0.5) == 1"]
)
def test_a_division_by_what_can_be_zero_is_an_error_everywhere(text: str) -> None:
    with pytest.raises(ExpressionError, match="divisor can be 0"):
        why(text)


RISING = st.recursive(
    st.sampled_from(["a", "b", "c", "0", "0.5", "1", "2"]),
    lambda grown: st.one_of(
        st.tuples(grown, st.sampled_from("+*"), grown).map(lambda it: "({}{}{})".format(*it)),
        st.tuples(st.sampled_from(["min", "max"]), grown, grown).map(
            lambda it: "{}({}, {})".format(*it)
        ),
    ),
    max_leaves=8,
)


@given(text=RISING)
def test_accepts_sums_products_and_choices_of_what_rises(text: str) -> None:
    assert why(text) is None


# About a third of random expressions are monotone: too few for the default patience.
@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_what_passes_never_falls_as_one_value_rises(
    data: st.DataObject,
    formulas: SearchStrategy[str],
    conditions: SearchStrategy[str],
    points: SearchStrategy[dict[str, float]],
) -> None:
    expression = parse(data.draw(formulas | conditions))
    try:
        reason = why_not_monotone(expression)
    except ExpressionError:
        reason = "it divides by what can be 0"
    assume(reason is None)
    assume(expression.names)
    before = data.draw(points)
    name = data.draw(st.sampled_from(expression.names))
    after = {**before, name: data.draw(st.floats(before[name], 1) | st.just(1.0))}
    low, high = expression.evaluate(before), expression.evaluate(after)
    slack = 0.0 if expression.is_condition else 1e-9 * max(1.0, abs(low))
    assert high >= low - slack

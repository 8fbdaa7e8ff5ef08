from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.expression import Interval
from rewardhub.expression.intervals import hull

NUMBERS = st.floats(-1e6, 1e6)
DIVISORS = st.tuples(st.floats(1e-3, 1e6), st.floats(1e-3, 1e6)).map(
    lambda ends: Interval(min(ends), max(ends))
)
INTERVALS = st.tuples(NUMBERS, NUMBERS).map(lambda ends: Interval(min(ends), max(ends)))


@pytest.mark.parametrize(
    ("low", "high"),
    [(1.0, 0.0), (math.nan, 1.0), (0.0, math.nan), (0.0, math.inf), (-math.inf, 0.0)],
)
def test_refuses_what_is_no_interval(low: float, high: float) -> None:
    with pytest.raises(ValueError, match="No interval"):
        Interval(low, high)


def test_refuses_to_divide_by_what_holds_zero() -> None:
    with pytest.raises(ZeroDivisionError):
        _ = Interval(1.0, 2.0) / Interval(-1.0, 1.0)


@given(left=INTERVALS, right=INTERVALS, data=st.data())
def test_holds_every_result(left: Interval, right: Interval, data: st.DataObject) -> None:
    x = data.draw(st.floats(left.low, left.high))
    y = data.draw(st.floats(right.low, right.high))
    assert -x in -left
    assert x + y in left + right
    assert x - y in left - right
    assert x * y in left * right


@given(left=INTERVALS, right=DIVISORS, data=st.data())
def test_holds_every_quotient(left: Interval, right: Interval, data: st.DataObject) -> None:
    x = data.draw(st.floats(left.low, left.high))
    y = data.draw(st.floats(right.low, right.high))
    assert x / y in left / right
    assert x / -y in left / -right


@given(one=INTERVALS, other=INTERVALS)
def test_hull_holds_both_and_ends_on_them(one: Interval, other: Interval) -> None:
    both = hull(one, other)
    assert {one.low, one.high, other.low, other.high} >= {both.low, both.high}
    assert all(end in both for end in (one.low, one.high, other.low, other.high))

"""Random expressions over the names a, b and c, as text."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

NUMBERS = st.sampled_from(["0", "0.1", "0.125", "0.3", "0.5", "1", "1.5", "2", "3"])
NAMES = st.sampled_from(["a", "b", "c"])


def _grown(formulas: SearchStrategy[str]) -> SearchStrategy[str]:
    several = st.lists(formulas, min_size=1, max_size=3).map(", ".join)
    return st.one_of(
        st.tuples(formulas, st.sampled_from("+-*/"), formulas).map(
            lambda it: "({}{}{})".format(*it)
        ),
        st.tuples(st.sampled_from(["min", "max"]), several).map(lambda it: "{}({})".format(*it)),
        formulas.map("abs({})".format),
        formulas.map("(-{})".format),
    )


def _joined(conditions: SearchStrategy[str]) -> SearchStrategy[str]:
    return st.one_of(
        st.tuples(conditions, st.sampled_from(["and", "or"]), conditions).map(
            lambda it: "({} {} {})".format(*it)
        ),
        conditions.map("(not {})".format),
    )


@pytest.fixture(scope="session")
def formulas() -> SearchStrategy[str]:
    return st.recursive(NAMES | NUMBERS, _grown, max_leaves=8)


@pytest.fixture(scope="session")
def conditions(formulas: SearchStrategy[str]) -> SearchStrategy[str]:
    orders = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
    comparisons = st.tuples(formulas, orders, formulas).map(lambda it: "({} {} {})".format(*it))
    return st.recursive(comparisons | st.sampled_from(["true", "false"]), _joined, max_leaves=4)


@pytest.fixture(scope="session")
def points() -> SearchStrategy[dict[str, float]]:
    """Values on a coarse grid or anywhere in [0, 1]."""
    value = st.integers(0, 8).map(lambda eighths: eighths / 8) | st.floats(0, 1)
    return st.fixed_dictionaries({"a": value, "b": value, "c": value})

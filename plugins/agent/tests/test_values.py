from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewardhub_agent.values import MISSING, at, canonical, names_of, pointer, same_leaf, sha256

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_the_order_of_fields_and_the_form_of_numbers_do_not_change_the_hash() -> None:
    assert sha256({"a": 1, "b": [2.0]}) == sha256({"b": (2,), "a": 1.0})
    assert sha256({"a": 1}) != sha256({"a": True})
    assert sha256({"a": 1}) != sha256({"a": "1"})
    assert sha256([1, 2]) != sha256([2, 1])


@given(JSON, JSON)
def test_equal_values_and_no_others_share_a_canonical_text(one: Any, other: Any) -> None:
    from rewardhub_agent.differences import Comparison

    same = not Comparison().differences(one, other)
    assert (canonical(one) == canonical(other)) == same


def test_numbers_are_equal_within_the_tolerance() -> None:
    assert same_leaf(1, 1.0)
    assert same_leaf(1.0, 1.05, 0.1)
    assert not same_leaf(1.0, 1.2, 0.1)
    assert not same_leaf(1, True)
    assert not same_leaf(0, None)
    assert not same_leaf(10**400, 0.5, 0.1)


@given(st.lists(st.text(), max_size=4))
def test_a_path_reads_back(names: list[str]) -> None:
    assert names_of(pointer(*names)) == tuple(names)


def test_finds_what_stands_at_a_path() -> None:
    value = {"a/b": [{"c": None}]}
    assert at(value, "/a~1b/0/c") is None
    assert at(value, "") == value
    assert at(value, "/a~1b/1") is MISSING
    assert at(value, "/x/y") is MISSING


def test_refuses_a_path_that_is_none() -> None:
    with pytest.raises(ValueError, match="JSON Pointer"):
        names_of("orders.0")

from typing import Any

import pytest
from rewardhub_agent.differences import Comparison


def paths(expected: Any, got: Any, **how: Any) -> list[str]:
    return [each.path for each in Comparison(**how).differences(expected, got)]


def test_names_each_place() -> None:
    assert paths({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3, "d": 4}}) == ["/a/c", "/a/d"]
    assert paths([1, 2, 3], [1, 9]) == ["/1", "/2"]
    assert paths({"a": {"b": {"c": 1, "d": 2}}}, {"a": {}}) == ["/a/b/c", "/a/b/d"]


def test_says_what_was_expected_and_what_came() -> None:
    found = [each.as_json() for each in Comparison().differences({"a": 1}, {"b": 2})]
    assert found == [{"path": "/a", "expected": 1}, {"path": "/b", "got": 2}]


def test_null_is_not_the_same_as_nothing() -> None:
    assert paths({"a": None}, {}) == ["/a"]


def test_a_container_is_not_another_kind_of_container() -> None:
    assert paths({"a": {}}, {"a": []}) == ["/a"]
    assert paths({"a": {"b": 1}}, {"a": 1}) == ["/a"]


def test_what_is_ignored_does_not_count_on_either_side() -> None:
    ignore = ["/orders/*/at", "/log"]
    expected = {"orders": [{"id": 1, "at": 1}], "log": [1]}
    assert paths(expected, {"orders": [{"id": 1}]}, ignore=ignore) == []
    assert paths(expected, {"orders": [{"id": 2, "at": 2}]}, ignore=ignore) == ["/orders/0/id"]


def test_a_list_without_order_is_compared_as_a_bag() -> None:
    assert paths([1, 2, 2], [2, 1, 2], unordered=[""]) == []
    assert paths([1, 2, 2], [2, 1, 1], unordered=[""]) == ["/2", "/2"]
    assert paths({"a": [[1, 2]]}, {"a": [[2, 1]]}, unordered=["/a"]) == ["/a/0/0", "/a/0/1"] * 2
    assert paths({"a": [[1, 2]]}, {"a": [[2, 1]]}, unordered=["/a/*"]) == []


def test_a_list_without_order_is_paired_within_the_tolerance() -> None:
    assert paths([1.0, 2.0], [2.01, 1.01], unordered=[""], tolerance=0.1) == []
    assert paths([1.0, 1.1], [1.05, 0.95], unordered=[""], tolerance=0.06) == []


def test_long_lists_without_order_are_told_apart_item_by_item_only_if_that_is_cheap() -> None:
    many = list(range(1000))
    assert paths(many, many[::-1], unordered=[""]) == []
    assert len(paths(many, [each + 0.5 for each in many], unordered=[""], tolerance=0.6)) == 2000


@pytest.mark.parametrize("unordered", [[], ["/orders"]])
def test_the_reduced_value_is_what_is_hashed(unordered: list[str]) -> None:
    comparison = Comparison(ignore=["/orders/*/at"], unordered=unordered)
    state = {"orders": [{"id": 2, "at": 1}, {"id": 1, "at": 2}]}
    kept = [{"id": 2}, {"id": 1}]
    assert comparison.reduced(state) == {"orders": kept[::-1] if unordered else kept}


def test_counts_values_that_hold_no_others() -> None:
    assert Comparison().size({"a": [1, 2], "b": {}, "c": None}) == 4

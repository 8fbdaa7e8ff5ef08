from typing import Any

import pytest
from rewardhub_agent.accepted import bare, misfit


def fits(value: Any, accepted: list[Any], schema: dict[str, Any], **options: Any) -> bool:
    declared = {"properties": {"x": schema}, "required": ["x"]}
    return not misfit({"x": value}, {"x": accepted}, declared, **options)


@pytest.mark.parametrize(
    ("kind", "accepted", "taken"),
    [
        ("integer", 1, ["1"]),
        ("number", 1, ["1", "1.0"]),
        ("number", 1.0, ["1", "1.0"]),
        ("string", "1", ["'1'"]),
        ("boolean", True, ["True"]),
    ],
)
def test_the_declared_type_decides_what_1_is(kind: str, accepted: Any, taken: list[str]) -> None:
    given: list[Any] = [1, 1.0, "1", True]
    assert [repr(each) for each in given if fits(each, [accepted], {"type": kind})] == taken


def test_a_text_is_taken_where_a_text_is_declared() -> None:
    assert fits("1", ["1"], {"type": "string"})
    assert not fits(1, ["1"], {"type": "string"})


def test_a_value_of_another_type_is_accepted_as_it_stands() -> None:
    assert fits("my_variable", ["my_variable"], {"type": "integer"})
    assert not fits("My variable", ["my_variable"], {"type": "integer"})
    assert fits(None, ["", None], {"type": "string"})


def test_texts_are_compared_without_case_spaces_and_marks() -> None:
    assert bare("April 1, 2024") == bare("april 1,2024")
    assert fits("san-francisco", ["San Francisco"], {"type": "string"})
    assert not fits("san-francisco", ["San Francisco"], {"type": "string"}, texts="exact")
    assert fits("it's", ['it"s'], {"type": "string"})


def test_true_is_no_number_inside_of_an_array() -> None:
    numbers = {"type": "array", "items": {"type": "integer"}}
    assert fits([1, 2], [[1, 2]], numbers)
    assert not fits([True, 2], [[1, 2]], numbers)
    assert not fits([True], [[1]], {"type": "array"})


def test_the_order_of_an_array_counts() -> None:
    assert not fits([2, 1], [[1, 2]], {"type": "array", "items": {"type": "integer"}})


def test_an_array_without_accepted_values_is_the_empty_one() -> None:
    assert fits([], [], {"type": "array"})
    assert not fits(["a"], [], {"type": "array"})


def test_fields_of_an_object_have_accepted_values_and_may_be_left_out() -> None:
    schema = {"type": "object", "properties": {"unit": {"type": "string"}}}
    accepted = [{"unit": ["C", "celsius"], "days": ["", 3]}]
    assert fits({"unit": "Celsius"}, accepted, schema)
    assert fits({"unit": "c", "days": 3}, accepted, schema)
    assert not fits({"unit": "F"}, accepted, schema)
    assert not fits({"days": 3}, accepted, schema)
    assert not fits({"unit": "C", "hours": 1}, accepted, schema)


def test_objects_are_compared_to_any_depth() -> None:
    accepted = [{"who": [{"name": ["Ada"], "tags": [["a", "b"]]}]}]
    assert fits({"who": {"name": "ada", "tags": ["a", "b"]}}, accepted, {"type": "object"})
    assert not fits({"who": {"name": "Ada", "tags": ["a"]}}, accepted, {"type": "object"})


def test_arrays_of_objects_are_compared_one_by_one() -> None:
    schema = {"type": "array", "items": {"type": "object"}}
    accepted = [[{"id": [1]}, {"id": [2, 3]}]]
    assert fits([{"id": 1}, {"id": 3}], accepted, schema)
    assert not fits([{"id": 1}], accepted, schema)
    assert not fits([{"id": 3}, {"id": 1}], accepted, schema)


def test_says_which_argument_is_wrong() -> None:
    schema = {"properties": {"a": {"type": "integer"}}, "required": ["a"]}
    assert misfit({}, {"a": [1]}, schema) == "the required argument `a` is missing"
    assert misfit({"a": 1, "b": 2}, {"a": [1]}, schema) == "the argument `b` is not expected"
    assert misfit({"a": 2}, {"a": [1, 3]}, schema) == "`a` is 2, not 1 or 3"
    assert misfit({"a": 1}, {"a": [1], "c": [2]}, schema) == "the argument `c` is missing"


def test_other_arguments_may_be_free() -> None:
    schema = {"required": ["b"]}
    assert misfit({"a": 1, "b": 2}, {"a": [1]}, schema, rest=True) == ""
    assert misfit({"a": 1}, {"a": [1]}, schema, rest=True) == ""

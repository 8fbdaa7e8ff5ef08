import json

import pytest
from rewardhub_policies.call_parsers_json import MAX_DEPTH, end_of, members, read


def test_ends_an_object_at_its_own_brace() -> None:
    text = '{"a": {"b": [1, 2]}} and {"c": 3}'
    assert end_of(text, 0) == len('{"a": {"b": [1, 2]}}')


def test_does_not_count_brackets_in_texts() -> None:
    text = r'{"a": "}]\"}{", "b": "é"}'
    assert end_of(text, 0) == len(text)


@pytest.mark.parametrize("text", ["{", '{"a": "', "x{}", "", '{"a": <', r"{\"a\": 1}"])
def test_finds_no_end_where_there_is_none(text: str) -> None:
    assert end_of(text, 0) is None


def test_reads_a_value_and_keeps_its_text() -> None:
    value = read('{"a":  1.50}')
    assert (value.raw, value.parsed, value.is_json) == ('{"a":  1.50}', {"a": 1.5}, True)


def test_tells_null_from_what_is_no_json() -> None:
    assert read("null").is_json
    assert not read("nothing").is_json


@pytest.mark.parametrize(
    "raw", ["NaN", "[Infinity]", "1e999", "[-1e999]", "9" * 5000, '{"\\ud800": 1}', "{'a': 1}"]
)
def test_refuses_what_no_record_can_hold(raw: str) -> None:
    assert not read(raw).is_json


def test_refuses_what_is_nested_too_deep() -> None:
    assert read("[" * MAX_DEPTH + "]" * MAX_DEPTH).is_json
    assert not read("[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2)).is_json
    assert not read("[" * 100_000).is_json


def test_gives_members_as_they_are_written() -> None:
    raw = '{ "name" : "f", "arguments": {"a":  1.50, "b": [ ]}, "n": -1e3 ,"t":true}'
    assert members(raw) == {
        "name": '"f"', "arguments": '{"a":  1.50, "b": [ ]}', "n": "-1e3", "t": "true"
    }  # fmt: skip


def test_gives_the_members_before_the_break() -> None:
    assert members('{"name": "f", "arguments": {"a": 1, b}}') == {
        "name": '"f"',
        "arguments": '{"a": 1, b}',
    }


def test_gives_the_members_of_every_object_that_json_writes() -> None:
    value = {"ä": 'q"uote', "n": None, "o": {"x": [1, {"y": "}"}]}, "e": "", "s": "\\"}
    for raw in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=2)):
        assert {key: json.loads(text) for key, text in members(raw).items()} == value


def test_searches_hostile_text_in_linear_time() -> None:
    hostile = ('{"a":[' * 100_000, '{"' * 200_000, '[{"a": "\\"' * 50_000, "{" + " " * 500_000)
    for text in hostile:  # a quadratic search does not end before the time limit of a test
        assert end_of(text, 0) is None

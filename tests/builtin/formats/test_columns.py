import json
from typing import Any

import pytest

from rewardhub.builtin.formats.columns import PLACES, Columns, columns_of, read_mapping, read_object
from rewardhub.contracts import RawRow
from rewardhub.errors import RowError, UsageError
from rewardhub.records import Task, Trajectory

OWN = ("prompt", "completion")


def columns(**mapping: str) -> Columns:
    pairs = {name.replace("__", "."): column for name, column in mapping.items()}
    return columns_of(tuple(pairs.items()), "completion", OWN)


def test_every_place_is_a_field_of_its_record() -> None:
    fields = {"trajectory": Trajectory.model_fields, "task": Task.model_fields}
    for place in PLACES.values():
        assert place.field in fields[place.target]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"id": 1', "no JSON: EOF while parsing an object at line 1 column 8"),
        (b'{"id": 1} {"id": 2}', "no JSON: trailing characters"),
        (b"{'id': 1}", "no JSON: key must be a string"),
        (b"[1, 2]", "an array, not a JSON object"),
        (b'"text"', "a text, not a JSON object"),
        (b"17", "a number, not a JSON object"),
        (b"true", "a boolean, not a JSON object"),
        (b"null", "null, not a JSON object"),
        (b'{"id": "\xff"}', "not UTF-8: byte 0xff at column 9"),
        (b'{"id": "\xed\xa0\x80"}', "not UTF-8: byte 0xed at column 9"),
        (b"[" * 100_000, "no JSON: recursion limit exceeded"),
        (b'{"id": 1' + b"0" * 5000 + b"}", "no JSON: number out of range"),
        (b'{"id": "\x01"}', "no JSON: control character"),
        (b'{"id": "\\ud83d"', "no JSON"),
    ],
)
def test_says_why_a_row_is_no_object(data: bytes, reason: str) -> None:
    with pytest.raises(RowError, match=reason):
        read_object(RawRow(1, data))


def test_hands_on_why_a_row_could_not_be_cut() -> None:
    with pytest.raises(RowError, match="too long"):
        read_object(RawRow(1, b"", "too long"))


def test_reads_half_a_surrogate_pair_as_the_replacement_character() -> None:
    row = read_object(
        RawRow(1, rb'{"cut": "a \ud83d", "whole": "\ud83d\ude00", "text": "\\ud83d"}')
    )
    assert row == {"cut": "a \ufffd", "whole": "\U0001f600", "text": r"\ud83d"}


def test_reads_numbers_that_json_lacks_as_null() -> None:
    row = read_object(RawRow(1, b'{"a": NaN, "b": [Infinity, -Infinity, 1.5], "c": "NaN"}'))
    assert row == {"a": None, "b": [None, None, 1.5], "c": "NaN"}


def test_takes_fields_from_the_mapped_columns() -> None:
    row = {"question": "1+1?", "answer": "2", "level": 3}
    assert columns(prompt="question", reference="answer").apply(row) == {
        "prompt": "1+1?",
        "reference": "2",
        "level": 3,
    }


def test_finds_nested_columns_and_list_elements_by_dots() -> None:
    row = {"choices": [{"text": "a"}, {"text": "b"}], "info": {"truth": {"value": 2}}}
    mapped = columns(completion="choices.1.text", reference="info.truth.value").apply(row)
    assert (mapped["completion"], mapped["reference"]) == ("b", 2)
    assert mapped["info"] == {"truth": {"value": 2}}


def test_prefers_a_column_whose_name_has_the_dot() -> None:
    row = {"info.truth": "flat", "info": {"truth": "nested"}}
    assert columns(reference="info.truth").apply(row)["reference"] == "flat"


def test_fills_open_fields_key_by_key() -> None:
    row: dict[str, Any] = {"tests": ["t"], "checks": {"rules": []}, "level": 3}
    mapped = columns(checks__code="tests", metadata__difficulty="level").apply(row)
    assert mapped == {"checks": {"rules": [], "code": ["t"]}, "metadata": {"difficulty": 3}}


def test_fills_keys_of_a_field_that_is_itself_mapped() -> None:
    row = {"info": {"a": 1}, "level": 3}
    assert columns(metadata="info", metadata__b="level").apply(row) == {
        "metadata": {"a": 1, "b": 3}
    }


@pytest.mark.parametrize("column", ["answr", "info.answer", "list.7", "list.x", "text.0"])
def test_a_missing_column_is_an_error_of_the_row(column: str) -> None:
    row: dict[str, Any] = {"answer": 1, "info": {}, "list": [1], "text": "abc"}
    with pytest.raises(RowError) as error:
        columns(reference=column).apply(row)
    assert str(error.value) == (
        f"column `{column}`, mapped to `reference`, is missing; "
        "the row has `answer`, `info`, `list`, `text`"
    )


def test_refuses_an_unknown_field_and_names_the_close_one() -> None:
    with pytest.raises(UsageError, match=r"completion rows have no `referense`. Did you mean `ref"):
        columns(referense="answer")


def test_refuses_keys_of_a_field_that_has_none() -> None:
    with pytest.raises(UsageError, match=r"`--map reference.a=b`: only .*metadata"):
        columns(reference__a="b")


def test_reads_map_arguments() -> None:
    assert read_mapping(["id=uid", " reference = a.b ", "completion=x=y"]) == {
        "id": "uid",
        "reference": "a.b",
        "completion": "x=y",
    }


@pytest.mark.parametrize("argument", ["id", "=uid", "id=", ""])
def test_refuses_a_map_argument_that_is_no_pair(argument: str) -> None:
    with pytest.raises(UsageError, match="FIELD=COLUMN"):
        read_mapping([argument])


def test_refuses_a_field_that_is_mapped_twice() -> None:
    with pytest.raises(UsageError, match="`id` twice: a and b"):
        read_mapping(["id=a", "id=b"])


def test_mending_leaves_the_json_of_python_as_it_was() -> None:
    value = {
        "a": ["\u2028", "\U0001f600", -0.0, 1e300, 2**70, True, None, {"": ""}],
        "b": float("nan"),
    }
    assert read_object(RawRow(1, json.dumps(value).encode())) == value | {"b": None}

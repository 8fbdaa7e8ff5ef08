from typing import Any

import pytest
from pydantic import ValidationError
from rewardhub_rules.instructions import InstructionList
from rewardhub_rules.instructions.required import pairs_of

NO_COMMA = {"id": "punctuation:no_comma"}


@pytest.mark.parametrize(
    "value",
    [
        [{**NO_COMMA, "kwargs": {}}],
        [NO_COMMA],
        [{**NO_COMMA, "kwargs": None}],
        ({**NO_COMMA, "kwargs": {"num_words": None}},),
        {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{"num_words": None}]},
        {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [None]},
        {"instruction_id_list": ["punctuation:no_comma"], "kwargs": None},
        {"instruction_id_list": ["punctuation:no_comma"]},
    ],
)
def test_reads_a_list_and_the_columns_of_the_data_sets(value: Any) -> None:
    assert [name for name, _ in pairs_of(value)] == ["punctuation:no_comma"]
    assert InstructionList.model_validate(value).root[0].id == "punctuation:no_comma"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([], "lists no instruction"),
        ("punctuation:no_comma", "it is a list of"),
        (None, "it is a list of"),
        (["punctuation:no_comma"], "an instruction is"),
        ([{"id": 3}], "an id is text"),
        ([{**NO_COMMA, "kwargs": []}], "an id is text and its kwargs an object"),
        ([{**NO_COMMA, "args": {}}], "an instruction is"),
        ({"kwargs": []}, "its columns are"),
        ({"instruction_id_list": [], "kwargs": []}, "lists no instruction"),
        ({"instruction_id_list": ["a"], "kwargs": []}, "one object for each id"),
        ({"instruction_id_list": "a", "kwargs": []}, "its columns are"),
        ({"instruction_id_list": ["a"], "prompt": ""}, "its columns are"),
    ],
)
def test_refuses_any_other_shape(value: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        pairs_of(value)
    with pytest.raises(ValidationError, match=reason):
        InstructionList.model_validate(value)


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"id": "punctuation:nocomma"}, "Did you mean `punctuation:no_comma`"),
        ({"id": "startend:end_checker"}, "needs the kwarg `end_phrase`"),
        ({**NO_COMMA, "kwargs": {"end_phrase": "a"}}, "has no kwarg `end_phrase`"),
    ],
)
def test_finds_before_the_run_what_cannot_be_checked(item: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        InstructionList.model_validate([item])

from typing import Any

import pytest
from rewardhub_rules.schemas import ready, text_of

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
LIST = {
    "$ref": "#/$defs/node",
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
}


def made(schema: Any) -> Any:
    return ready(text_of(schema))


@pytest.mark.parametrize(
    ("schema", "is_cheap"),
    [
        (True, True),
        ({}, True),
        ({"properties": {"a": {"pattern": "^(a+)+$"}}}, True),
        ({"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "null"}}}, True),
        ({"properties": {"$ref": {"type": "string"}}}, True),
        ({"properties": {"uniqueItems": {"type": "boolean"}}}, True),
        ({"const": {"uniqueItems": True}}, True),
        ({"items": {"uniqueItems": True}}, False),
        ({"patternProperties": {"^a": {}}}, False),
        (LIST, False),
        ({"properties": {"self": {"$ref": "#"}}}, False),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, False),
    ],
)
def test_rates_a_schema(schema: Any, is_cheap: bool) -> None:
    assert made(schema).is_cheap is is_cheap


BROKEN = [
    ({"type": "objekt"}, "it is no JSON Schema"),
    ({"minLength": "3"}, "it is no JSON Schema"),
    ({"pattern": "("}, "it is no JSON Schema"),
    ({"patternProperties": {"(": {}}}, "it is no JSON Schema"),
    (
        {"$schema": "https://example.com/mine"},
        "the dialect 'https://example.com/mine' is not known",
    ),
    ({"$ref": "#/$defs/missing"}, "leads nowhere"),
    ({"items": {"$ref": "https://example.com/item"}}, "nothing is fetched"),
    ({"$ref": "file:///etc/passwd"}, "nothing is fetched"),
    ([], "is an object, true or false"),
    ("x", "is an object, true or false"),
]


@pytest.mark.parametrize(("schema", "reason"), BROKEN)
def test_refuses_what_is_no_schema(schema: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        made(schema)


def test_the_dialect_is_what_the_schema_says() -> None:
    tuples = {"items": [{"type": "integer"}]}
    assert not made({"$schema": DRAFT_7, **tuples}).validator.is_valid(["a"])
    with pytest.raises(ValueError, match="it is no JSON Schema"):  # a list of items is no 2020-12
        made(tuples)


def test_equal_numbers_of_other_types_are_other_schemas() -> None:
    assert not made({"const": True}).validator.is_valid(1)
    assert made({"const": 1}).validator.is_valid(1)


def test_references_may_lead_to_an_identified_part() -> None:
    part = {"$id": "https://example.com/part", "type": "integer"}
    schema = {"$ref": "https://example.com/part", "$defs": {"part": part}}
    assert made(schema).validator.is_valid(1)
    assert not made(schema).validator.is_valid("1")


def test_a_schema_is_made_ready_once() -> None:
    assert made({"minimum": 17}) is made({"minimum": 17})

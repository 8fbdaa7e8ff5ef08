import json
from typing import Any

import pytest
import rewardhub_rules
from rewardhub_rules import JsonSchema

from rewardhub import RecordError, Score
from rewardhub.testing import CallingWorkers, grade, make_trajectory, registry_of

CARD = registry_of(rewardhub_rules).grader("rules/json-schema").card


class Counted(CallingWorkers):
    """Workers that count their calls."""

    calls = 0

    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return function(*args, **kwargs)


def score(answer: str, schema: Any, **options: Any) -> tuple[Score, int]:
    workers = Counted()
    options = {"json_schema": schema, **options}
    made = grade(CARD, make_trajectory(answer), options=options, workers=workers)
    return made, workers.calls


def test_says_where_and_why() -> None:
    made, _ = score('{"a": [1, "x"]}', {"properties": {"a": {"items": {"type": "integer"}}}})
    assert (made.value, made.reason) == (0, "$.a[1]: 'x' is not of type 'integer'")


def test_a_cheap_schema_is_settled_at_once() -> None:
    made, calls = score('{"a": 1}', {"required": ["a"]})
    assert (made.value, calls) == (1, 0)


@pytest.mark.parametrize("answer", ["[1, 2]", "[1, 1]"])
def test_a_dear_schema_goes_to_the_workers(answer: str) -> None:
    made, calls = score(answer, {"uniqueItems": True})
    assert (made.value, calls) == (float(answer == "[1, 2]"), 1)


def test_a_large_document_goes_to_the_workers() -> None:
    made, calls = score(json.dumps(list(range(10_000))), {"items": {"type": "integer"}})
    assert (made.value, calls) == (1, 1)


def test_a_pattern_that_takes_long_goes_to_the_workers() -> None:
    answer = json.dumps("a" * 22 + "!")
    made, calls = score(answer, {"pattern": "^(?:a|a)+$"})
    assert (made.value, calls) == (0, 1)


def test_a_broken_schema_is_found_before_the_run() -> None:
    with pytest.raises(RecordError, match="it is no JSON Schema"):
        score("{}", {"type": "objekt"})


def test_the_schema_true_takes_any_json_and_false_none() -> None:
    assert score("1", True)[0].value == 1
    assert score("1", False)[0].value == 0


def test_a_schema_of_the_task_reads_its_lists_as_lists() -> None:
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"enum": [[1], [2]]}}}
    attempt = make_trajectory('{"a": [2]}', checks={"json_schema": schema})
    assert grade(CARD, attempt).value == 1


def test_a_share_needs_an_object() -> None:
    made, _ = score("[1]", {"type": "object", "required": ["a"]}, value="share")
    assert made.value == 0


def test_a_long_value_is_cut_in_the_reason() -> None:
    made, _ = score(json.dumps("x" * 5000), {"type": "integer"})
    assert len(made.reason) < 300


def test_formats_are_annotations() -> None:
    assert score('"no address"', {"format": "email"})[0].value == 1


def test_a_document_as_deep_as_is_read_is_validated() -> None:
    node = {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/node"}}]}
    schema = {"$ref": "#/$defs/node", "$defs": {"node": node}}
    made, calls = score("[" * 64 + "1" + "]" * 64, schema)
    assert (made.value, calls) == (1, 1)


def test_class_alone_needs_no_card() -> None:
    attempt = make_trajectory("{}")
    assert grade(JsonSchema(json_schema=True), attempt, workers=CallingWorkers()).value == 1

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from rewardhub.host import Registry
from rewardhub.spec import json_schema

Valid = Callable[[dict[str, Any]], bool]

STAGE = {"name": "outcome", "graders": [{"use": "judge/rank"}]}


@pytest.fixture(scope="module")
def schema(registry: Registry) -> dict[str, Any]:
    return json_schema(registry)


@pytest.fixture(scope="module")
def valid(schema: dict[str, Any]) -> Valid:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema).is_valid  # type: ignore[no-any-return]


def references(value: Any) -> set[str]:
    return set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(value)))


def test_is_json_of_the_draft_that_editors_read(schema: dict[str, Any]) -> None:
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert json.loads(json.dumps(schema)) == schema


def test_every_reference_leads_somewhere(schema: dict[str, Any]) -> None:
    places = {f"#/$defs/{name}" for name in schema["$defs"]}
    assert references(schema) <= places


def test_knows_the_graders_by_name(schema: dict[str, Any], registry: Registry) -> None:
    from rewardhub.host import GraderCard

    use = schema["$defs"]["entry"]["properties"]["use"]
    assert use["anyOf"][0]["enum"] == list(registry.all(GraderCard))


def test_describes_keys_and_options(schema: dict[str, Any]) -> None:
    entry = schema["$defs"]["entry"]
    assert entry["properties"]["weight"]["description"] == "Its weight in the mean of the stage."
    (cost,) = [
        branch["then"]["properties"]["options"]
        for branch in entry["allOf"]
        if branch["if"]["properties"]["use"]["enum"] == ["cost/steps"]
    ]
    assert cost["description"] == "Falls from 1 to 0 as the budget is used up."
    assert cost["properties"]["budget"]["description"] == "How many steps are free of reproach."


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "own/spec", "stages": [STAGE]},
        {"extends": "base.yaml", "credit": None, "stages": [{"cost": None}]},
        {"extends": "base.yaml", "stages": [{"name": "a", "graders": [{"b": None}]}]},
        {"extends": "base.yaml", "stages": [{"name": "a", "before": "b", "gate": None}]},
        {"route": {"by": "task.domain", "math": "math/strict", "default": "x.yaml"}},
        {"stages": [{"graders": [{"use": "cost/steps", "options": {"budget": 4}}]}]},
        {"resources": {"judge": {"use": "openai", "model": "m", "api_key": {"env": "KEY"}}}},
        {"resources": {"box": {"use": "local", "level": 2, "max_concurrency": 4}}},
    ],
)
def test_takes_what_a_reward_file_may_say(valid: Valid, fields: dict[str, Any]) -> None:
    assert valid({"rewardhub": 1, **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {"stagess": []},
        {"credit": "first"},
        {"stages": [{"name": "a", "wieght": 1}]},
        {"stages": [{"name": "a", "graders": [{"use": "judge/rnk"}]}]},
        {"stages": [{"graders": [{"use": "cost/steps", "options": {"bugdet": 4}}]}]},
        {"stages": [{"graders": [{"use": "cost/steps", "options": {"unit": "miles"}}]}]},
        {"resources": {"box": {"use": "lcal"}}},
        {"resources": {"box": {"use": "local", "level": "high"}}},
        {"route": {"by": "task.domain"}, "name": "x"},
    ],
)
def test_refuses_what_it_may_not_say(valid: Valid, fields: dict[str, Any]) -> None:
    assert not valid({"rewardhub": 1, **fields})


def test_refuses_a_file_without_its_format(valid: Valid) -> None:
    assert not valid({"name": "own/spec", "stages": [STAGE]})

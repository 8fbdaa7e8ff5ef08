"""JSON Schema of reward files, for editors: names and options of all that is installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from rewardhub.host import GraderCard, Registry, resource_class
from rewardhub.spec.resources import CARDS
from rewardhub.spec.shape import EntryShape, ResourceShape, RouteShape, SpecShape, StageShape

Schema = dict[str, Any]


def json_schema(registry: Registry) -> Schema:
    """Return a JSON Schema (draft 2020-12) of reward files.

    It knows the graders and resources of ``registry`` with their options and descriptions. As a
    file with `extends` may leave anything out and take anything out by null, nothing but the
    version is required and null is allowed everywhere; `check` has the last word.
    """
    shelf: dict[str, Schema] = {}
    entry = _object(EntryShape, shelf)
    graders = registry.all(GraderCard)
    entry["properties"]["use"] |= {"enum": list(graders)}
    entry["allOf"] = [
        _when_used([name], {"options": _object(registered.card.grader, shelf, name)})
        for name, registered in graders.items()
    ]
    stage = _object(StageShape, shelf)
    stage["properties"]["graders"]["items"] = _or_removal("entry")
    spec = _object(SpecShape, shelf)
    spec["properties"]["stages"]["items"] = _or_removal("stage")
    spec["properties"]["resources"] |= {"additionalProperties": {"$ref": "#/$defs/resource"}}
    route = _object(RouteShape, shelf)
    shelf |= {"entry": entry, "stage": stage, "resource": _resource(registry, shelf)}
    for definition in (*shelf.values(), spec):
        _allow_null(definition)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "rewardhub reward file",
        "type": "object",
        "required": ["rewardhub"],
        "if": {"required": ["route"]},
        "then": route,
        "else": spec,
        "$defs": shelf,
    }


def _object(model: type[BaseModel], shelf: dict[str, Schema], prefix: str = "") -> Schema:
    """Return the schema of ``model``, with the models that it names put on the shelf."""
    place = f"#/$defs/{prefix.replace('/', '.')}{'.' if prefix else ''}"
    schema = model.model_json_schema(ref_template=place + "{model}")
    for name, definition in schema.pop("$defs", {}).items():
        shelf[place.removeprefix("#/$defs/") + name] = definition
    schema.pop("required", None)
    schema.pop("title", None)
    return schema


def _resource(registry: Registry, shelf: dict[str, Schema]) -> Schema:
    schema = _object(ResourceShape, shelf)
    own = schema["properties"]
    classes: dict[str, list[type[BaseModel]]] = {}
    for kind in CARDS:
        for name, registered in registry.all(kind).items():
            classes.setdefault(name, []).append(resource_class(registered.card))
    own["use"] |= {"enum": sorted(classes)}
    branches: list[Schema] = []
    for name, models in sorted(classes.items()):
        options: Schema = {}
        for model in models:
            options |= _object(model, shelf, name).get("properties", {})
        secret = {"$ref": "#/$defs/secret"}
        either = {key: {"anyOf": [value, secret]} for key, value in options.items()}
        branches.append(_when_used([name], {**either, **own}))
    shelf["secret"] = {
        "description": "A secret: the name of the environment variable that holds it.",
        "type": "object",
        "properties": {"env": {"type": "string"}},
        "required": ["env"],
        "additionalProperties": False,
    }
    return {**schema, "allOf": branches}


def _when_used(names: Iterable[str], properties: Mapping[str, Any]) -> Schema:
    condition = {"required": ["use"], "properties": {"use": {"enum": list(names)}}}
    return {"if": condition, "then": {"properties": dict(properties)}}


def _or_removal(definition: str) -> Schema:
    """Return the schema of a list item: the thing itself, or ``NAME: null``, which takes it out."""
    removal = {"type": "object", "minProperties": 1, "maxProperties": 1,
               "additionalProperties": {"type": "null"}}  # fmt: skip
    return {"anyOf": [{"$ref": f"#/$defs/{definition}"}, removal]}


def _allow_null(schema: Schema) -> None:
    properties: dict[str, Schema] = schema.get("properties", {})
    for name, value in properties.items():
        # Editors look for the description outside of the alternatives.
        outside = {"description": value.pop("description")} if "description" in value else {}
        properties[name] = {**outside, "anyOf": [value, {"type": "null"}]}

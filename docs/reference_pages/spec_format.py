"""The format of reward files: every key of every piece."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from reference_pages.markdown import code, join, read_doc, table
from reference_pages.types import type_of
from rewardhub.expression.tokens import FUNCTIONS
from rewardhub.spec import shape

PIECES: tuple[tuple[str, type[BaseModel]], ...] = (
    ("The file", shape.SpecShape),
    ("A stage", shape.StageShape),
    ("A grader", shape.EntryShape),
    ("A gate", shape.GateShape),
    ("Limits", shape.LimitsShape),
    ("A resource", shape.ResourceShape),
    ("Training", shape.TrainingShape),
    ("A route", shape.RouteShape),
)
LINKS = {
    "stages": "list of [stages](#a-stage)",
    "graders": "list of [graders](#a-grader)",
    "resources": "mapping of names to [resources](#a-resource)",
    "gate": "[gate](#a-gate)",
    "limits": "[limits](#limits)",
    "training": "[training](#training)",
    "options": "mapping: the [grader's own](README.md#graders)",
    "route": "mapping: see below",
}
INTRODUCTION = """
A reward file is YAML 1.2 with one mapping. Duplicate keys, unknown keys and wrong types are
mistakes, each with its line. `rewardhub spec schema` writes the whole as JSON Schema for editors,
with the options of every grader that is installed. How to use the pieces: [write a
spec](../how-to/write-a-spec.md).
"""
EXPRESSIONS = """
`when`, `success` and `formula` are expressions over the ids of parts: numbers, ids, `== != < <= >
>=`, `and or not`, `+ - * /`, parentheses, and the functions {functions}. They are parsed once and
never evaluated as Python. Comparisons have a tolerance of 1e-9. An expression reads every id in
it, so one that reads a part without a value has none itself.

- `when` is a condition over earlier parts, and `success` one over any parts.
- `formula` is a number over the parts of its stage, and stays in [0, 1].
- None of them may fall while a part rises, unless the stage says `monotone: false`.
"""
RESOURCES = """
The options of the resource stand beside `use`. A secret is written `{env: NAME}`: the name of the
environment variable that holds it.
"""
ROUTES = """
`route` has `by`, the path of a field of the task (`task.domain`, `task.metadata.level`); for each
value of that field a spec (a file, the name of a shipped spec, or a spec written in place); and
`default`, for every other value.
"""
EXTENDS = """
With `extends`, mappings merge, stages by `name`, graders by id. A key with `null` takes out what
the parent says; so does a list item `NAME: null`. New stages go to the end, unless they say
`before: NAME`. Options and bindings are not carried over to another grader.
"""


def page() -> str:
    """Return the page."""
    parts = ["# The spec format", INTRODUCTION]
    after = {"The file": EXTENDS, "A resource": RESOURCES, "A route": ROUTES}
    for title, piece in PIECES:
        parts += [f"## {title}", read_doc(piece.__doc__).body, _keys(piece), after.get(title, "")]
    functions = ", ".join(code(name) for name in sorted(FUNCTIONS))
    parts += ["## Expressions", EXPRESSIONS.replace("{functions}", functions)]
    return join(*parts)


def _keys(piece: type[BaseModel]) -> str:
    schema: dict[str, Any] = piece.model_json_schema()
    rows: list[tuple[str, str, str, str]] = []
    for name, field in piece.model_fields.items():
        key = field.alias or name
        told: dict[str, Any] = schema["properties"][key]
        kind = LINKS.get(key) or type_of(_without_null(told), schema.get("$defs", {}))
        rows.append((code(key), kind, _default(told, key, piece), told.get("description", "")))
    return table(("Key", "Value", "Default", "Meaning"), rows)


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without null, which is how YAML says that nothing is said."""
    kinds = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if not kinds:
        return schema
    return kinds[0] if len(kinds) == 1 else {**schema, "anyOf": kinds}


def _default(schema: dict[str, Any], key: str, piece: type[BaseModel]) -> str:
    required = piece.model_json_schema().get("required", ())
    if key in required or key == "rewardhub":
        return "(required)"
    default = schema.get("default")
    return code(json.dumps(default)) if default not in (None, {}, []) and key not in LINKS else ""

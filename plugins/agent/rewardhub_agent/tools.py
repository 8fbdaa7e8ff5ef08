"""The tools that a task lists: their names and the JSON Schema of their arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from rewardhub import TaskError, Trajectory
from rewardhub_agent.turns import is_tool
from rewardhub_agent.values import Json, plain

_KINDS = {
    "dict": "object",
    "hashmap": "object",
    "hashtable": "object",
    "float": "number",
    "double": "number",
    "int": "integer",
    "long": "integer",
    "short": "integer",
    "byte": "integer",
    "bigint": "integer",
    "bool": "boolean",
    "char": "string",
    "str": "string",
    "tuple": "array",
    "list": "array",
    "arraylist": "array",
    "queue": "array",
    "stack": "array",
    "set": "array",
}
"""Names of types that function datasets use, and what JSON Schema calls them."""

_OWN = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
_PLACES = ("parameters", "input_schema", "inputSchema")


def tools_of(trajectory: Trajectory) -> dict[str, dict[str, Json]]:
    """Return name -> JSON Schema of the arguments, for each tool that the task lists.

    Read are the shapes of OpenAI's chat and Responses interfaces, Anthropic's ``input_schema``,
    MCP's ``inputSchema``, and BFCL's, whose names of types are translated. A tool without a
    schema takes any arguments.

    Raises:
        TaskError: for a tool without a name, or whose schema is no object.
    """
    found: dict[str, dict[str, Json]] = {}
    for number, tool in enumerate(cast("Iterable[Mapping[str, Any]]", trajectory.task.tools)):
        spec: Any = tool.get("function", tool)
        name = spec.get("name") if isinstance(spec, Mapping) else None
        if not isinstance(name, str) or not name:
            raise TaskError(f"tool {number} of the task has no name")
        given: Any = next((spec[place] for place in _PLACES if spec.get(place) is not None), {})
        if not isinstance(given, Mapping):
            raise TaskError(f"the parameters of the tool `{name}` are no JSON Schema object")
        found[name] = cast("dict[str, Json]", _translated(plain(given)))
    return found


def schema_of(tools: Mapping[str, dict[str, Json]], name: str) -> dict[str, Json] | None:
    """Return the schema of the tool that a call names, or None if the task does not list it."""
    if name in tools:
        return tools[name]
    return next((schema for listed, schema in tools.items() if is_tool(name, listed)), None)


def _translated(schema: Json) -> Json:
    """Return ``schema`` with the names of types that JSON Schema knows.

    "any" is no type there: a schema without one allows all.
    """
    if isinstance(schema, list):
        return [_translated(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Json] = {}
    for key, value in cast("dict[str, Json]", schema).items():
        if key == "properties" and isinstance(value, dict):
            made[key] = {name: _translated(each) for name, each in value.items()}
        elif key in {"enum", "const", "default", "examples"}:
            made[key] = value
        elif key == "type" and isinstance(value, str) and value.lower() == "any":
            continue
        elif key == "type" and isinstance(value, str) and value not in _OWN:
            low = value.lower()
            made[key] = low if low in _OWN else _KINDS.get(low, value)
        else:
            made[key] = _translated(value)
    return made

"""JSON Schema types in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

_BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
    "minLength": "at least {} long",
    "pattern": "matches `{}`",
}


def type_of(schema: Schema, definitions: Schema) -> str:
    """Return what a value may be, in words."""
    if "$ref" in schema:
        return type_of(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(type_of(each, definitions) for each in schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(f"`{_said(value)}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{_said(schema['const'])}`"
    bounds = [text.format(schema[key]) for key, text in _BOUNDS.items() if key in schema]
    return ", ".join([_kind(schema, definitions), *bounds])


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _kind(schema: Schema, definitions: Schema) -> str:
    match schema.get("type"):
        case "array" if "prefixItems" in schema:
            inner = ", ".join(type_of(each, definitions) for each in schema["prefixItems"])
            return f"list of {inner}"
        case "array":
            items: Schema = schema.get("items", {})
            return f"list of {type_of(items, definitions)}" if items else "list"
        case "object":
            values = schema.get("additionalProperties")
            if isinstance(values, Mapping) and values:
                inner_type = type_of(values, definitions)  # pyright: ignore[reportUnknownArgumentType]
                return f"mapping of names to {inner_type}"
            return "mapping"
        case "string":
            return "text"
        case None:
            return "anything"
        case other:
            return str(other)

"""Models whose fields are described by the texts below them: options, and checks of tasks."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


class Described(BaseModel):
    """A model whose fields are described, in its JSON Schema, by the docstrings below them.

    The source is read when somebody asks for the schema. pydantic's own
    ``use_attribute_docstrings`` reads it when the class is made, which is a third of what importing
    a pack takes, and every command imports every pack.
    """

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> JsonSchemaValue:
        schema = handler(core_schema)
        properties: dict[str, Any] = handler.resolve_ref_schema(schema).get("properties", {})
        for name, text in descriptions(cls).items():
            alias = cls.model_fields[name].alias or name
            if alias in properties:
                properties[alias].setdefault("description", text)
        return schema


class Check(Described):
    """The base of what a task says under one key of ``Task.checks``; a card names it.

    Frozen; a name that is not known is a mistake, and errors do not quote what the task holds.
    Built when it is first used.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True
    )


@cache
def descriptions(model: type[BaseModel]) -> dict[str, str]:
    """Return field -> the docstring below it, those of its bases included."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            found |= _docstrings(base)
    return {name: text for name, text in found.items() if name in model.model_fields}


def _docstrings(model: type[BaseModel]) -> dict[str, str]:
    try:
        source = textwrap.dedent(inspect.getsource(model))
    except (OSError, TypeError):  # made without a file: typed in, or by a function
        return {}
    body = ast.parse(source).body[0]
    lines = body.body if isinstance(body, ast.ClassDef) else []
    found: dict[str, str] = {}
    for line, text in itertools.pairwise(lines):
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            match text:
                case ast.Expr(value=ast.Constant(value=str(docstring))):
                    found[line.target.id] = inspect.cleandoc(docstring)
                case _:
                    pass
    return found

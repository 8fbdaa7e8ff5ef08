"""JSON Schemas, made ready once: checked, closed to the network, and rated by what they cost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rewardhub_rules.patterns import INLINE_SECONDS, compiled

if TYPE_CHECKING:
    from jsonschema.protocols import Validator
    from referencing import Specification

__all__ = ["Ready", "ready", "text_of"]

_DEAR = frozenset({"uniqueItems", "patternProperties", "$dynamicRef", "$recursiveRef"})
"""Keywords whose cost is more than schema times document, or that lead back to where they stand."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A schema that is ready to validate.

    Attributes:
        validator: validates; a pattern that takes long raises `TimeoutError`.
        patient: validates, however long a pattern takes.
        is_cheap: whether the cost is bounded by the size of schema times document.
        required: the properties that the schema itself requires, and whose schemas it has.
    """

    validator: Validator
    patient: Validator
    is_cheap: bool
    required: tuple[str, ...]


def text_of(schema: Any) -> str:
    """Return ``schema`` as JSON text: what `ready` takes, and keeps its result by."""
    return json.dumps(schema)


@lru_cache(maxsize=256)
def ready(text: str) -> Ready:
    """Return the schema that ``text`` holds, ready to validate.

    Its dialect is what ``$schema`` says, else Draft 2020-12. References lead into the schema itself
    or to the meta-schemas that the package ``jsonschema`` ships; nothing is ever fetched.

    Raises:
        ValueError: if it is no schema, of no known dialect, or has a reference that leads nowhere.
    """
    from jsonschema import SchemaError

    registry = _shipped()
    schema: Any = json.loads(text)
    if not isinstance(schema, dict | bool):
        raise ValueError(f"a JSON Schema is an object, true or false, not {schema!r:.80}")
    dialect = _dialect(schema)
    try:
        dialect.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"it is no JSON Schema: {error.json_path}: {error.message:.200}") from None
    is_cheap = _check_references(schema, dialect)
    required = schema.get("required", ()) if isinstance(schema, dict) else ()
    return Ready(
        validator=_extended(dialect, INLINE_SECONDS)(schema, registry=registry),
        patient=_extended(dialect, None)(schema, registry=registry),
        is_cheap=is_cheap,
        required=tuple(name for name in required if isinstance(name, str)),
    )


def _shipped() -> Any:
    """Return the meta-schemas that come with the package ``jsonschema``."""
    return import_module("jsonschema_specifications").REGISTRY


def _dialect(schema: dict[str, Any] | bool) -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    if isinstance(schema, bool) or "$schema" not in schema:
        return Draft202012Validator
    nothing: Any = None
    made: Any = validator_for(schema, default=nothing)
    if made is None:
        raise ValueError(
            f"the dialect {schema['$schema']!r:.200} is not known: say "
            "https://json-schema.org/draft/2020-12/schema, or an earlier draft down to 3"
        )
    return made


@lru_cache(maxsize=16)
def _extended(dialect: Any, seconds: float | None) -> Any:
    """Return the validator class with patterns that give up after ``seconds``."""
    from jsonschema import ValidationError

    extend: Any = import_module("jsonschema.validators").extend

    def pattern(_validator: Any, wanted: str, instance: Any, _schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and not compiled(wanted).search(instance, timeout=seconds):
            yield ValidationError(f"{instance[:80]!r} does not match {wanted!r}")

    return extend(dialect, {"pattern": pattern})


def _check_references(schema: Any, dialect: Any) -> bool:
    """Look every reference up; return whether the schema is cheap.

    Raises:
        ValueError: for a reference that leads nowhere, or out of what is shipped.
    """
    from referencing.jsonschema import specification_with

    specification: Any = specification_with(dialect.META_SCHEMA["$schema"])
    root = specification.create_resource(schema)
    walk = _Walk(specification)
    walk.visit(schema, _shipped().resolver_with_root(root))
    return not (walk.has_dear or walk.leads_back())


class _Walk:
    """Every schema inside of a schema, and which of them references lead to."""

    def __init__(self, specification: Specification[Any]) -> None:
        self._specification = specification
        self._edges: dict[int, list[int]] = {}
        self.has_dear = False

    def visit(self, schema: Any, resolver: Any) -> None:
        """Take in ``schema`` and all that it holds or refers to."""
        from referencing.exceptions import Unresolvable

        if id(schema) in self._edges or not isinstance(schema, Mapping):
            return
        edges = self._edges[id(schema)] = []
        self.has_dear = self.has_dear or not _DEAR.isdisjoint(schema)
        if isinstance(reference := schema.get("$ref"), str):
            try:
                target = resolver.lookup(reference)
            except Unresolvable:
                raise ValueError(
                    f"the reference {reference!r:.200} leads nowhere in the schema, and nothing is "
                    "fetched: put what it means under `$defs`"
                ) from None
            edges.append(id(target.contents))
            self.visit(target.contents, target.resolver)
        for inner in self._specification.create_resource(schema).subresources():
            edges.append(id(inner.contents))
            self.visit(inner.contents, resolver.in_subresource(inner))

    def leads_back(self) -> bool:
        """Return whether a reference leads to a schema that it stands in: a cycle."""
        done: set[int] = set()
        for start in self._edges:
            path: set[int] = set()
            stack = [(start, False)]
            while stack:
                node, is_left = stack.pop()
                if is_left:
                    path.discard(node)
                    done.add(node)
                elif node in path:
                    return True
                elif node not in done:
                    path.add(node)
                    stack.append((node, True))
                    stack.extend((each, False) for each in self._edges.get(node, ()))
        return False

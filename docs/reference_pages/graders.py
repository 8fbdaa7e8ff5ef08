"""One page for each grader of this repository: what it measures, and its options."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import Any

from reference_pages.markdown import code, join, read_doc, table
from reference_pages.plugins import owner_of, registry
from reference_pages.types import type_of
from rewardhub.contracts import Limits
from rewardhub.engine.grade import where_of
from rewardhub.host import GraderCard, Registered

Schema = dict[str, Any]


def cards() -> dict[str, Registered[GraderCard]]:
    """Return every grader, by name."""
    return dict(registry().all(GraderCard))


def file_of(name: str) -> str:
    """Return where the page of a grader is."""
    return f"graders/{name.replace('/', '-')}.md"


def pages() -> Iterator[tuple[str, str]]:
    """Yield path and text of each page."""
    for name, registered in cards().items():
        yield file_of(name), _page(registered)


def about(registered: Registered[GraderCard]) -> str:
    """Return what a grader measures, in one line."""
    return read_doc(inspect.getdoc(registered.card.grader)).first


def _page(registered: Registered[GraderCard]) -> str:
    card = registered.card
    schema: Schema = card.grader.model_json_schema()
    parts = [f"# {card.name}", read_doc(inspect.getdoc(card.grader)).body, _facts(registered)]
    parts += ["## Options", option_table(schema) or "It has none."]
    if schema.get("properties"):
        parts += ["As JSON Schema:", f"```json\n{json.dumps(_bare(schema), indent=2)}\n```"]
    for key, model in card.checks.items():
        checks = json.dumps(_bare(model.model_json_schema()), indent=2)
        parts += [f"## `task.checks.{key}`", read_doc(model.__doc__).body]
        parts += [f"```json\n{checks}\n```"]
    return join(*parts)


def _facts(registered: Registered[GraderCard]) -> str:
    card = registered.card
    signature = card.signature
    slots = (f"`{slot}`: {kind.__name__}" for slot, kind in signature.slots.items())
    rows = [
        ("pack", code(owner_of(registered.owner))),
        ("version", card.version),
        ("grades by", code(signature.shape)),
        ("runs", where_of(card)),
        ("resources", ", ".join(slots) or "none"),
        ("reads", ", ".join(map(code, card.all_reads))),
        ("gives", ", ".join(("a value", *card.gives))),
        ("deterministic", "yes" if card.deterministic else "no"),
        ("limits", _limits(card.limits)),
    ]
    return table(("", ""), rows)


def _limits(limits: Limits) -> str:
    seconds = f"CPU {_limit(limits.cpu_seconds, 's')}, wall {_limit(limits.wall_seconds, 's')}"
    return f"{seconds}, memory {_limit(limits.memory_mb, 'MiB')}"


def _limit(value: float | None, unit: str) -> str:
    return "unlimited" if value is None else f"{value:g} {unit}"


def option_table(schema: Schema) -> str:
    """Return the options of a class as a table, from its JSON Schema."""
    properties: dict[str, Schema] = schema.get("properties", {})
    required = schema.get("required", ())
    rows = [
        (
            code(name),
            type_of(option, schema.get("$defs", {})),
            "(required)" if name in required else code(json.dumps(option.get("default"))),
            read_doc(option.get("description")).body,
        )
        for name, option in properties.items()
    ]
    return table(("Option", "Type", "Default", "Meaning"), rows) if rows else ""


def _bare(schema: Schema) -> Schema:
    """Return a schema without the docstring of its class, which is above it on the page."""
    return {name: value for name, value in schema.items() if name != "description"}

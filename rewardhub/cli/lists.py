"""`rewardhub graders`, `plugins`, `readers`, `specs`: what is installed, and whose it is."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rewardhub.builtin.formats.values import is_array, is_object
from rewardhub.cli.codes import ExitCode
from rewardhub.cli.session import Session, command, command_app
from rewardhub.engine.grade import where_of
from rewardhub.errors import UnknownNameError
from rewardhub.host import (
    CARD_KINDS,
    GraderCard,
    PluginSource,
    ReaderCard,
    Registered,
    Registry,
    SpecCard,
)
from rewardhub.report.console import Column, counted, show_line, show_table

graders = command_app()
plugins = command_app()
readers = command_app()
specs = command_app()

Described = dict[str, Any]
_Name = Annotated[str | None, typer.Argument(metavar="NAME", help="Show this one.")]


@command(graders, "graders")
def list_graders(session: Session, *, name: _Name = None) -> ExitCode:
    """List the graders, or show one with its options."""
    if name is not None:
        return _show_one(session, _grader(session.registry.grader(name), in_full=True))
    found = [_grader(each) for each in session.registry.all(GraderCard).values()]
    return _show_all(session, found, ("name", "version", "owner", "about"))


@command(plugins, "plugins")
def list_plugins(session: Session, *, name: _Name = None) -> ExitCode:
    """List the plugins with what they bring, or show one. Broken ones come with their error."""
    known = {_near(each.name): each for each in session.registry.plugins}
    if name is not None:
        if name not in known:
            raise UnknownNameError("plugin", name, known)
        return _show_one(session, _plugin(session.registry, known[name]))
    found = [_plugin(session.registry, each) for each in known.values()]
    code = _show_all(session, found, ("name", "distribution", "version", "state", "brings"))
    if session.verbose and not session.as_json:
        for each in found:
            if each["error"]:
                session.show(f"\n{each['name']}:\n{each['error']}")
    return code


@command(readers, "readers")
def list_readers(session: Session, *, name: _Name = None) -> ExitCode:
    """List the file formats that can be read, or show one."""
    if name is not None:
        return _show_one(session, _reader(session.registry.get(ReaderCard, name)))
    found = [_reader(each) for each in session.registry.all(ReaderCard).values()]
    return _show_all(session, found, ("name", "owner", "about"))


@command(specs, "specs")
def list_specs(session: Session, *, name: _Name = None) -> ExitCode:
    """List the reward specs that packs ship, or show one. See also `rewardhub spec show`."""
    if name is not None:
        return _show_one(session, _spec(session.registry.get(SpecCard, name)))
    found = [_spec(each) for each in session.registry.all(SpecCard).values()]
    return _show_all(session, found, ("name", "owner", "about"))


# --- what there is to say -----------------------------------------------------------------------


def _grader(registered: Registered[GraderCard], *, in_full: bool = False) -> Described:
    card = registered.card
    doc = inspect.getdoc(card.grader) or ""
    short: Described = {
        "name": card.name,
        "version": card.version,
        "owner": _owner(registered.owner),
        "about": doc.partition("\n")[0].replace("``", "`"),
    }
    if not in_full:
        return short
    slots = card.signature.slots
    return {
        "name": card.name,
        "version": card.version,
        "owner": _owner(registered.owner),
        "doc": doc,
        "runs_in": where_of(card),
        "shape": card.signature.shape,
        "resources": {
            slot: f"{kind.__name__}{'s' if slot in card.signature.several else ''}"
            for slot, kind in slots.items()
        },
        "reads": list(card.all_reads),
        "checks": list(card.checks),
        "gives": ["value", *card.gives],
        "deterministic": card.deterministic,
        "options": card.grader.model_json_schema(),
    }


def _owner(source: PluginSource) -> str:
    """Return whose a card is: a distribution and its version, or a loose file."""
    name = source.name if _is_loose(source) else source.distribution or source.name
    return f"{_near(name)} {source.version}".strip()


def _is_loose(source: PluginSource) -> bool:
    return source.distribution == source.name


def _near(name: str) -> str:
    """Return the path of a loose file as short as it can be; other names as they are."""
    path = Path(name)
    if not path.is_absolute():
        return name
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else name


def _plugin(registry: Registry, source: PluginSource) -> Described:
    brings: dict[str, list[str]] = {}
    for kind in CARD_KINDS:
        names = [each.card.name for each in registry.all(kind).values() if each.owner is source]
        if names:
            brings[kind.kind] = names
    state = "blocked" if source.blocked else "ok"
    if source.error:
        state = f"broken: {source.error.splitlines()[-1]}"
    return {
        "name": _near(source.name),
        "distribution": "" if _is_loose(source) else source.distribution,
        "version": source.version,
        "state": state,
        "brings": brings,
        "error": source.error,
    }


def _reader(registered: Registered[ReaderCard]) -> Described:
    card = registered.card
    return {
        "name": card.name,
        "about": card.description,
        "endings": list(card.suffixes),
        "owner": _owner(registered.owner),
    }


def _spec(registered: Registered[SpecCard]) -> Described:
    card = registered.card
    return {
        "name": card.name,
        "about": card.description,
        "owner": _owner(registered.owner),
        "path": str(card.path),
    }


# --- showing it ---------------------------------------------------------------------------------


def _show_all(session: Session, found: Sequence[Described], columns: Sequence[str]) -> ExitCode:
    if session.as_json:
        session.show_json(list(found))
        return ExitCode.OK
    if not found:
        session.say("There are none: install a pack that brings some, or name one with --plugin.")
        return ExitCode.OK
    rows = [[_cell(each[column]) for column in columns] for each in found]
    flexible = {"about", "state", "brings", "path"}
    titles = [Column(column.capitalize(), flexible=column in flexible) for column in columns]
    show_table(session.console, titles, rows)
    return ExitCode.OK


def _cell(value: Any) -> str:
    if is_object(value):
        return ", ".join(counted(len(names), kind) for kind, names in value.items())
    return str(value)


def _show_one(session: Session, one: Described) -> ExitCode:
    if session.as_json:
        session.show_json(one)
        return ExitCode.OK
    options = one.pop("options", None)
    show_line(session.console, one.pop("name"), style="bold")
    doc = one.pop("doc", "")
    error = one.pop("error", None)
    if doc:
        show_line(session.console, f"\n{doc}\n")
    facts = {name.replace("_", " "): _fact(value) for name, value in one.items()}
    width = max(len(name) for name in facts)
    for name, fact in facts.items():
        if fact:
            show_line(session.console, f"  {name:<{width}}  {fact}")
    if error:
        show_line(session.console, f"\n{error}")
    if options is not None:
        _show_options(session, options)
    return ExitCode.OK


def _fact(value: Any) -> str:
    if is_object(value):
        return "; ".join(f"{key}: {_fact(each)}" for key, each in value.items())
    if is_array(value):
        return ", ".join(str(each) for each in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value or "")


def _show_options(session: Session, schema: Mapping[str, Any]) -> None:
    properties: Mapping[str, Any] = schema.get("properties", {})
    show_line(session.console)
    if not properties:
        show_line(session.console, "  It has no options.")
        return
    required = schema.get("required", ())
    rows = [
        (
            name,
            _type_of(option),
            "(required)" if name in required else _json(option.get("default")),
            " ".join(str(option.get("description", "")).split()),
        )
        for name, option in properties.items()
    ]
    columns = (
        Column("Option"),
        Column("Type", flexible=True),
        Column("Default"),
        Column("Meaning", flexible=True),
    )
    show_table(session.console, columns, rows, indent=2)


def _type_of(option: Mapping[str, Any]) -> str:
    """Return the type of an option in words, from its JSON schema."""
    if "enum" in option:
        return " | ".join(_json(value) for value in option["enum"])
    if "const" in option:
        return _json(option["const"])
    if "anyOf" in option:
        return " | ".join(_type_of(each) for each in option["anyOf"])
    if "$ref" in option:
        return str(option["$ref"]).rpartition("/")[2]
    if option.get("type") == "array" and isinstance(option.get("items"), Mapping):
        return f"list of {_type_of(option['items'])}"
    return str(option.get("type", "anything"))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

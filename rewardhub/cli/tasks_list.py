"""`rewardhub tasks list`, `show`, `write`: what is in a file of tasks, or comes from a source."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rewardhub.audit.task_files import read_tasks
from rewardhub.audit.task_sources import source_tasks
from rewardhub.builtin.formats import read_mapping
from rewardhub.cli.codes import ExitCode
from rewardhub.cli.options import MapOption, ReaderOption
from rewardhub.cli.session import Session
from rewardhub.errors import UnknownNameError, UsageError
from rewardhub.host import TaskSourceCard
from rewardhub.records import Task
from rewardhub.report.console import Column, counted, show_line, show_table

_ASKED_CHARS = 60

_Named = Annotated[
    str,
    typer.Argument(metavar="FILE|SOURCE", help="A file or folder of tasks, or a task source."),
]
_Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="An option of the source, in YAML; may be repeated."
    ),
]


def list_tasks(
    session: Session,
    *,
    named: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE|SOURCE]", help="Tasks; without it, the task sources are listed."
        ),
    ] = None,
    settings: _Settings = None,
    mapping: MapOption = None,
    reader: ReaderOption = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Only the first N.")
    ] = None,
) -> ExitCode:
    """List the tasks of a file, a folder or a source; or the sources."""
    if named is None:
        return _list_sources(session)
    found = itertools.islice(_tasks(session, named, settings, mapping, reader), limit)
    columns = ("id", "domain", "split", "asked")
    rows = [(task.id, task.domain, task.split or "", _in_short(task.prompt)) for task in found]
    if session.as_json:
        session.show_json([dict(zip(columns, row, strict=True)) for row in rows])
        return ExitCode.OK
    titles = [Column("Task"), Column("Domain"), Column("Split"), Column("Asked", flexible=True)]
    show_table(session.console, titles, rows)
    show_line(session.console, counted(len(rows), "task"))
    return ExitCode.OK


def show_task(
    session: Session,
    *,
    named: _Named,
    identity: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The task; without it, the first one.")
    ] = None,
    settings: _Settings = None,
    mapping: MapOption = None,
    reader: ReaderOption = None,
) -> ExitCode:
    """Show one task as JSON, with its reference and checks."""
    known: list[str] = []
    for task in _tasks(session, named, settings, mapping, reader):
        if identity in (None, task.id):
            session.show_json(task.model_dump(mode="json", exclude_none=True))
            return ExitCode.OK
        known.append(task.id)
    if identity is None:
        raise UsageError(f"`{named}` holds no task.")
    raise UnknownNameError("task", identity, known, named)


def write_tasks(
    session: Session,
    *,
    named: Annotated[str, typer.Argument(metavar="SOURCE", help="NAME, or NAME:WHAT.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to: a .jsonl file.")
    ],
    settings: _Settings = None,
    count: Annotated[
        int | None, typer.Option("--count", "-n", metavar="N", min=1, help="How many, at most.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="S", help="What a source draws from.")
    ] = None,
) -> ExitCode:
    """Write the tasks of a source into a file, to be kept, split and changed."""
    if out.suffix != ".jsonl":
        raise UsageError(f"`--out {out}`: tasks are written as JSON Lines, to a `.jsonl` file.")
    options = settings_of(settings or ())
    tasks = source_tasks(named, session.registry, options, count=count, seed=seed)
    half = out.with_name(f".{out.name}.part")
    written = 0
    with half.open("wb") as file:
        for task in tasks:
            file.write(task.to_json() + b"\n")
            written += 1
    half.replace(out)
    if session.as_json:
        session.show_json({"file": str(out), "tasks": written})
    else:
        session.show(f"{out}: {counted(written, 'task')}")
    return ExitCode.OK


def settings_of(settings: Sequence[str]) -> dict[str, Any]:
    """Return ``KEY=VALUE`` texts as a mapping, with values in YAML.

    Raises:
        UsageError: for what is no setting.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    found: dict[str, Any] = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier():
            raise UsageError(f"`--set {text}` is no setting: write `--set KEY=VALUE`.")
        try:
            found[key] = YAML(typ="safe", pure=True).load(value)
        except YAMLError as error:
            first = str(error).strip().splitlines()[0]
            raise UsageError(f"`--set {text}` is no YAML: {first}") from None
    return found


def _tasks(
    session: Session,
    named: str,
    settings: Sequence[str] | None,
    mapping: Sequence[str] | None,
    reader: str | None,
) -> Iterator[Task]:
    columns: Mapping[str, str] = read_mapping(mapping or ())
    options = settings_of(settings or ())
    return read_tasks(
        named, registry=session.registry, reader=reader, mapping=columns, options=options
    )


def _list_sources(session: Session) -> ExitCode:
    cards = [each.card for each in session.registry.all(TaskSourceCard).values()]
    rows = [(card.name, ", ".join(_options(card)), card.description) for card in cards]
    if session.as_json:
        keys = ("name", "options", "about")
        session.show_json([dict(zip(keys, row, strict=True)) for row in rows])
        return ExitCode.OK
    titles = [Column("Source"), Column("Options"), Column("About", flexible=True)]
    show_table(session.console, titles, rows)
    return ExitCode.OK


def _options(card: TaskSourceCard) -> list[str]:
    return [
        f"{each.name}, ..." if each.kind is inspect.Parameter.VAR_KEYWORD else each.name
        for each in inspect.signature(card.source).parameters.values()
    ]


def _in_short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _ASKED_CHARS else f"{line[: _ASKED_CHARS - 3]}..."

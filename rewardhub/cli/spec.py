"""`rewardhub spec`: check, show and describe reward specs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from rewardhub.audit.task_files import TaskRow, task_rows
from rewardhub.builtin.formats import read_mapping
from rewardhub.cli.codes import ExitCode
from rewardhub.cli.options import MapOption, ReaderOption
from rewardhub.cli.session import Session, command, command_app
from rewardhub.doors import FILLS
from rewardhub.errors import Mistake, UsageError, did_you_mean
from rewardhub.records import Task
from rewardhub.report.console import counted
from rewardhub.spec import RewardSpec, Route, check, json_schema, load, show
from rewardhub.spec.load import Checked

app = command_app()

_Spec = Annotated[
    str, typer.Argument(metavar="SPEC", help="A spec file, or a shipped spec's name.")
]


@command(app, "check")
def check_spec(
    session: Session,
    *,
    spec: _Spec,
    tasks: Annotated[
        Path | None,
        typer.Option("--tasks", metavar="FILE", help="Tasks that the spec is meant for."),
    ] = None,
    door: Annotated[
        str | None,
        typer.Option("--door", metavar="DOOR", help=f"One of {', '.join(FILLS)}."),
    ] = None,
    mapping: MapOption = None,
    reader: ReaderOption = None,
) -> ExitCode:
    """Find every mistake in a reward spec, each with its line and its fix."""
    if door is not None and door not in FILLS:
        hint = did_you_mean(door, FILLS) or f" Known: {', '.join(FILLS)}."
        raise UsageError(f"`--door {door}`: there is no such door.{hint}")
    registry = session.registry
    bad: list[Mistake] = []
    meant_for = None
    if tasks is not None:
        columns = read_mapping(mapping or ())
        rows = task_rows(tasks, registry, named=reader, mapping=columns)
        meant_for = _tasks_in(rows, str(tasks), bad)
    checked = check(spec, registry, tasks=meant_for, fills=FILLS[door] if door else None)
    checked = Checked(checked.spec, (*checked.mistakes, *bad))
    if session.as_json:
        session.show_json(_checked_json(spec, checked))
    else:
        _show_checked(session, spec, checked)
    return ExitCode.WRONG if checked.errors else ExitCode.OK


@command(app, "show")
def show_spec(session: Session, *, spec: _Spec) -> ExitCode:
    """Show a spec as it is run: after `extends`, with every default."""
    text = show(load(spec, session.registry))
    if session.as_json:
        from ruamel.yaml import YAML

        yaml: Any = YAML(typ="safe", pure=True)
        session.show_json(yaml.load(text))
    else:
        session.show(text)
    return ExitCode.OK


@command(app, "schema")
def show_schema(session: Session) -> ExitCode:
    """Write the JSON Schema of reward specs, for editors."""
    session.show(json.dumps(json_schema(session.registry), indent=2))
    return ExitCode.OK


def _tasks_in(rows: Iterable[TaskRow], file: str, bad: list[Mistake]) -> Iterator[Task]:
    """Yield the tasks of the rows; a row without one is a mistake at its line."""
    for each in rows:
        if each.task is None:
            line = None if each.where else each.row
            message = f"no task: {each.error}"
            bad.append(Mistake(message=message, file=each.where or file, line=line))
        else:
            yield each.task


def _checked_json(source: str, checked: Checked) -> dict[str, Any]:
    return {
        "spec": source,
        "ok": not checked.errors,
        "digest": checked.spec.digest if checked.spec else None,
        "mistakes": [_mistake_json(mistake) for mistake in checked.mistakes],
    }


def _mistake_json(mistake: Mistake) -> dict[str, Any]:
    return {
        "level": mistake.level,
        "file": mistake.file,
        "line": mistake.line,
        "column": mistake.column,
        "message": mistake.message,
    }


def _show_checked(session: Session, source: str, checked: Checked) -> None:
    for mistake in checked.mistakes:
        level = "warning: " if mistake.level == "warning" else ""
        session.show(f"{level}{mistake}")
    if checked.errors:
        session.show(f"{source}: {counted(len(checked.errors), 'mistake')}")
    elif checked.spec is not None:
        session.show(f"{source}: no mistakes ({_about(checked.spec)})")


def _about(spec: RewardSpec) -> str:
    if isinstance(spec, Route):
        return f"routes by {spec.by} to {counted(len(spec.all_specs), 'spec')}"
    low, high = spec.range
    parts = sum(1 for _ in spec.entries)
    success = f", success: {spec.success.text}" if spec.success else ""
    return (
        f"{spec.name} {spec.version}: {counted(len(spec.stages), 'stage')}, "
        f"{counted(parts, 'grader')}, rewards from {low:g} to {high:g}{success}"
    )

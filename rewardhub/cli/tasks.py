"""`rewardhub tasks`: list and write tasks, check them against a reward spec, hold some out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from rewardhub.audit.task_files import TaskRow, task_rows
from rewardhub.audit.tasks import REFERENCE, TaskCheck
from rewardhub.builtin.formats import read_mapping
from rewardhub.cli.codes import ExitCode
from rewardhub.cli.options import MapOption, ReaderOption, RewardOption, WorkersOption
from rewardhub.cli.session import Session, command, command_app
from rewardhub.cli.tasks_list import list_tasks, show_task, write_tasks
from rewardhub.cli.tasks_split import split
from rewardhub.engine.engine import Engine
from rewardhub.errors import Mistake
from rewardhub.host import AttackCard
from rewardhub.report.console import counted
from rewardhub.spec import check, load

app = command_app()


@app.callback()
def _group() -> None:
    """List, write, check and split tasks."""


command(app, "list")(list_tasks)
command(app, "show")(show_task)
command(app, "write")(write_tasks)
command(app, "split")(split)


@command(app, "check")
def check_tasks(
    session: Session,
    *,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|SOURCE", help="Tasks (a file, a folder, a source), or attempts at them."
        ),
    ],
    reward: RewardOption,
    answer: Annotated[
        str,
        typer.Option(
            "--answer",
            metavar="TEXT",
            help=f"How a right answer is written; {REFERENCE} stands for the reference.",
        ),
    ] = REFERENCE,
    mapping: MapOption = None,
    reader: ReaderOption = None,
    workers: WorkersOption = None,
) -> ExitCode:
    """Try every task with answers whose worth is known.

    The reference must earn success; an empty answer, "I don't know.", a copy of the prompt and
    the attacks that packs bring must not. The checks of the tasks must be valid. Exit code 0: no
    problem; 1: some; 2: the command or the spec was wrong.
    """
    registry = session.registry
    columns = read_mapping(mapping or ())
    spec = load(reward, registry)

    def rows() -> Iterator[TaskRow]:
        return task_rows(file, registry, named=reader, mapping=columns)

    tasks = (each.task for each in rows() if each.task is not None)
    mistakes = check(reward, registry, tasks=tasks).mistakes
    attacks = [each.card for each in registry.all(AttackCard).values()]
    with Engine(spec, registry=registry, workers=workers, isolate=True) as engine:
        trial = TaskCheck(engine, answer, attacks)
        problems = list(trial.problems(rows()))
    errors = [mistake for mistake in mistakes if mistake.level == "error"]
    if session.as_json:
        session.show_json(
            {
                "ok": not errors and not problems,
                "file": str(file),
                **asdict(trial.counts),
                "mistakes": [str(mistake) for mistake in mistakes],
                "problems": [asdict(problem) for problem in problems],
            }
        )
    else:
        for mistake in mistakes:
            session.show(_mistake_line(mistake))
        for problem in problems:
            name = f"task {problem.task}: " if problem.task else ""
            session.show(f"{problem.where or f'{file}:{problem.row}'}: {name}{problem.message}")
        session.show(_verdict(trial.counts.tasks, trial.counts.without_reference, len(problems)))
    return ExitCode.INCOMPLETE if errors or problems else ExitCode.OK


def _mistake_line(mistake: Mistake) -> str:
    return f"warning: {mistake}" if mistake.level == "warning" else str(mistake)


def _verdict(tasks: int, without_reference: int, problems: int) -> str:
    told = f"{counted(tasks, 'task')}, {counted(problems, 'problem')}"
    if without_reference:
        told += f" ({without_reference:,} without a reference that could be tried)"
    return told

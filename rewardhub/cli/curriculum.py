"""`rewardhub curriculum`: what to train on next, and how often."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rewardhub.cli.codes import ExitCode
from rewardhub.cli.session import Session, command, command_app
from rewardhub.errors import UsageError
from rewardhub.export.curriculum import ASIDE, Curriculum, Settings, make_curriculum
from rewardhub.export.difficulty import Prior
from rewardhub.export.openrlhf import NOT_TRAINED_ON, Written, check_folder, write_curriculum
from rewardhub.report.console import Column, counted, show_line, show_table
from rewardhub.report.scored import open_run
from rewardhub.report.shelf import Shelf

if TYPE_CHECKING:
    from rich.console import Console

app = command_app()

_DEFAULT = Settings()


@command(app)
def curriculum(
    session: Session,
    *,
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run folders, in the order in which they were made."),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="DIR", help="The folder that the data sets go to."),
    ],
    stages: Annotated[
        int, typer.Option("--stages", metavar="N", help="How many bands of difficulty.")
    ] = _DEFAULT.stages,
    prior: Annotated[
        str,
        typer.Option(
            "--prior", metavar="A,B", help="What is believed of a pass rate before: Beta(A, B)."
        ),
    ] = "0.5,0.5",
    keep: Annotated[
        float,
        typer.Option(
            "--keep", metavar="SHARE", help="What an attempt counts once a later run is added."
        ),
    ] = _DEFAULT.keep,
    never: Annotated[
        float,
        typer.Option("--never", metavar="RATE", help="Set tasks aside that pass at most so often."),
    ] = _DEFAULT.never,
    always: Annotated[
        float,
        typer.Option(
            "--always", metavar="RATE", help="Set tasks aside that pass at least so often."
        ),
    ] = _DEFAULT.always,
    sure: Annotated[
        float,
        typer.Option("--sure", metavar="P", help="How probable that must be to set them aside."),
    ] = _DEFAULT.sure,
) -> ExitCode:
    """Choose what to train on next, by what attempts show of each task's difficulty.

    Writes data sets for OpenRLHF, one for each band of difficulty, and prints the options that
    make it draw prompts by how much there is to learn from them. Tasks of another split than
    `train` never enter. Give the runs of all training so far in order: later ones count for more.
    """
    settings = Settings(
        prior=_prior(prior), keep=keep, stages=stages, never=never, always=always, sure=sure
    )
    check_folder(out)
    opened = [open_run(run, session.registry) for run in runs]
    with Shelf() as shelf:
        made = make_curriculum(opened, settings, shelf)
        written = write_curriculum(made, out, shelf)
    if session.as_json:
        session.show_json(_told(made, written))
    else:
        _show(session.console, made, written)
    return ExitCode.OK


def _prior(text: str) -> Prior:
    try:
        a, b = (float(each) for each in text.split(","))
    except ValueError:
        raise UsageError(f"`--prior {text}`: write two numbers, as 0.5,0.5.") from None
    return Prior(a, b)


def _told(made: Curriculum, written: Written) -> dict[str, object]:
    return {
        "folder": str(written.folder),
        "stages": [stage.to_json() for stage in written.stages],
        "aside": dict(sorted(made.reasons.items())),
        "changed": made.changed,
        "options": written.options,
        "epoch": written.epoch,
    }


def _show(console: Console, made: Curriculum, written: Written) -> None:
    tasks = sum(stage.tasks for stage in written.stages)
    show_line(console, f"{counted(tasks, 'task')} to train on, {len(made.aside):,} set aside")
    show_line(console)
    columns = (
        Column("Data set", flexible=True),
        Column("Tasks", right=True),
        Column("Pass rates"),
        Column("Drawn", right=True),
    )
    rows = [
        (
            str(stage.path),
            f"{stage.tasks:,}",
            f"{stage.easiest:.3f} to {stage.hardest:.3f}",
            f"{stage.probability:.1%}",
        )
        for stage in written.stages
    ]
    show_table(console, columns, rows, indent=2)
    for reason, says in ASIDE.items():
        if count := made.reasons[reason]:
            show_line(console, f"  set aside: {count:,} {reason} ({says})")
    if made.changed:
        show_line(console, f"  begun anew: {made.changed:,}, for their content has changed")
    show_line(console)
    show_line(console, f"OpenRLHF ({written.epoch:,} prompts an epoch; easy to hard: one by one):")
    show_line(console, f"  {written.options}")
    if made.aside:
        show_line(console, f"Set aside: {written.folder / NOT_TRAINED_ON}")

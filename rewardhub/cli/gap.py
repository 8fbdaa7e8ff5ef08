"""`rewardhub gap`: what stands between a policy and its tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rewardhub.cli.codes import ExitCode
from rewardhub.cli.session import Session, command, command_app
from rewardhub.errors import UsageError
from rewardhub.report.gap import gap_of
from rewardhub.report.gap_pages import gap_markdown, show_gap
from rewardhub.report.gap_rules import thresholds_of
from rewardhub.report.scored import open_run

app = command_app()


@command(app)
def gap(
    session: Session,
    *,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    k: Annotated[
        int | None,
        typer.Option(
            "--k",
            metavar="K",
            min=1,
            help="Of pass@k and majority@k; by default what nine in ten tasks have attempts for.",
        ),
    ] = None,
    tasks: Annotated[
        int,
        typer.Option("--tasks", metavar="N", min=0, help="How many of the hardest tasks to list."),
    ] = 20,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A threshold of the rules; may be repeated."
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="The report as Markdown.")] = False,
) -> ExitCode:
    """Say how often tasks succeed, and whether knowledge, behaviour or usage is what lacks.

    By domain and by task: pass@1, pass@k and majority@k with intervals, the deficit with its
    evidence, and what it suggests. Attempts whose success is not known are left out, and counted.
    """
    if session.as_json and markdown:
        raise UsageError("`--json` and `--markdown` are two forms of the report: choose one.")
    thresholds = thresholds_of(settings or ())
    report = gap_of(open_run(run, session.registry), k=k, thresholds=thresholds)
    if session.as_json:
        session.show_json(report.to_json())
    elif markdown:
        session.show(gap_markdown(report, tasks=tasks))
    else:
        show_gap(session.console, report, tasks=tasks)
    return ExitCode.OK

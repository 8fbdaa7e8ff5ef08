"""`rewardhub explain`: why a trajectory got its reward."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rewardhub.cli.codes import ExitCode
from rewardhub.cli.session import Session, command, command_app
from rewardhub.report.explain import explain as explained
from rewardhub.report.explanation_tree import show_explanation

app = command_app()


@command(app)
def explain(
    session: Session,
    *,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    name: Annotated[
        str,
        typer.Argument(metavar="ID", help="The trajectory's id, or its place: answers.jsonl:17."),
    ],
) -> ExitCode:
    """Say why a trajectory got its reward: stage by stage, part by part, step by step."""
    explanation = explained(run, name, session.registry)
    if session.as_json:
        session.show_json(explanation.to_json())
    else:
        show_explanation(session.console, explanation)
    return ExitCode.OK

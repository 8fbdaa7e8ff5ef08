"""`rewardhub new`: begin something of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rewardhub.cli.codes import ExitCode
from rewardhub.cli.new import create_pack
from rewardhub.cli.session import Session, command, command_app

app = command_app()


@app.callback()
def _group() -> None:
    """Begin something of your own."""


@command(app, "pack")
def new_pack(
    session: Session,
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The domain of its graders.")],
    folder: Annotated[
        Path, typer.Option("--in", metavar="DIR", help="Where the pack's folder is made.")
    ] = Path(),
) -> ExitCode:
    """Begin a pack: it can be installed, and has a grader, a passing test and cases.jsonl."""
    made = create_pack(name, folder)
    if session.as_json:
        session.show_json({"pack": name, "folder": str(made)})
    else:
        session.show(f"{made} is ready. Next: pip install -e {made} && pytest {made}")
    return ExitCode.OK

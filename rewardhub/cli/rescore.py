"""`rewardhub rescore`: a run again, by another reward spec."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from rewardhub.cli.codes import ExitCode
from rewardhub.cli.options import (
    JudgeCacheOnlyOption,
    NoCacheOption,
    OutOption,
    RewardOption,
    RunOption,
    UnorderedOption,
    WorkersOption,
)
from rewardhub.cli.output import output_for
from rewardhub.cli.running import How, carry_out
from rewardhub.cli.session import Session, command, command_app
from rewardhub.engine.folder import Input, Plan, RunFolder, cut_torn_line
from rewardhub.errors import UsageError
from rewardhub.host import ReaderCard
from rewardhub.report.scored import open_run

app = command_app()


@command(app)
def rescore(
    session: Session,
    *,
    old: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    reward: RewardOption,
    out: OutOption = None,
    run: RunOption = None,
    workers: WorkersOption = None,
    no_cache: NoCacheOption = False,
    judge_cache_only: JudgeCacheOnlyOption = False,
    unordered: UnorderedOption = False,
) -> ExitCode:
    """Score a run again by another spec, or after an edit: only what changed is graded.

    Inputs, mapping and readers are those of RUN. Scores of RUN whose grader, options and row are
    the same are used again. The results go to a new run folder beside RUN.
    """
    if session.as_json and str(out) == "-":
        raise UsageError("`--json` and `--out -` both write to stdout: choose one.")
    described = open_run(old).described
    inputs = tuple(_input(session, each) for each in described["inputs"])
    how = How(
        workers=workers,
        cache=not no_cache,
        judge_cache_only=judge_cache_only,
        ordered=not unordered,
    )
    spec = how.load(reward, session.registry)
    output = output_for(out, session.registry, [each.path for each in inputs])
    plan = Plan(
        reward=spec, inputs=inputs, mapping=described["mapping"], facts=described.get("facts")
    )
    folder = run or old.with_name(f"{old.resolve().name}-{spec.digest[:8]}")
    if folder.resolve() == old.resolve():
        return carry_out(session, plan, folder, output, how)
    with ExitStack() as stack:
        held = RunFolder(old)  # nobody writes to it meanwhile
        stack.callback(held.close)
        cut_torn_line(held.ledger)
        previous = (held.ledger, dict(described))
        return carry_out(session, plan, folder, output, how, previous=previous)


def _input(session: Session, described: Mapping[str, Any]) -> Input:
    """Return an input of the old run.

    Raises:
        UsageError: if the file is not what it was, or its reader is not installed.
    """
    path = Path(described["path"])
    if not path.is_file():
        raise UsageError(f"The input `{path}` of the run is gone. Put it back, or score anew.")
    session.registry.get(ReaderCard, described["reader"], where=f"the reader of `{path}`")
    now = Input(path=path, reader=described["reader"])
    if now.to_json() != dict(described):
        raise UsageError(
            f"The input `{path}` has changed since the run. Score it anew: `rewardhub score`."
        )
    return now

"""`rewardhub score`: files of trajectories in, rewards out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from rewardhub.builtin.formats import read_mapping, reader_for
from rewardhub.cli.codes import ExitCode
from rewardhub.cli.options import (
    JudgeCacheOnlyOption,
    MapOption,
    NoCacheOption,
    OutOption,
    ReaderOption,
    RewardOption,
    RunOption,
    StrictOption,
    UnorderedOption,
    WorkersOption,
)
from rewardhub.cli.output import output_for
from rewardhub.cli.running import How, carry_out, default_folder
from rewardhub.cli.session import Session, command, command_app
from rewardhub.contracts import ReadOptions
from rewardhub.engine.ahead import workers_ahead
from rewardhub.engine.folder import Input, Plan
from rewardhub.errors import UsageError
from rewardhub.records import EMPTY

app = command_app()


@command(app)
def score(
    session: Session,
    *,
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Files of trajectories.")],
    reward: RewardOption,
    out: OutOption = None,
    run: RunOption = None,
    mapping: MapOption = None,
    reader: ReaderOption = None,
    workers: WorkersOption = None,
    no_cache: NoCacheOption = False,
    judge_cache_only: JudgeCacheOnlyOption = False,
    unordered: UnorderedOption = False,
    strict: StrictOption = False,
) -> ExitCode:
    """Score files of trajectories by a reward spec.

    Results go to the ledger of the run folder, one JSON object per trajectory, and to --out. The
    same command goes on with a run that was interrupted. Exit code 0: every trajectory got a
    reward; 1: some did not; 2: the command or the spec was wrong; 130 or 143: interrupted.
    """
    how = How(
        workers=workers,
        cache=not no_cache,
        judge_cache_only=judge_cache_only,
        ordered=not unordered,
        strict=strict,
    )
    columns = read_mapping(mapping or ())
    return score_files(
        session, files, reward, run=run, out=out, mapping=columns, reader=reader, how=how
    )


def score_files(
    session: Session,
    files: Sequence[Path],
    reward: str,
    *,
    run: Path | None = None,
    out: Path | None = None,
    mapping: Mapping[str, str] = EMPTY,
    reader: str | None = None,
    how: How | None = None,
) -> ExitCode:
    """Score files into a run folder as `rewardhub score` does, and tell what came of it.

    Args:
        session: the command's.
        files: trajectories.
        reward: path of a reward file, or the name of a shipped spec.
        run: the run folder; None: one that the same command finds again.
        out: where results are written, too.
        mapping: field -> column, for the readers.
        reader: name of the reader, where a file does not tell.
        how: how the run is carried out.

    Raises:
        UsageError: for a file that is missing or named twice, or that no reader can read.
        SpecError: with every mistake of the reward file.
    """
    if session.as_json and str(out) == "-":
        raise UsageError("`--json` and `--out -` both write to stdout: choose one.")
    how = how or How()
    with workers_ahead() as launcher:
        spec = how.load(reward, session.registry)
        inputs = _inputs(session, files, reader, mapping)
        output = output_for(out, session.registry, files)
        plan = Plan(reward=spec, inputs=inputs, mapping=mapping)
        folder = run or default_folder(spec, reward, files)
        ready = replace(how, launcher=launcher)
        return carry_out(session, plan, folder, output, ready)


def _inputs(
    session: Session, files: Sequence[Path], reader: str | None, mapping: Mapping[str, str]
) -> tuple[Input, ...]:
    """Return the inputs with their readers.

    Raises:
        UsageError: for a file that is missing or named twice, or that no reader can read.
    """
    inputs: list[Input] = []
    for path in files:
        if not path.is_file():
            raise UsageError(f"`{path}` {'is no file' if path.exists() else 'does not exist'}.")
        if any(path.resolve() == each.path.resolve() for each in inputs):
            raise UsageError(f"`{path}` is named twice.")
        card = reader_for(path, session.registry, named=reader, mapping=mapping).card
        card.reader().check(ReadOptions(mapping=mapping, source=path.name))
        inputs.append(Input(path=path, reader=card.name))
    return tuple(inputs)

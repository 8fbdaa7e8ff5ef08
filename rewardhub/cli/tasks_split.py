"""`rewardhub tasks split`: hold tasks out, so that nothing leaks."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rewardhub.audit.near_duplicates import NumberRule
from rewardhub.audit.splitting import Division, SplitSettings, split_tasks, write_split
from rewardhub.audit.task_files import read_tasks
from rewardhub.builtin.formats import read_mapping
from rewardhub.cli.codes import ExitCode
from rewardhub.cli.options import MapOption, ReaderOption
from rewardhub.cli.session import Session
from rewardhub.errors import UsageError
from rewardhub.report.console import Column, counted, show_line, show_table

if TYPE_CHECKING:
    from rich.console import Console

_DEFAULT = SplitSettings()
_FAR_OFF = 2.0


def split(
    session: Session,
    *,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Files and folders of tasks, or task sources."),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="DIR", help="The folder that the two files go to."),
    ],
    held_out: Annotated[
        float, typer.Option("--held-out", metavar="SHARE", help="The share that is held out.")
    ] = _DEFAULT.held_out,
    threshold: Annotated[
        float,
        typer.Option(
            "--threshold",
            metavar="LIKENESS",
            help="How alike two tasks are at least to be kept on one side, from 0.5 to 1.",
        ),
    ] = _DEFAULT.threshold,
    numbers: Annotated[
        str,
        typer.Option(
            "--numbers",
            metavar="keep|mask",
            help="Whether tasks that differ in their numbers alone are told apart.",
        ),
    ] = _DEFAULT.numbers,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave tasks on the side that they are on already.")
    ] = _DEFAULT.keep,
    mapping: MapOption = None,
    reader: ReaderOption = None,
) -> ExitCode:
    """Split tasks into those to train on and those held out.

    The side hangs on a digest of the task's content, so the same task is always on the same side.
    Near-duplicates, and what is connected through them, stay together. Writes `train.jsonl`,
    `held-out.jsonl` and a report, `split.json`, into DIR.
    """
    settings = SplitSettings(
        held_out=held_out, threshold=threshold, numbers=_rule(numbers), keep=keep
    )
    columns = read_mapping(mapping or ())
    registry = session.registry
    tasks = chain.from_iterable(
        read_tasks(file, registry=registry, reader=reader, mapping=columns) for file in files
    )
    division = split_tasks(tasks, settings)
    written = write_split(division, out)
    if session.as_json:
        session.show_json({**division.to_json(), "files": [str(path) for path in written]})
    else:
        _show(session.console, division, written)
    for warning in _warnings(division):
        session.warn(warning)
    return ExitCode.OK


def _rule(text: str) -> NumberRule:
    match text:
        case "keep" | "mask":
            return text
        case _:
            raise UsageError(f"`--numbers {text}`: write `keep` or `mask`.")


def _show(console: Console, division: Division, written: tuple[Path, ...]) -> None:
    total = len(division.tasks)
    show_line(console, f"{counted(total, 'task')}, {division.share:.1%} held out")
    show_line(console)
    columns = (
        Column("Domain", flexible=True),
        Column("Train", right=True),
        Column("Held out", right=True),
    )
    rows = [
        (name or "(none)", f"{sides['train']:,}", f"{sides['held-out']:,}")
        for name, sides in division.domains.items()
    ]
    show_table(console, columns, rows, indent=2)
    show_line(console)
    if division.clusters:
        inside = sum(map(len, division.clusters))
        largest = len(division.clusters[0])
        clusters = counted(len(division.clusters), "cluster")
        show_line(
            console,
            f"  near-duplicates: {inside:,} tasks in {clusters}, the largest of {largest:,}",
        )
    if division.repeated:
        show_line(console, f"  left out: {division.repeated:,} that repeat another")
    if division.moved:
        show_line(console, f"  on another side than before: {len(division.moved):,}")
    show_line(console, f"Written: {', '.join(str(path) for path in written)}")


def _warnings(division: Division) -> list[str]:
    found: list[str] = []
    asked, share = division.settings.held_out, division.share
    largest = len(division.clusters[0]) if division.clusters else 1
    if largest > len(division.tasks) * min(asked, 1 - asked):
        found.append(
            f"One cluster of near-duplicates has {largest:,} of {len(division.tasks):,} tasks and "
            "stays together. If these are different tasks of one template, raise `--threshold`."
        )
    if not asked / _FAR_OFF <= share <= asked * _FAR_OFF:
        found.append(f"{share:.1%} are held out, and {asked:.1%} were asked for.")
    if division.crowded:
        found.append(
            f"{division.crowded:,} tasks stand in a crowd of half-alike ones, where a pair just as "
            "alike as the threshold may be missed. `--numbers mask` or a lower `--threshold` "
            "keeps all of a template together."
        )
    return found

"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RewardOption = Annotated[
    str,
    typer.Option("--reward", "-r", metavar="SPEC", help="A spec file, or a shipped spec's name."),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Where to write the results, too: .jsonl, .jsonl.gz, .jsonl.zst or .parquet; "
        "`-` for stdout.",
    ),
]
RunOption = Annotated[
    Path | None,
    typer.Option(
        "--run",
        metavar="DIR",
        help="The run folder. By default one under rewardhub-runs/ that the same command finds "
        "again.",
    ),
]
MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="FIELD=COLUMN",
        help="Which column holds a field, as reference=ground_truth; may be repeated.",
    ),
]
ReaderOption = Annotated[
    str | None,
    typer.Option("--reader", metavar="NAME", help="The reader, where a file does not tell."),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        envvar="REWARDHUB_WORKERS",
        help="How many worker processes; by default one for each core, at most 8.",
    ),
]
NoCacheOption = Annotated[
    bool,
    typer.Option(
        "--no-cache",
        help="Neither use nor fill the cache of Scores (its folder: REWARDHUB_CACHE).",
    ),
]
JudgeCacheOnlyOption = Annotated[
    bool,
    typer.Option(
        "--judge-cache-only",
        envvar="REWARDHUB_JUDGE_CACHE_ONLY",
        help="Ask judges nothing: answer with kept verdicts alone. Needs no endpoint and no key.",
    ),
]
UnorderedOption = Annotated[
    bool,
    typer.Option("--unordered", help="Write results as they come, in no order: a slow row waits."),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="End at the first row that is no trajectory.")
]

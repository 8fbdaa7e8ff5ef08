"""`rewardhub judge measure`: how far judges are to be believed."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from rewardhub import ExitCode, Session, UsageError, command, command_app, score_files
from rewardhub_judge.measure.agreement import Level, Weighting
from rewardhub_judge.measure.files import Recorded, read_recorded
from rewardhub_judge.measure.measures import measure
from rewardhub_judge.measure.needs import needed
from rewardhub_judge.measure.plot import check_plot, draw
from rewardhub_judge.measure.record import Asked
from rewardhub_judge.measure.runs import read_run
from rewardhub_judge.measure.show import as_json, as_text

__all__ = ["app"]

app = command_app("Judges: language models that grade.")


@app.callback()
def _judge() -> None:
    """Keep `measure` a word of its own: typer would make the only command the app itself."""


Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="Recorded decisions (JSON Lines), or a run folder with --labels, or trajectories with "
        "--labels and --reward.",
        show_default=False,
    ),
]
Labels = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        metavar="FILE",
        help="Labels for a run: JSON Lines with `id` and `label`. first, second and tie label "
        "groups of two; other labels belong to trajectories.",
    ),
]
Reward = Annotated[
    str | None,
    typer.Option(
        "--reward",
        "-r",
        metavar="SPEC",
        help="Ask the judges of this spec first: FILE is scored with it.",
    ),
]
Run = Annotated[
    Path | None,
    typer.Option("--run", metavar="DIR", help="The run folder of --reward."),
]
Parts = Annotated[
    list[str] | None,
    typer.Option(
        "--part",
        metavar="ID",
        help="A part of the run's reward, or `reward`; may be repeated. Default: the parts that "
        "ask a judge.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="FIELD=COLUMN",
        help="Which column holds a field, as label=human_score; may be repeated.",
    ),
]
LevelOption = Annotated[
    Level | None,
    typer.Option(
        "--level",
        help="Of scores. Default: words are nominal, whole numbers ordinal, others interval.",
    ),
]
Weights = Annotated[
    Weighting, typer.Option("--weights", help="What a disagreement weighs in Cohen's kappa.")
]
Threshold = Annotated[
    float | None,
    typer.Option("--threshold", metavar="X", help="Scores from X on count as 1, others as 0."),
]
Resamples = Annotated[
    int,
    typer.Option(
        "--resamples", min=0, help="Draws of the bootstrap for each interval; 0 makes none."
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Of the draws.")]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw it, too: .png, .svg or .pdf."),
]


@command(app, "measure")
def measure_judges(
    session: Session,
    files: Files,
    *,
    labels: Labels = None,
    reward: Reward = None,
    run: Run = None,
    parts: Parts = None,
    columns: Columns = None,
    level: LevelOption = None,
    weights: Weights = "none",
    threshold: Threshold = None,
    resamples: Resamples = 2000,
    seed: Seed = 0,
    plot: Plot = None,
) -> ExitCode:
    """Measure judges against labels, and for biases of place and length.

    Reads decisions recorded in a file, of its own format or of LLMBar, JudgeBench, PandaLM and
    Prometheus, or what the judges of a run gave to its rows. Tells accuracy, Cohen's kappa,
    Krippendorff's alpha, how far place and length sway a judge and how far it agrees with itself,
    each with a 95 % interval. Exit code 0: measured; 2: the command or a file was wrong.
    """
    needed("numpy", "measure")
    if plot is not None:
        check_plot(plot)
        if len(files) > 1 and reward is None:
            raise UsageError("`--plot` draws one file: name one, or call it once for each.")
    asked = Asked(
        level=level, weighting=weights, threshold=threshold, resamples=resamples, seed=seed
    )
    mapping = _mapping(columns or ())
    if reward is not None:
        files = [_scored(session, files, reward, run, labels)]
    told = []
    for file in files:
        recorded = _recorded(file, labels, mapping, parts or ())
        report = measure(recorded, asked)
        told.append((file, recorded.format, report))
        if plot is not None:
            draw(report, plot)
            session.say(f"Picture: {plot}")
    if session.as_json:
        session.show_json({"schema_version": 1, "files": [as_json(*each) for each in told]})
    else:
        session.show("\n\n".join(as_text(*each) for each in told))
    return ExitCode.OK


def _recorded(
    file: Path, labels: Path | None, mapping: Mapping[str, str], parts: Sequence[str]
) -> Recorded:
    if not file.is_dir():
        if labels is not None:
            raise UsageError(
                f"{file} is a file, and `--labels` go with a run folder. Recorded decisions have "
                "their labels in their rows; trajectories are scored first, with `--reward SPEC`."
            )
        return read_recorded(file, mapping)
    if labels is None:
        raise UsageError(f"{file} is a run folder: say where its labels are, `--labels FILE`.")
    return read_run(file, labels, mapping, parts)


def _scored(
    session: Session, files: list[Path], reward: str, run: Path | None, labels: Path | None
) -> Path:
    """Score trajectories as `rewardhub score` does, its words on stderr; return the run folder."""
    if run is None or labels is None:
        raise UsageError("`--reward` needs `--labels FILE`, and `--run DIR` for its run folder.")
    with contextlib.redirect_stdout(sys.stderr):
        code = score_files(replace(session, as_json=False), files, reward, run=run)
    if code not in {ExitCode.OK, ExitCode.INCOMPLETE}:
        raise typer.Exit(code)
    return run


def _mapping(columns: Sequence[str]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for each in columns:
        field, equals, column = each.partition("=")
        if not (field and equals and column):
            raise UsageError(f"`--map {each}`: say FIELD=COLUMN, as label=human_score.")
        found[field] = column
    return found

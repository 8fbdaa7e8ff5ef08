"""`rewardhub prm`: train a process reward model, and measure one."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from rewardhub import ExitCode, Session, UsageError, command, command_app
from rewardhub_prm.labelled import LabelledRow, of_splits, read_labelled
from rewardhub_prm.presets import Aggregation, PresetName

app = command_app("Train a process reward model, and measure one.")

Rows = Annotated[
    list[Path],
    typer.Argument(metavar="ROWS...", help="JSONL files of solutions whose steps are labelled."),
]
Splits = Annotated[
    list[str] | None,
    typer.Option("--split", metavar="NAME", help="Use rows of this split only; may be repeated."),
]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or cuda:1.")]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        min=16,
        help="Tokens the model is given at once. Default: what it was made for.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Of every draw.")]


@command(app, "train")
def train_head(
    session: Session,
    *,
    rows: Rows,
    base: Annotated[
        str, typer.Option("--base", metavar="MODEL", help="Folder or hub name to put the head on.")
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="A new folder for the trained model.")
    ],
    split: Splits = None,
    validate: Annotated[
        float, typer.Option("--validate", help="Share of the problems that training stops by.")
    ] = 0.15,
    hold_out: Annotated[
        float, typer.Option("--hold-out", help="Share of the problems that stays unseen.")
    ] = 0.0,
    labels: Annotated[
        Literal["soft", "hard"],
        typer.Option("--labels", help="hard: every label is rounded to 0 or 1."),
    ] = "soft",
    after_error: Annotated[
        bool, typer.Option("--after-error", help="Learn from the steps after an error, too.")
    ] = False,
    balance: Annotated[
        bool,
        typer.Option("--balance/--no-balance", help="Let wrong and right steps count the same."),
    ] = True,
    frozen: Annotated[
        bool, typer.Option("--frozen", help="Train the head alone, on features read once.")
    ] = False,
    layers: Annotated[
        int | None, typer.Option("--layers", min=1, help="Keep only the first layers of the model.")
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option("--separator", help="Text after each step. Default: the separator token."),
    ] = None,
    aggregate: Annotated[
        Aggregation, typer.Option("--aggregate", help="What makes one value of the steps' values.")
    ] = "min",
    epochs: Annotated[
        int | None, typer.Option("--epochs", min=1, help="At most. Default: 5; frozen: 200.")
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option("--rate", min=0.0, help="Learning rate. Default: 5e-5; frozen: 5e-3."),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            "--patience",
            min=1,
            help="Epochs without progress to stop after. Default: 2; frozen: 20.",
        ),
    ] = None,
    batch_tokens: Annotated[
        int, typer.Option("--batch-tokens", min=1, help="Tokens in a batch, padding included.")
    ] = 4096,
    max_tokens: MaxTokens = None,
    device: Device = "auto",
    seed: Seed = 0,
) -> ExitCode:
    """Train a head that tells right steps from wrong ones, and save it for the preset generic.

    Rows are ProcessBench, MR-GSM8K, BIG-Bench Mistake, PRM800K, Math-Shepherd, TRL's stepwise
    rows, or {"input": "... <step> ...", "value": [...]}; each is known by its shape. They are
    parted by problem: all attempts at equal or nearly equal problems are in one part.
    """
    from rewardhub_prm.train import Training, train, write_card
    from rewardhub_prm.train_fit import Schedule

    found = of_splits(read_labelled(rows), split or ())
    plan = Training(
        validate=validate,
        hold_out=hold_out,
        hard=labels == "hard",
        after_error=after_error,
        balanced=balance,
        frozen=frozen,
        layers=layers,
        separator=separator,
        max_tokens=max_tokens,
        aggregate=aggregate,
        device=device,
        schedule=Schedule(
            epochs=epochs or (200 if frozen else 5),
            rate=rate or (5e-3 if frozen else 5e-5),
            decay=0.1,
            patience=patience or (20 if frozen else 2),
            batch_tokens=batch_tokens,
            seed=seed,
        ),
    )
    data = [_data(path) for path in rows]
    trained = train(found, base, out, plan, data=data, tell=session.say)
    checked = _check_validation(session, trained.parts["validation"], out, device)
    card = {**trained.card, "validation": checked}
    write_card(out, card)
    if session.as_json:
        session.show_json(card)
    else:
        session.show(_told(card, out))
    return ExitCode.OK


def _check_validation(session: Session, rows: Any, out: Path, device: str) -> dict[str, Any] | None:
    """Measure the validation part with the saved model, by the way that graders use it."""
    from rewardhub_prm.measure_figures import figures_of, tuned_threshold
    from rewardhub_prm.measure_values import ask_model

    known = [row for row in rows if row.has_verdict]
    if not known:
        return None
    session.say("reading the validation part with the saved model")
    valued = ask_model(known, str(out), device=device, dtype="float32")
    kinds = {each.row.first_error is None for each in valued}
    threshold = tuned_threshold(valued) if len(kinds) == 2 else None
    figures = figures_of(valued, threshold=0.5, resamples=0).estimates
    return {
        "rows": len(known),
        "figures_at_0.5": {name: each.value for name, each in figures.items()},
        "tuned_threshold": threshold,
    }


def _told(card: dict[str, Any], out: Path) -> str:
    parts = [
        f"{name}: {part['rows']:,} rows, {part['right_steps']:,} right and "
        f"{part['wrong_steps']:,} wrong steps"
        for name, part in card["parts"].items()
        if part["rows"]
    ]
    told = [*parts, f"kept: epoch {card['kept_epoch']} of {len(card['epochs'])}"]
    if checked := card["validation"]:
        figures = checked["figures_at_0.5"]
        shown = (f"{name} {figures[name]:.3f}" for name in ("f1", "auroc") if figures[name])
        told.append(", ".join(("validation at 0.5:", *shown)).replace(":,", ":"))
        if checked["tuned_threshold"] is not None:
            told.append(f"validation is best at: {checked['tuned_threshold']:.4g}")
    return "\n".join((*told, f"saved: {out} ({card['seconds']} s)"))


def _data(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"name": path.name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


@command(app, "measure")
def measure_model(
    session: Session,
    *,
    rows: Rows,
    model: Annotated[
        str | None, typer.Option("--model", metavar="MODEL", help="The model that gives values.")
    ] = None,
    values: Annotated[
        Path | None,
        typer.Option("--values", metavar="FILE", help="A JSONL file of id and values instead."),
    ] = None,
    split: Splits = None,
    preset: Annotated[
        Literal["auto", PresetName], typer.Option("--preset", help="How the model is asked.")
    ] = "auto",
    threshold: Annotated[
        str,
        typer.Option(
            "--threshold",
            help="A step is wrong below this number; trained: what the model's training found.",
        ),
    ] = "0.5",
    tune_on: Annotated[
        str | None,
        typer.Option(
            "--tune-on", metavar="SPLIT", help="Find the threshold on this split; measure the rest."
        ),
    ] = None,
    keep_seen: Annotated[
        bool, typer.Option("--keep-seen", help="Measure problems of the training, too.")
    ] = False,
    save_values: Annotated[
        Path | None,
        typer.Option("--save-values", metavar="FILE", help="Write the values, for --values."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw a picture (.png, .svg).")
    ] = None,
    resamples: Annotated[
        int, typer.Option("--resamples", min=0, help="Draws for the intervals.")
    ] = 1000,
    max_tokens: MaxTokens = None,
    device: Device = "auto",
    dtype: Annotated[
        str, typer.Option("--dtype", help="auto, bfloat16, float16 or float32.")
    ] = "auto",
    seed: Seed = 0,
) -> ExitCode:
    """Measure how well a model finds the first wrong step of a solution, as ProcessBench does.

    Error found: of the solutions with an error, how many have their first step below the threshold
    where people say the first error is. Left alone: of the others, how many have no step below it.
    F1: the harmonic mean of the two. The baselines need no model. Problems that the model was
    trained on are left out.
    """
    from rewardhub_prm.measure import measure, with_verdict
    from rewardhub_prm.measure_report import plot as draw
    from rewardhub_prm.measure_report import show
    from rewardhub_prm.measure_values import ask_model, read_values, training_of, write_values

    if (model is None) == (values is None):
        raise UsageError("Say what gives the values: `--model MODEL` or `--values FILE`.")
    card = training_of(model) if model else {}
    limit = _threshold(threshold, card)
    everything = read_labelled(rows)
    found = with_verdict(of_splits(everything, split or ()))
    if values is not None:
        valued = read_values(found, values, among=everything)
    else:
        assert model is not None
        valued = ask_model(
            _unseen(session, found, card, keep_seen=keep_seen),
            model,
            preset=preset,
            device=device,
            dtype=dtype,
            max_tokens=max_tokens,
            tell=session.say,
        )
    if save_values is not None:
        write_values(valued, save_values)
    measured = measure(valued, threshold=limit, tune_on=tune_on, resamples=resamples, seed=seed)
    if plot is not None:
        draw(measured, plot)
    if session.as_json:
        session.show_json(measured.to_json())
    else:
        show(session.console, measured)
    return ExitCode.OK


def _unseen(
    session: Session, rows: tuple[LabelledRow, ...], card: dict[str, Any], *, keep_seen: bool
) -> tuple[LabelledRow, ...]:
    """Return the rows to measure; say how many the training has seen.

    Raises:
        UsageError: if it has seen all.
    """
    from rewardhub_prm.measure_values import unseen

    if keep_seen:
        return rows
    left = unseen(rows, card)
    if not left:
        raise UsageError(
            "The model was trained on the problems of all rows. Train it with `--hold-out 0.3`, "
            "name other rows, or measure what it remembers: `--keep-seen`."
        )
    if len(left) < len(rows):
        counts = Counter(row.split for row in left)
        kept = ", ".join(f"{name} {count}" for name, count in counts.items())
        session.say(f"{len(rows) - len(left)} rows were seen in training; left are: {kept}")
    return left


def _threshold(text: str, card: dict[str, Any]) -> float:
    if text == "trained":
        found = (card.get("validation") or {}).get("tuned_threshold")
        if found is None:
            raise UsageError(
                "`--threshold trained` needs a model of `rewardhub prm train` whose validation "
                "part had solutions with an error and without one."
            )
        return float(found)
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise UsageError(f"`--threshold` is a number from 0 to 1, or `trained`, not `{text}`.")
    return number

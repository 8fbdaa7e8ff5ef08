"""A measurement as tables for a terminal, and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rewardhub import UsageError
from rewardhub_prm.baselines import BASELINES
from rewardhub_prm.measure import Measured
from rewardhub_prm.measure_figures import Estimate

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["plot", "show"]

_SHOWN = {
    "accuracy_erroneous": "Error found",
    "accuracy_correct": "Left alone",
    "f1": "F1",
    "auroc": "AUROC",
    "brier": "Brier",
    "calibration_error": "Calibration error",
}
_INTERVALS = {"f1", "auroc"}


def show(console: Console, measured: Measured) -> None:
    """Print the figures of each split, and the baselines' F1 beside the model's."""
    tuned = f", tuned on {measured.tuned_on}" if measured.tuned_on else ""
    console.print(f"A step is wrong below {measured.threshold:.4g}{tuned}.", highlight=False)
    lines = (*measured.splits, *([measured.pooled] if len(measured.splits) > 1 else []))
    _table(
        console,
        ("Split", "Rows", "With error", *_SHOWN.values(), "AUROC dealt by place"),
        [
            (
                split.name + (f" ({split.unvalued} without values)" if split.unvalued else ""),
                f"{split.rows:,}",
                f"{split.erroneous:,}",
                *(_cell(split.estimates[name], name) for name in _SHOWN),
                _chance(baseline.auroc, baseline.auroc_high),
            )
            for split in lines
            for baseline in (split.baselines["dealt anew by place"],)
        ],
    )
    console.print(
        "F1 of what needs no model; of dealt values the mean, and what 95 % of deals stay below.",
        highlight=False,
    )
    _table(
        console,
        ("Split", "this model", *BASELINES),
        [
            *(
                (
                    split.name,
                    _number(split.estimates["f1"].value),
                    *(_chance(each.f1, each.f1_high) for each in split.baselines.values()),
                )
                for split in lines
            ),
            (
                "mean of the splits",
                _cell(measured.f1, "f1"),
                *(_number(measured.baselines_f1.get(name)) for name in BASELINES),
            ),
        ],
    )


def _table(console: Console, heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for index, head in enumerate(heads):
        table.add_column(head, justify="right" if index else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _chance(value: float | None, high: float | None) -> str:
    return _number(value) if high is None else f"{_number(value)} < {high:.3f}"


def _cell(estimate: Estimate, name: str) -> str:
    if estimate.value is None:
        return "-"
    text = f"{estimate.value:.3f}"
    if name not in _INTERVALS or estimate.low is None or estimate.high is None:
        return text
    return f"{text} [{estimate.low:.3f}, {estimate.high:.3f}]"


def plot(measured: Measured, path: Path) -> None:
    """Draw F1 by split beside the baselines, and how right the steps are by their values.

    Raises:
        UsageError: without matplotlib, or for a kind of file that it does not write.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise UsageError("A plot needs matplotlib: pip install 'rewardhub-prm[plot]'.") from None
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    bars, curve = figure.subplots(1, 2)
    splits = [split for split in measured.splits if split.estimates["f1"].value is not None]
    series = {"this model": [split.estimates["f1"].value or 0.0 for split in splits]}
    for name in BASELINES:
        series[name] = [split.baselines[name].f1 or 0.0 for split in splits]
    width = 0.8 / len(series)
    for index, (name, values) in enumerate(series.items()):
        places = [at + index * width for at in range(len(splits))]
        bars.bar(places, values, width, label=name)
    bars.set_xticks([at + 0.4 - width / 2 for at in range(len(splits))])
    bars.set_xticklabels([split.name for split in splits])
    bars.set_ylabel("F1 of the first wrong step")
    bars.legend()
    curve.plot([0, 1], [0, 1], color="grey", linestyle="dotted")
    for split in measured.splits:
        full = [each for each in split.bins if each.steps]
        curve.plot([b.value for b in full], [b.right for b in full], marker="o", label=split.name)
    curve.set_xlabel("mean value of the steps")
    curve.set_ylabel("share of right steps")
    curve.legend()
    try:
        figure.savefig(path)
    except (ValueError, OSError) as error:
        raise UsageError(f"The plot `{path}` cannot be written: {error}.") from None

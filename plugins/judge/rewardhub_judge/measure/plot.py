"""A report as a picture: each measure a panel, each judge a dot with its interval."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from rewardhub import UsageError
from rewardhub_judge.measure.needs import needed
from rewardhub_judge.measure.record import TITLES, Report

__all__ = ["SUFFIXES", "check_plot", "draw"]

SUFFIXES = (".png", ".svg", ".pdf")
_COLUMNS = 3
_NO_EFFECT = {
    "kappa": 0.0,
    "alpha": 0.0,
    "rank_correlation": 0.0,
    "mean_difference": 0.0,
    "shown_first": 0.5,
    "length_slope": 0.0,
    "length_correlation": 0.0,
}
"""Measure -> the value that says: chance, or no bias. A thin line is drawn there; where the labels
hang on length themselves, at theirs."""

_OF_LENGTH = {"longer", "length_slope", "length_correlation"}


def check_plot(to: Path) -> None:
    """Find what would keep `draw` from drawing, before anything is measured.

    Raises:
        UsageError: for another suffix than those of `SUFFIXES`, or if matplotlib is missing.
    """
    if to.suffix not in SUFFIXES:
        raise UsageError(f"`--plot {to}`: a picture ends in {', '.join(SUFFIXES)}.")
    needed("matplotlib", "plot")


def draw(report: Report, to: Path) -> None:
    """Draw a report into a file, whose suffix says which kind of picture."""
    figures = needed("matplotlib.figure", "plot")
    names = [name for name in TITLES if any(name in judge.measures for judge in report.judges)]
    rows = math.ceil(len(names) / _COLUMNS)
    figure = figures.Figure(
        figsize=(3.6 * _COLUMNS, (0.8 + 0.28 * len(report.judges)) * rows), layout="constrained"
    )
    axes = figure.subplots(rows, _COLUMNS, squeeze=False, sharey=True).flatten()
    for name, panel in zip(names, axes, strict=False):
        _panel(panel, report, name)
    for panel in axes[len(names) :]:
        panel.set_visible(False)
    to.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(to, dpi=150)


def _panel(panel: Any, report: Report, name: str) -> None:
    panel.set_title(TITLES[name], fontsize=9)
    panel.set_yticks(range(len(report.judges)), [j.judge for j in report.judges], fontsize=8)
    panel.set_ylim(len(report.judges) - 0.5, -0.5)
    panel.tick_params(axis="x", labelsize=8)
    of_labels = report.of_labels.get(name) if name in _OF_LENGTH else None
    line = _NO_EFFECT.get(name) if of_labels is None else of_labels.value
    if line is not None:
        panel.axvline(line, color="0.7", linewidth=0.8)
    for place, judge in enumerate(report.judges):
        estimate = judge.measures.get(name)
        if estimate is None or estimate.value is None:
            continue
        panel.plot([estimate.value], [place], "o", color="C0", markersize=4)
        if estimate.low is not None and estimate.high is not None:
            panel.plot([estimate.low, estimate.high], [place, place], color="C0", linewidth=1.2)

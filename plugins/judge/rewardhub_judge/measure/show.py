"""Reports as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rewardhub_judge.measure.bootstrap import Estimate
from rewardhub_judge.measure.record import TITLES, Measured, Report

__all__ = ["as_json", "as_text"]

_HEAD = ("judge", "measure", "value", "95 % interval")


def as_text(file: Path, form: str, report: Report) -> str:
    """Return a report for a terminal: what was read, a line for each figure, and the notes."""
    return "\n".join([*_about(file, form, report), "", *_table(report), *_after(report)])


def as_json(file: Path, form: str, report: Report) -> dict[str, Any]:
    """Return a report as JSON; what is not defined is null."""
    agreed, several = report.labels_agree
    return {
        "file": str(file),
        "format": form,
        "kind": report.kind,
        "rows": report.rows,
        "labelled": report.labelled,
        "labels": {
            "several": several,
            "agree": agreed,
            "measures": {name: _estimate(each) for name, each in report.of_labels.items()},
        },
        "judges": [_judge(judge) for judge in report.judges],
        "accuracy_less_the_best": {
            judge: _estimate(each) for judge, each in report.differences.items()
        },
        "notes": list(report.notes),
    }


def _judge(measured: Measured) -> dict[str, Any]:
    return {
        "judge": measured.judge,
        "answers": measured.answers,
        "without_verdict": measured.without_verdict,
        "ties": measured.ties,
        "measures": {name: _estimate(each) for name, each in measured.measures.items()},
    }


def _estimate(estimate: Estimate) -> dict[str, float | None]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def _about(file: Path, form: str, report: Report) -> Iterator[str]:
    what = "pairs" if report.kind == "pairs" else "scored answers"
    yield f"{file}: {report.rows:,} {what} ({form}), {report.labelled:,} with a label"
    agreed, several = report.labels_agree
    if several:
        yield f"labels: all agree on {agreed:,} of {several:,}"
    for name, estimate in report.of_labels.items():
        yield f"labels: {TITLES[name]} {_figure(estimate)}{_interval(estimate)}"


def _table(report: Report) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [_HEAD]
    for judge in report.judges:
        first = f"{judge.judge} ({_asked(judge)})"
        for name, estimate in judge.measures.items():
            interval = _interval(estimate).strip(" ()")
            rows.append((first, TITLES[name], _figure(estimate), interval))
            first = ""
    yield from _aligned(rows)


def _asked(judge: Measured) -> str:
    told = [f"{judge.answers:,} answers"]
    if judge.ties:
        told.append(f"{judge.ties:,} tie{'s' if judge.ties > 1 else ''}")
    if judge.without_verdict:
        told.append(f"{judge.without_verdict:,} without a verdict")
    return ", ".join(told)


def _after(report: Report) -> Iterator[str]:
    if report.differences:
        best = next(j.judge for j in report.judges if j.judge not in report.differences)
        yield ""
        yield f"Accuracy less that of {best}, on the same rows:"
        rows = [
            (f"  {judge}", _figure(each, sign=True), _interval(each).strip(" ()"))
            for judge, each in report.differences.items()
        ]
        yield from _aligned(rows)
    if report.notes:
        yield ""
        yield from report.notes


def _figure(estimate: Estimate, *, sign: bool = False) -> str:
    if estimate.value is None:
        return "undefined"
    return f"{estimate.value:+.3f}" if sign else f"{estimate.value:.3f}"


def _interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f" ({estimate.low:.3f} to {estimate.high:.3f})"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()

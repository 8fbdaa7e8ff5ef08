"""What a run came to: counts, distribution, and where the results lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewardhub.engine.folder import FAILURES, LEDGER
from rewardhub.engine.tally import PartTally, Tally
from rewardhub.records import SCHEMA_VERSION
from rewardhub.report.console import Column, counted, show_line, show_table

if TYPE_CHECKING:
    from rich.console import Console

_BARS = 10
_EIGHTHS = " ▏▎▍▌▋▊▉"
_REASONS = 10


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """A run, counted.

    Attributes:
        reward: name and version of the spec, or the file that routes to several.
        tally: counts of the whole ledger.
        folder: the run folder.
        out: the file that the results were written to, besides the ledger.
        seconds: wall time of the run.
        resumed: rows that an earlier run had finished.
        interrupted: the signal that ended the run, or None if it is complete.
    """

    reward: str
    tally: Tally
    folder: Path
    out: Path | None = None
    seconds: float = 0.0
    resumed: int = 0
    interrupted: int | None = None
    digest: str = ""
    inputs: tuple[str, ...] = field(default=())

    @property
    def rows_per_second(self) -> float | None:
        """Rows a second, of those that this run graded; None where it graded nothing."""
        rows = self.tally.rows + self.tally.bad - self.resumed
        return rows / self.seconds if rows > 0 and self.seconds > 0 else None

    @property
    def scores(self) -> int:
        """How many Scores the rewards of the ledger are made of, reused ones included."""
        return sum(_scores(part) for part in self.tally.parts.values())

    def to_json(self) -> dict[str, Any]:
        """Return the summary as JSON."""
        tally = self.tally
        return {
            "schema_version": SCHEMA_VERSION,
            "spec": self.reward,
            "digest": self.digest,
            "inputs": list(self.inputs),
            "run": str(self.folder),
            "out": str(self.out) if self.out else None,
            "complete": self.interrupted is None,
            "interrupted": self.interrupted,
            "trajectories": tally.rows,
            "bad_rows": tally.bad,
            "scored": tally.scored,
            "unscored": tally.unscored,
            "faults": dict(tally.faults),
            "reasons": dict(tally.reasons),
            "bad_reasons": dict(tally.bad_reasons),
            "reward": {"mean": tally.mean, "min": tally.low, "max": tally.high},
            "success": {"count": tally.success, "of": tally.judged, "rate": _rate(tally)},
            "histogram": {"range": list(tally.range), "counts": tally.bins},
            "gates": dict(tally.gates),
            "parts": {name: _part_json(part) for name, part in tally.parts.items()},
            "reused": tally.reused,
            "resumed": self.resumed,
            "seconds": self.seconds,
            "rows_per_second": self.rows_per_second,
        }


def show_summary(console: Console, summary: RunSummary) -> None:
    """Print the summary: as wide as the terminal, or plainly where there is none."""
    show_line(console, f"{summary.reward}: {_headline(summary)}", style="bold")
    _show_facts(console, _counts(summary))
    _show_reasons(console, "Unscored, because", summary.tally.reasons)
    _show_reasons(console, "Bad rows, because", summary.tally.bad_reasons)
    _show_parts(console, summary.tally)
    _show_histogram(console, summary.tally)
    show_line(console)
    _show_facts(console, _places(summary))


def _headline(summary: RunSummary) -> str:
    tally = summary.tally
    if not tally.rows and not tally.bad:
        return "nothing was graded"
    return f"{tally.scored:,} of {counted(tally.rows, 'trajectory').replace('ys', 'ies')} scored"


def _counts(summary: RunSummary) -> Iterator[tuple[str, str]]:
    tally = summary.tally
    if tally.unscored:
        faults = ", ".join(f"{fault} {count:,}" for fault, count in tally.faults.most_common())
        yield "Unscored", f"{tally.unscored:,} (fault: {faults})"
    if tally.bad:
        yield "Bad rows", f"{tally.bad:,}"
    if tally.judged:
        yield (
            "Success",
            f"{tally.success:,} of {tally.judged:,} ({tally.success / tally.judged:.1%})",
        )
    if tally.mean is not None and tally.low is not None and tally.high is not None:
        yield "Reward", f"mean {tally.mean:.4g}, min {tally.low:.4g}, max {tally.high:.4g}"
    for gate, count in tally.gates.most_common():
        yield "Gate", f"{gate} closed for {count:,} ({count / tally.rows:.1%})"
    yield "Time", ", ".join(_times(summary))


def _times(summary: RunSummary) -> Iterator[str]:
    yield f"{summary.seconds:,.1f} s"
    if summary.rows_per_second is not None:
        yield f"{summary.rows_per_second:,.0f} rows/s"
    if summary.resumed:
        yield f"{counted(summary.resumed, 'row')} were done before"
    if summary.tally.reused:
        fresh = summary.scores - summary.tally.reused
        yield f"{counted(summary.tally.reused, 'Score')} reused, {fresh:,} graded"


def _places(summary: RunSummary) -> Iterator[tuple[str, str]]:
    if summary.out is not None:
        yield "Output", str(summary.out)
    yield "Ledger", str(summary.folder / LEDGER)
    if summary.tally.bad:
        yield "Bad rows", str(summary.folder / FAILURES)
    if summary.tally.rows:
        yield "Why one", f"rewardhub explain {summary.folder} ID"


def _show_facts(console: Console, facts: Iterator[tuple[str, str]]) -> None:
    for name, fact in facts:
        show_line(console, f"  {name:<9} {fact}")


def _show_reasons(console: Console, title: str, reasons: Mapping[str, int]) -> None:
    if not reasons:
        return
    most = sorted(reasons.items(), key=lambda each: -each[1])
    rows = [(f"{count:,}", " ".join(reason.split())) for reason, count in most[:_REASONS]]
    if rest := sum(count for _, count in most[_REASONS:]):
        rows.append((f"{rest:,}", "other reasons"))
    show_line(console)
    columns = (Column("Rows", right=True), Column(title, flexible=True))
    show_table(console, columns, rows, indent=2)


def _show_parts(console: Console, tally: Tally) -> None:
    if not tally.parts:
        return
    kinds = ("graded", "abstained", "failed", "skipped")
    shown = [kind for kind in kinds if any(getattr(part, kind) for part in tally.parts.values())]
    columns = [
        Column("Part", flexible=True),
        *(Column(kind.capitalize(), right=True) for kind in shown),
        Column("Mean", right=True),
        Column("Seconds", right=True),
    ]
    rows = [
        (
            name,
            *(f"{getattr(part, kind):,}" for kind in shown),
            f"{part.value / part.graded:.3f}" if part.graded else "-",
            f"{part.seconds:,.3f}",
        )
        for name, part in tally.parts.items()
    ]
    show_line(console)
    show_table(console, columns, rows, indent=2)


def _show_histogram(console: Console, tally: Tally) -> None:
    if not tally.scored:
        return
    show_line(console)
    show_line(console, "  Rewards", style="bold")
    for line in histogram(tally, console.width - 2, ascii_only=not _speaks_unicode(console)):
        show_line(console, "  " + line)


def histogram(tally: Tally, width: int, *, ascii_only: bool = False) -> list[str]:
    """Return the distribution of rewards as bars, one line for each tenth of the range.

    Tenths beyond the lowest and the highest reward are left out.
    """
    step = len(tally.bins) // _BARS
    counts = [sum(tally.bins[start : start + step]) for start in range(0, len(tally.bins), step)]
    low, high = tally.range
    edges = [low + (high - low) * place / _BARS for place in range(_BARS + 1)]
    filled = [place for place, count in enumerate(counts) if count]
    labels = [f"{edges[place]:5.2f} to {edges[place + 1]:5.2f}" for place in range(_BARS)]
    room = min(40, max(10, width - len(labels[0]) - 14))
    lines: list[str] = []
    for place in range(filled[0], filled[-1] + 1):
        bar = _bar(counts[place] / max(counts), room, ascii_only=ascii_only)
        lines.append(f"{labels[place]}  {bar}{' ' if bar else ''}{counts[place]:,}")
    return lines


def _bar(share: float, room: int, *, ascii_only: bool) -> str:
    if ascii_only:
        return "#" * max(round(share * room), 1 if share else 0)
    eighths = max(round(share * room * 8), 1 if share else 0)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _speaks_unicode(console: Console) -> bool:
    return console.encoding.lower().startswith("utf")


def _rate(tally: Tally) -> float | None:
    return tally.success / tally.judged if tally.judged else None


def _scores(part: PartTally) -> int:
    return part.graded + part.abstained + part.failed


def _part_json(part: PartTally) -> dict[str, Any]:
    counts = {name: getattr(part, name) for name in PartTally.__slots__}
    del counts["value"]
    return {**counts, "mean": part.value / part.graded if part.graded else None}

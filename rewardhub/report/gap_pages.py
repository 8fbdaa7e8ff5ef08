"""The gap report for people: on a terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rewardhub.report.console import Column, counted, one_line, show_line, show_table
from rewardhub.report.gap import DomainGap, Estimate, GapReport, TaskGap
from rewardhub.report.gap_rules import SIGNS
from rewardhub.report.gap_verdict import Evidence, Finding
from rewardhub.report.statistics import Interval

if TYPE_CHECKING:
    from rich.console import Console

NO_DOMAIN = "(no domain)"
_LONGEST_ID = 40


def show_gap(console: Console, report: GapReport, *, tasks: int) -> None:
    """Print the report with its ``tasks`` hardest tasks."""
    show_line(console, _headline(report), style="bold")
    show_line(console)
    show_table(console, _domain_columns(report), _domain_rows(report), indent=2)
    for domain in report.domains:
        show_line(console)
        show_line(console, f"{_name(domain.domain)}: {domain.finding.verdict}", style="bold")
        for line in _told(domain):
            show_line(console, f"  {line}")
    shown = _hardest(report, tasks)
    if shown:
        show_line(console)
        show_line(console, _which_tasks(report, shown), style="bold")
        show_table(console, _task_columns(report), _task_rows(report, shown), indent=2)


def gap_markdown(report: GapReport, *, tasks: int) -> str:
    """Return the report as Markdown with its ``tasks`` hardest tasks."""
    lines = [f"# {_headline(report)}", ""]
    lines += _table(_domain_columns(report), _domain_rows(report))
    for domain in report.domains:
        lines += ["", f"## {_name(domain.domain)}: {domain.finding.verdict}", ""]
        lines += [f"- {_escaped(line)}" for line in _told(domain)]
    shown = _hardest(report, tasks)
    if shown:
        lines += ["", f"## {_which_tasks(report, shown)}", ""]
        lines += _table(_task_columns(report), _task_rows(report, shown))
    return "\n".join(lines) + "\n"


def _headline(report: GapReport) -> str:
    attempts = sum(domain.attempts for domain in report.domains)
    return f"{report.spec or report.run}: {counted(len(report.tasks), 'task')}, " + counted(
        attempts, "attempt"
    )


def _name(domain: str) -> str:
    return domain or NO_DOMAIN


# --- domains ------------------------------------------------------------------------------------


def _domain_columns(report: GapReport) -> list[Column]:
    return [
        Column("Domain", flexible=True),
        Column("Tasks", right=True),
        Column("Attempts", right=True),
        Column("Unjudged", right=True),
        Column("pass@1"),
        *([Column(f"pass@{report.k}"), Column(f"majority@{report.k}")] if report.k else []),
        Column("Deficit"),
    ]


def _domain_rows(report: GapReport) -> list[list[str]]:
    return [
        [
            _name(each.domain),
            f"{each.tasks:,}",
            f"{each.attempts:,}",
            f"{each.attempts - each.judged:,}",
            _estimated(each.pass_at_1),
            *([_estimated(each.pass_at_k), _estimated(each.majority_at_k)] if report.k else []),
            each.finding.verdict,
        ]
        for each in report.domains
    ]


def _estimated(estimate: Estimate) -> str:
    return "-" if estimate.value is None else _with_interval(estimate.value, estimate.interval)


def _with_interval(value: float, interval: Interval | None) -> str:
    if interval is None:
        return f"{value:.3f} [unknown]"
    return f"{value:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def _told(domain: DomainGap) -> Iterator[str]:
    if domain.unjudged:
        why = ", ".join(f"{name} {count:,}" for name, count in sorted(domain.unjudged.items()))
        yield f"{counted(domain.attempts - domain.judged, 'attempt')} left out ({why})"
    if domain.finding.shares:
        shares = ", ".join(f"{name} {part:.0%}" for name, part in domain.finding.shares.items())
        yield f"Signs in unsuccessful attempts, mean over tasks: {shares}"
    yield from (_said(each) for each in domain.finding.evidence)
    verdicts = ", ".join(f"{name} {count:,}" for name, count in sorted(domain.verdicts.items()))
    yield f"By task: {verdicts}"
    yield from domain.finding.suggestions


def _said(evidence: Evidence) -> str:
    successes = (
        f" ({evidence.count_successful:,} of {evidence.of_successful:,} successful ones)"
        if evidence.of_successful
        else ""
    )
    examples = ", ".join(one_line(each, _LONGEST_ID) for each in evidence.examples)
    return (
        f"{evidence.count:,} of {evidence.of:,} unsuccessful attempts{successes}: "
        f"{SIGNS[evidence.sign].says} [{evidence.sign}], as {examples}"
    )


# --- tasks --------------------------------------------------------------------------------------


def _hardest(report: GapReport, count: int) -> list[TaskGap]:
    known = [each for each in report.tasks if each.pass_at_1 is not None and each.pass_at_1 < 1]
    known.sort(key=lambda each: (each.pass_at_1 or 0.0, -each.judged, each.domain, each.task))
    return known[:count]


def _which_tasks(report: GapReport, shown: Sequence[TaskGap]) -> str:
    return f"Hardest tasks ({len(shown):,} of {len(report.tasks):,})"


def _task_columns(report: GapReport) -> list[Column]:
    return [
        Column("Task", flexible=True),
        Column("Domain"),
        Column("Judged", right=True),
        Column("pass@1"),
        *([Column(f"pass@{report.k}"), Column(f"majority@{report.k}")] if report.k else []),
        Column("Deficit"),
        Column("Evidence", flexible=True),
    ]


def _task_rows(report: GapReport, shown: Sequence[TaskGap]) -> list[list[str]]:
    return [
        [
            one_line(each.task, _LONGEST_ID),
            _name(each.domain),
            f"{each.judged:,}",
            _with_interval(each.pass_at_1 or 0.0, each.interval),
            *([_number(each.pass_at_k), _number(each.majority_at_k)] if report.k else []),
            each.finding.verdict,
            _in_short(each.finding),
        ]
        for each in shown
    ]


def _in_short(finding: Finding) -> str:
    return ", ".join(f"{each.sign} {each.count} of {each.of}" for each in finding.evidence)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


# --- Markdown -----------------------------------------------------------------------------------


def _table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        "| " + " | ".join(column.title for column in columns) + " |",
        "|" + "|".join("---:" if column.right else "---" for column in columns) + "|",
        *("| " + " | ".join(_escaped(cell) for cell in row) + " |" for row in rows),
    ]


def _escaped(text: str) -> str:
    flat = " ".join(text.split())
    return "".join(f"\\{each}" if each in "|`*_<>\\" else each for each in flat)

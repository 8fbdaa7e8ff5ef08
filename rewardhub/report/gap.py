"""What stands between a policy and its tasks: pass rates, and which deficit they come from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewardhub.errors import UsageError
from rewardhub.records import SCHEMA_VERSION
from rewardhub.report.gap_rules import Thresholds
from rewardhub.report.gap_signs import Seen, look_at
from rewardhub.report.gap_verdict import Finding, Sums, find, signs_in_group
from rewardhub.report.scored import ScoredRun
from rewardhub.report.statistics import (
    Interval,
    Vote,
    majority_at_k,
    mean_over_tasks,
    pass_at_k,
    wilson,
)

_POWERS = tuple(2**power for power in range(11))
_MOST_TASKS = 0.9
"""The default k is one that this share of the tasks has attempts enough for."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over tasks.

    Attributes:
        value: None where no task has one.
        interval: None where it is unknown: there are too few tasks.
        tasks: over how many tasks.
    """

    value: float | None
    interval: Interval | None
    tasks: int

    def to_json(self) -> dict[str, Any]:
        """Return the estimate as JSON."""
        interval = list(self.interval) if self.interval else None
        return {"value": self.value, "interval": interval, "tasks": self.tasks}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGap:
    """One task.

    Attributes:
        task: its id; ``domain``: its domain.
        attempts: how many there are; ``judged``: for how many success is known.
        succeeded: how many succeeded.
        pass_at_k: None where fewer than k attempts are judged.
        majority_at_k: None there too, and where no attempt gives an answer to vote by.
        finding: which deficit it is, and why.
    """

    task: str
    domain: str
    attempts: int
    judged: int
    succeeded: int
    pass_at_k: float | None
    majority_at_k: float | None
    finding: Finding

    @property
    def pass_at_1(self) -> float | None:
        """The share of judged attempts that succeeded."""
        return self.succeeded / self.judged if self.judged else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's interval of pass@1."""
        return wilson(self.succeeded, self.judged) if self.judged else None

    def to_json(self) -> dict[str, Any]:
        """Return the task as JSON."""
        return {
            "task": self.task,
            "domain": self.domain,
            "attempts": self.attempts,
            "judged": self.judged,
            "succeeded": self.succeeded,
            "pass_at_1": self.pass_at_1,
            "interval": list(self.interval) if self.interval else None,
            "pass_at_k": self.pass_at_k,
            "majority_at_k": self.majority_at_k,
            **self.finding.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainGap:
    """One domain: estimates are means over its tasks, each task counting once.

    Attributes:
        domain: its name; empty for tasks without one.
        tasks: how many; ``attempts``: at all of them; ``judged``: with a known success.
        unjudged: why success is not known -> attempts: a fault, or ``no success`` where the
            reward has a value.
        verdicts: verdict -> tasks.
        finding: which deficit it is, and why.
    """

    domain: str
    tasks: int
    attempts: int
    judged: int
    unjudged: Mapping[str, int]
    pass_at_1: Estimate
    pass_at_k: Estimate
    majority_at_k: Estimate
    verdicts: Mapping[str, int]
    finding: Finding

    def to_json(self) -> dict[str, Any]:
        """Return the domain as JSON."""
        return {
            "domain": self.domain,
            "tasks": self.tasks,
            "attempts": self.attempts,
            "judged": self.judged,
            "unjudged": dict(self.unjudged),
            "pass_at_1": self.pass_at_1.to_json(),
            "pass_at_k": self.pass_at_k.to_json(),
            "majority_at_k": self.majority_at_k.to_json(),
            "verdicts": dict(self.verdicts),
            **self.finding.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GapReport:
    """The gap of one run.

    Attributes:
        run: its folder; ``spec``: the name of its spec.
        k: of pass@k and majority@k; None where nearly every task has one judged attempt.
        thresholds: what the verdicts were made with.
        domains: by name; ``tasks``: in the order of the run.
    """

    run: Path
    spec: str
    k: int | None
    thresholds: Thresholds
    domains: tuple[DomainGap, ...]
    tasks: tuple[TaskGap, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            "run": str(self.run),
            "spec": self.spec,
            "k": self.k,
            "thresholds": self.thresholds.model_dump(),
            "domains": [each.to_json() for each in self.domains],
            "tasks": [each.to_json() for each in self.tasks],
        }


def gap_of(
    run: ScoredRun, *, k: int | None = None, thresholds: Thresholds | None = None
) -> GapReport:
    """Return what stands between the policy of a run and its tasks.

    Attempts whose success is not known are left out of every rate, and counted.

    Args:
        run: read twice: its ledger alone, then with its inputs.
        k: of pass@k and majority@k. By default the largest power of two that nine in ten tasks
            have judged attempts enough for.
        thresholds: of the verdicts.

    Raises:
        UsageError: if the run is empty or knows no success, or if an input is not what it was.
    """
    limits = thresholds or Thresholds()
    judged = _judged(run)
    k = k if k is not None else _default_k([count for count in judged.values() if count])
    tasks: list[TaskGap] = []
    domains: dict[str, _Domain] = {}
    for group in run.groups("task"):
        first = group[0].row
        seen = [look_at(pair, limits) for pair in group]
        domain = domains.setdefault(first.domain, _Domain())
        tasks.append(domain.add(first.task, first.domain, seen, k, limits))
    return GapReport(
        run=run.path,
        spec=str(run.described.get("spec", {}).get("name", "")),
        k=k,
        thresholds=limits,
        domains=tuple(domains[name].close(name, limits) for name in sorted(domains)),
        tasks=tuple(tasks),
    )


def _judged(run: ScoredRun) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for row in run.rows():
        place = (row.domain, row.task)
        counts[place] = counts.get(place, 0) + (row.reward.success is not None)
    if not counts:
        raise UsageError(f"The run `{run.path}` is empty: nothing was scored.")
    need_success(run, known=any(counts.values()))
    return counts


def need_success(run: ScoredRun, *, known: bool) -> None:
    """Refuse a run in which success is known of no attempt.

    Raises:
        UsageError: which says what to do.
    """
    if not known:
        raise UsageError(
            f"No attempt of the run `{run.path}` has a success: either nothing was scored "
            "(`failures.jsonl` and the reasons of `rewardhub score` say why), or its spec judges "
            "none. Say `success:` in the spec, then `rewardhub rescore`."
        )


def _default_k(judged: Sequence[int]) -> int | None:
    enough = [
        k for k in _POWERS if sum(count >= k for count in judged) >= _MOST_TASKS * len(judged)
    ]
    return enough[-1] if enough and enough[-1] > 1 else None


@dataclass(slots=True)
class _Domain:
    """A domain, while its tasks come in."""

    attempts: int = 0
    judged: int = 0
    unjudged: Counter[str] = field(default_factory=Counter[str])
    ones: list[float] = field(default_factory=list[float])
    several: list[float] = field(default_factory=list[float])
    majorities: list[float] = field(default_factory=list[float])
    verdicts: Counter[str] = field(default_factory=Counter[str])
    sums: Sums = field(default_factory=Sums)

    def add(
        self, task: str, domain: str, seen: Sequence[Seen], k: int | None, limits: Thresholds
    ) -> TaskGap:
        judged = [each for each in seen if each.success is not None]
        succeeded = sum(bool(each.success) for each in judged)
        enough = k is not None and len(judged) >= k
        at_k = pass_at_k(len(judged), succeeded, k) if enough and k else None
        majority = _majority(judged, k) if enough and k else None
        own = Sums()
        own.add_task(judged, signs_in_group(judged, limits))
        finding = find(own, units=own.unsuccessful, limits=limits)
        self.attempts += len(seen)
        self.judged += len(judged)
        self.unjudged.update(each.fault or "no success" for each in seen if each.success is None)
        self.ones += [succeeded / len(judged)] if judged else []
        self.several += [] if at_k is None else [at_k]
        self.majorities += [] if majority is None else [majority]
        self.verdicts[finding.verdict] += 1
        self.sums.merge(own)
        return TaskGap(
            task=task, domain=domain, attempts=len(seen), judged=len(judged), succeeded=succeeded,
            pass_at_k=at_k, majority_at_k=majority, finding=finding,
        )  # fmt: skip

    def close(self, name: str, limits: Thresholds) -> DomainGap:
        return DomainGap(
            domain=name,
            tasks=sum(self.verdicts.values()),
            attempts=self.attempts,
            judged=self.judged,
            unjudged=self.unjudged,
            pass_at_1=_estimate(self.ones),
            pass_at_k=_estimate(self.several),
            majority_at_k=_estimate(self.majorities),
            verdicts=self.verdicts,
            finding=find(self.sums, units=self.sums.tasks, limits=limits),
        )


def _estimate(values: Sequence[float]) -> Estimate:
    if not values:
        return Estimate(None, None, 0)
    return Estimate(math.fsum(values) / len(values), mean_over_tasks(values), len(values))


def _majority(judged: Sequence[Seen], k: int) -> float | None:
    votes = list(_votes(judged))
    silent = len(judged) - sum(vote.times for vote in votes)
    return majority_at_k(votes, silent, k) if votes else None


def _votes(judged: Sequence[Seen]) -> Iterator[Vote]:
    answers: dict[str, list[bool]] = {}
    for each in judged:
        if each.answer:
            answers.setdefault(each.answer, []).append(bool(each.success))
    for verdicts in answers.values():
        yield Vote(len(verdicts), sum(verdicts) / len(verdicts))

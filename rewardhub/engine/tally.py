"""Counts of a run: what became of the trajectories, and of each part. Tallies add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

from rewardhub.records import Reward

BINS = 20
"""The distribution of rewards is counted in this many bins over the spec's range."""

REASONS = 50
"""At most this many different reasons are counted by name; the rest count as "other"."""


@dataclass(slots=True)
class PartTally:
    """Counts of one part: ``domain/stage/part`` in the run."""

    graded: int = 0
    abstained: int = 0
    failed: int = 0
    skipped: int = 0
    full: int = 0
    value: float = 0.0
    seconds: float = 0.0
    cost: float = 0.0


@dataclass(slots=True)
class Tally:
    """Counts of a run.

    Attributes:
        rows: trajectories that have a Reward, unscored ones included.
        bad: rows that were no trajectories.
        scored: Rewards with a value.
        total: sum of the values; ``squares``: of their squares.
        low: the lowest value; ``high``: the highest.
        success: how many succeeded; ``judged``: for how many success is known.
        faults: fault -> unscored Rewards.
        reasons: reason -> unscored Rewards; ``bad_reasons``: reason -> bad rows.
        gates: gate -> Rewards that it decided.
        bins: counts of values, over ``range``.
        parts: part id -> its counts.
        reused: Scores that were taken from an earlier ledger.
    """

    range: tuple[float, float] = (-1.0, 1.0)
    rows: int = 0
    bad: int = 0
    scored: int = 0
    total: float = 0.0
    squares: float = 0.0
    low: float | None = None
    high: float | None = None
    success: int = 0
    judged: int = 0
    faults: Counter[str] = field(default_factory=Counter[str])
    reasons: Counter[str] = field(default_factory=Counter[str])
    bad_reasons: Counter[str] = field(default_factory=Counter[str])
    gates: Counter[str] = field(default_factory=Counter[str])
    bins: list[int] = field(default_factory=lambda: [0] * BINS)
    parts: dict[str, PartTally] = field(default_factory=dict[str, PartTally])
    reused: int = 0

    @property
    def unscored(self) -> int:
        """Rewards without a value."""
        return self.rows - self.scored

    @property
    def mean(self) -> float | None:
        """The mean of the rewards that have a value."""
        return self.total / self.scored if self.scored else None

    def add(self, reward: Reward) -> None:
        """Count one Reward."""
        self.rows += 1
        value = reward.value
        if value is None:
            self.faults[reward.fault or ""] += 1
            _count(self.reasons, reward.reason)
        else:
            self._add_value(value)
        if reward.success is not None:
            self.judged += 1
            self.success += reward.success
        if reward.decided_by is not None:
            self.gates[reward.decided_by] += 1
        for part in reward.parts:
            counts = self.parts.get(part.id)
            if counts is None:
                counts = self.parts[part.id] = PartTally()
            score = part.score
            if score is None:
                counts.skipped += 1
                continue
            if score.value is not None:
                counts.graded += 1
                counts.value += score.value
                counts.full += score.value >= 1.0
            elif score.status == "abstained":
                counts.abstained += 1
            else:
                counts.failed += 1
            counts.seconds += score.seconds
            counts.cost += score.cost

    def _add_value(self, value: float) -> None:
        self.scored += 1
        self.total += value
        self.squares += value * value
        if self.low is None or value < self.low:
            self.low = value
        if self.high is None or value > self.high:
            self.high = value
        low, high = self.range
        width = high - low
        place = int((value - low) / width * BINS) if width else 0
        self.bins[min(BINS - 1, max(0, place))] += 1

    def add_bad(self, reason: str) -> None:
        """Count a row that was no trajectory."""
        self.bad += 1
        _count(self.bad_reasons, reason)

    def add_reused(self, reward: Reward, known: Container[str]) -> None:
        """Count the Scores of ``reward`` that were ``known`` (part ids) before."""
        self.reused += sum(part.score is not None and part.id in known for part in reward.parts)

    def merge(self, other: Tally) -> None:
        """Add the counts of another tally of the same spec."""
        for name in ("rows", "bad", "scored", "total", "squares", "success", "judged", "reused"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        self.low = min(lows, default=None)
        self.high = max(highs, default=None)
        self.faults.update(other.faults)
        self.gates.update(other.gates)
        for mine, theirs in (
            (self.reasons, other.reasons),
            (self.bad_reasons, other.bad_reasons),
        ):
            for reason, count in theirs.items():
                _count(mine, reason, count)
        self.bins = [mine + theirs for mine, theirs in zip(self.bins, other.bins, strict=True)]
        for part, counts in other.parts.items():
            total = self.parts.setdefault(part, PartTally())
            for name in PartTally.__slots__:
                setattr(total, name, getattr(total, name) + getattr(counts, name))

    def to_json(self) -> dict[str, Any]:
        """Return the tally as JSON."""
        plain = {name: getattr(self, name) for name in Tally.__slots__ if name != "parts"}
        parts = {
            part: {name: getattr(counts, name) for name in PartTally.__slots__}
            for part, counts in self.parts.items()
        }
        return plain | {"range": list(self.range), "parts": parts}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Tally:
        """Return the tally that `to_json` wrote."""
        known: dict[str, Any] = dict(fields)
        known["range"] = tuple(fields["range"])
        known["parts"] = {part: PartTally(**counts) for part, counts in fields["parts"].items()}
        for name in _COUNTERS:
            known[name] = Counter(fields[name])
        return cls(**known)


_COUNTERS = ("faults", "reasons", "bad_reasons", "gates")


def _count(counts: Counter[str], reason: str, times: int = 1) -> None:
    """Count a reason by its first line; what is rare has no line of its own."""
    short = reason.split("\n", 1)[0][:160]
    if short not in counts and len(counts) >= REASONS:
        short = "other reasons"
    counts[short] += times

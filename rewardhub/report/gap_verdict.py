"""From signs to a verdict, for one task or for a domain, and the evidence for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardhub.report.gap_rules import (
    DEFICITS,
    SIGN_SUGGESTIONS,
    SIGNS,
    SUGGESTIONS,
    Deficit,
    Thresholds,
    Verdict,
)
from rewardhub.report.gap_signs import Seen
from rewardhub.report.statistics import wilson

_EXAMPLES = 3


@dataclass(slots=True)
class Evidence:
    """How often a sign was seen.

    Attributes:
        sign: its name.
        count: unsuccessful attempts that show it, ``of`` so many.
        count_successful: successful attempts that show it, ``of_successful`` so many: a sign
            that successes show as often explains little.
        examples: ids of a few of the unsuccessful ones.
    """

    sign: str
    count: int = 0
    of: int = 0
    count_successful: int = 0
    of_successful: int = 0
    examples: list[str] = field(default_factory=list[str])

    def to_json(self) -> dict[str, Any]:
        """Return the evidence as JSON."""
        return {
            "sign": self.sign,
            "deficit": SIGNS[self.sign].deficit,
            "says": SIGNS[self.sign].says,
            "count": self.count,
            "of": self.of,
            "count_successful": self.count_successful,
            "of_successful": self.of_successful,
            "examples": self.examples,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Which deficit it is.

    Attributes:
        verdict: a deficit; or ``mixed``: several; ``none``: every attempt succeeded;
            ``unknown``: there is not enough evidence.
        deficits: those that hold.
        shares: deficit -> the share of unsuccessful attempts that show a sign of it; of a domain
            it is the mean over its tasks.
        evidence: the signs of these deficits, the most frequent first; all signs where the
            verdict is ``unknown``.
        suggestions: what to do about it.
    """

    verdict: Verdict
    deficits: tuple[Deficit, ...] = ()
    shares: dict[Deficit, float] = field(default_factory=dict["Deficit", float])
    evidence: tuple[Evidence, ...] = ()
    suggestions: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the finding as JSON."""
        return {
            "verdict": self.verdict,
            "deficits": list(self.deficits),
            "shares": dict(self.shares),
            "evidence": [each.to_json() for each in self.evidence],
            "suggestions": list(self.suggestions),
        }


@dataclass(slots=True)
class Sums:
    """What was seen in the attempts at one task, or at all tasks of a domain.

    Attributes:
        tasks: how many have an unsuccessful attempt.
        shares: deficit -> the sum over tasks of the share of unsuccessful attempts that show it.
    """

    unsuccessful: int = 0
    successful: int = 0
    tasks: int = 0
    shares: dict[Deficit, float] = field(default_factory=lambda: dict.fromkeys(DEFICITS, 0.0))
    signs: dict[str, Evidence] = field(default_factory=dict[str, Evidence])

    def add_task(self, judged: Sequence[Seen], signs: Sequence[frozenset[str]]) -> None:
        """Add the judged attempts at one task, each with its signs."""
        shown: dict[Deficit, int] = dict.fromkeys(DEFICITS, 0)
        for each, names in zip(judged, signs, strict=True):
            self.successful += bool(each.success)
            for name in sorted(names):
                self._count(each, name)
            if not each.success:
                for deficit in DEFICITS:
                    shown[deficit] += any(SIGNS[name].deficit == deficit for name in names)
        unsuccessful = sum(not each.success for each in judged)
        self.unsuccessful += unsuccessful
        if unsuccessful:
            self.tasks += 1
            for deficit in DEFICITS:
                self.shares[deficit] += shown[deficit] / unsuccessful

    def _count(self, seen: Seen, name: str) -> None:
        evidence = self.signs.setdefault(name, Evidence(name))
        if seen.success:
            evidence.count_successful += 1
            return
        evidence.count += 1
        if len(evidence.examples) < _EXAMPLES:
            evidence.examples.append(seen.id)

    def merge(self, other: Sums) -> None:
        """Add the sums of another task."""
        self.unsuccessful += other.unsuccessful
        self.successful += other.successful
        self.tasks += other.tasks
        for deficit in DEFICITS:
            self.shares[deficit] += other.shares[deficit]
        for name, more in other.signs.items():
            evidence = self.signs.setdefault(name, Evidence(name))
            evidence.count += more.count
            evidence.count_successful += more.count_successful
            evidence.examples += more.examples[: _EXAMPLES - len(evidence.examples)]


def signs_in_group(judged: Sequence[Seen], limits: Thresholds) -> list[frozenset[str]]:
    """Return the signs of each attempt, those included that only its siblings show.

    Args:
        judged: the attempts at one task whose success is known.
        limits: the thresholds.
    """
    # With as many tries as there are attempts, pass@k is 1 as soon as one of them succeeds.
    by_far = 1.0 - sum(bool(each.success) for each in judged) / max(1, len(judged))
    shortest = min((each.steps for each in judged if each.success), default=0)
    unreached = (
        len(judged) >= limits.beyond_after
        and shortest == 0
        and not any(each.reached for each in judged)
    )
    found: list[frozenset[str]] = []
    for each in judged:
        signs = set(each.signs)
        if not each.success:
            if each.completed and shortest > 1 and each.steps <= limits.early * shortest:
                signs.add("stopped-early")
            if not any(SIGNS[name].deficit == "usage" for name in signs):
                if shortest and by_far >= limits.much_better:
                    signs.add("others-succeed")
                if not shortest and each.reached:
                    signs.add("reached-unused")
            if unreached and not signs:
                signs.add("beyond-reach")
        found.append(frozenset(signs))
    return found


def find(sums: Sums, *, units: int, limits: Thresholds) -> Finding:
    """Return the verdict.

    Args:
        sums: of one task or of a domain.
        units: what is independent in it: the unsuccessful attempts at a task; of a domain the
            tasks that have some.
        limits: the thresholds.
    """
    if not sums.unsuccessful:
        sure = sums.successful >= limits.least
        verdict: Verdict = "none" if sure else "unknown"
        return Finding(verdict=verdict, suggestions=(SUGGESTIONS[verdict],))
    shares: dict[Deficit, float] = {
        deficit: sums.shares[deficit] / sums.tasks for deficit in DEFICITS
    }
    holding: list[Deficit] = [
        deficit
        for deficit in DEFICITS
        if units >= limits.least and wilson(shares[deficit] * units, units).low >= limits.holds
    ]
    verdict = "unknown" if not holding else "mixed" if len(holding) > 1 else holding[0]
    told = [each for name, each in sums.signs.items() if each.count and _speaks(name, holding)]
    told.sort(key=lambda each: (-each.count, each.sign))
    evidence = tuple(_of(each, sums) for each in told)
    common = [each.sign for each in evidence if each.count >= limits.holds * sums.unsuccessful]
    further = [SIGN_SUGGESTIONS[sign] for sign in common if sign in SIGN_SUGGESTIONS]
    return Finding(
        verdict=verdict,
        deficits=tuple(holding),
        shares=shares,
        evidence=evidence,
        suggestions=(*(further if holding else ()), SUGGESTIONS[verdict]),
    )


def _speaks(sign: str, holding: Sequence[Deficit]) -> bool:
    return not holding or SIGNS[sign].deficit in holding


def _of(evidence: Evidence, sums: Sums) -> Evidence:
    return Evidence(
        evidence.sign, evidence.count, sums.unsuccessful, evidence.count_successful,
        sums.successful, list(evidence.examples),
    )  # fmt: skip

"""What graders of the process share: faults that are counted, and that padding does not hide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pydantic import Field

from rewardhub import Grader, Score, StepValue


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about one thing that the policy did.

    Attributes:
        good: True, False, or None where nothing can be said.
        key: equal for doings that earn only once.
        reason: what is wrong; empty if nothing is.
    """

    good: bool | None
    key: str
    reason: str = ""


@dataclass(slots=True)
class Sums:
    """The sums over all turns."""

    good: int = 0
    faults: int = 0
    first: str = ""
    earned: set[str] = field(default_factory=set[str])


class ProcessGrader(Grader):
    """The base of graders that count faults.

    A step's value is the share of what it did that was good, and None where it did nothing that
    this grader looks at. What was good once earns nothing the second time, but each fault
    counts. The value for the whole is ``(1 - penalty) ** faults``, and 0 if there is no good:
    it depends on the number of faults alone, so no amount of padding brings it back.
    """

    penalty: float = Field(default=0.5, gt=0, le=1)
    """What one fault takes of what is left: 0.5 halves the value, 1 allows no fault."""
    without_calls: float = Field(default=0.0, ge=0, le=1)
    """The value of an attempt that made no call to look at: doing nothing is no way to be good."""
    recognise_errors: bool = True
    """Whether a result that only reads like an error (``Error: ...``) counts as one."""

    def conclude(self, found: Sequence[Iterable[Finding]], what: str) -> Score:
        """Return the Score of all findings, one sequence for each step.

        Args:
            found: findings by step.
            what: what a fault is, in the singular.
        """
        sums = Sums()
        values = [
            each
            for step, findings in enumerate(found)
            if (each := _value_of(step, findings, sums)) is not None
        ]
        metrics = {"faults": float(sums.faults)}
        if not sums.good and not sums.faults:
            nothing = "no tool call that can be judged was made"
            return Score.of(self.without_calls, nothing, metrics=metrics)
        value = (1.0 - self.penalty) ** sums.faults if sums.good else 0.0
        reason = f"{counted(sums.faults, what)}{sums.first}"
        return Score.of(value, reason, step_values=values, metrics=metrics)


def _value_of(step: int, findings: Iterable[Finding], sums: Sums) -> StepValue | None:
    good = bad = 0
    reason = ""
    for finding in findings:
        if finding.good is False:
            bad += 1
            reason = reason or finding.reason
        elif finding.good and finding.key not in sums.earned:
            sums.earned.add(finding.key)
            good += 1
    sums.good += good
    sums.faults += bad
    if bad and not sums.first:
        sums.first = f"; the first in step {step}: {reason}"
    if not good and not bad:
        return None
    return StepValue(step, good / (good + bad), reason=reason)


def counted(number: int, what: str) -> str:
    """Return ``2 repeated calls`` or ``no repeated call``."""
    if not number:
        return f"no {what}"
    return f"{number} {what}{'' if number == 1 else 's'}"

"""Cases: lines of a file that say what a grader must give to which answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rewardhub.errors import Mistake, RecordError, UsageError
from rewardhub.records import TOLERANCE, Score, Trajectory, explain_validation
from rewardhub.records.base import build
from rewardhub.records.migrate import upgrade
from rewardhub.testing.make import make_trajectory

Kind = Literal[
    "full", "zero", "partial", "abstain", "exploit", "malformed_record", "malformed_answer"
]
Want = float | tuple[float, float] | Literal["abstained", "failed"]


class Case(BaseModel):
    """One line of a file of cases.

    Attributes:
        grader: the grader's name.
        kind: ``full`` (graded 1), ``zero`` (graded 0), ``partial`` (``value`` or ``between``),
            ``abstain``, ``exploit`` (a cheating attempt: graded, with ``at_most`` or less),
            ``malformed_record`` (failed or abstained, never a number), ``malformed_answer`` (a
            graded 0).
        why: what the case shows, for the person who breaks it.
        options: of the grader.
        trajectory: a whole record (it has a ``task``), or the arguments of `make_trajectory`:
            ``prompt``, ``reply``, ``reference``, ``checks``...
        group: instead of ``trajectory``: the members of a group, or the rows of a batch.
        expected: with ``group``: for each member a value, a pair of bounds, ``abstained`` or
            ``failed``.
        value: the value of a ``partial`` case, to 1e-9.
        between: the bounds of the value of a ``partial`` case.
        at_most: what an ``exploit`` may get.
        resources: parameter of the grader -> what its stand-in answers: replies of a judge,
            outcomes of a sandbox; a list of replies for each of several judges.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    grader: str
    kind: Kind
    why: str = Field(min_length=1)
    options: dict[str, Any] = Field(default_factory=dict)
    trajectory: dict[str, Any] | None = None
    group: list[dict[str, Any]] | None = Field(None, min_length=1)
    expected: list[Want] | None = None
    value: float | None = Field(None, ge=0, le=1)
    between: tuple[float, float] | None = None
    at_most: float = Field(0.0, ge=0, lt=1)
    resources: dict[str, list[Any]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _says_enough(self) -> Self:
        if (self.trajectory is None) == (self.group is None):
            raise ValueError("say either `trajectory` or `group`")
        if (self.group is None) != (self.expected is None):
            raise ValueError("`group` and `expected` go together")
        if self.group is not None and len(self.group) != len(self.expected or ()):
            raise ValueError("`expected` has one entry for each member of `group`")
        bounds = (self.value is not None) + (self.between is not None)
        if bounds != (self.kind == "partial" and self.group is None):
            raise ValueError("a `partial` case, and no other, says `value` or `between`")
        if self.at_most and self.kind != "exploit":
            raise ValueError("only an `exploit` says `at_most`")
        return self

    def trajectories(self) -> list[Trajectory]:
        """Return what is graded.

        Raises:
            RecordError: if it is no trajectory.
        """
        given = [self.trajectory] if self.trajectory is not None else self.group or []
        return [_trajectory(fields) for fields in given]

    def wanted(self) -> list[Expectation]:
        """Return what each trajectory must get."""
        if self.expected is not None:
            fix = "Mend the grader, or `expected`"
            return [_wanted(want, fix) for want in self.expected]
        bounds = self.between if self.value is None else self.value
        if bounds is not None:
            return [_wanted(bounds, "Mend the grader, or the bounds")]
        if self.kind == "exploit":
            fix = "Close this hole, or say `at_most` if partial credit is right"
            return [_wanted((0.0, self.at_most), fix)]
        return [_BY_KIND[self.kind]]


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a Score must be: its status, the bounds of its value, and what to do if it is not."""

    text: str
    statuses: tuple[str, ...]
    fix: str
    low: float = 0.0
    high: float = 1.0

    def met_by(self, score: Score) -> bool:
        """Return whether ``score`` is what was expected."""
        if score.status not in self.statuses:
            return False
        return score.value is None or (self.low - TOLERANCE <= score.value <= self.high + TOLERANCE)


def _wanted(want: Want, fix: str) -> Expectation:
    if isinstance(want, str):
        return Expectation(want, (want,), fix)
    low, high = want if isinstance(want, tuple) else (want, want)
    text = f"graded {low:g}" if low == high else f"graded between {low:g} and {high:g}"
    return Expectation(text, ("graded",), fix, low, high)


_BY_KIND: dict[Kind, Expectation] = {
    "full": _wanted(1.0, "Accept this answer, or call the case `zero` if it is wrong"),
    "zero": _wanted(0.0, "Refuse this answer, or call the case `full` if it is right"),
    "abstain": _wanted("abstained", "Raise TaskError where the task cannot be graded"),
    "malformed_record": Expectation(
        "failed or abstained",
        ("failed", "abstained"),
        "Raise TaskError where the record cannot be read, so that it never becomes a number",
    ),
    "malformed_answer": _wanted(
        0.0, "What the policy wrote is graded: return 0 with the reason, and raise nothing"
    ),
}


def _trajectory(fields: dict[str, Any]) -> Trajectory:
    if "task" in fields:
        made = build(Trajectory, upgrade("trajectory", fields))
    elif "reply" in fields:
        made = make_trajectory(**fields)
    else:
        raise RecordError("a trajectory has a `task`, or it is short: `prompt`, `reply`...")
    if made.status == "broken":
        raise UsageError("no grader sees a broken trajectory")
    return made


def read_cases(path: Path) -> Iterator[tuple[int, Case] | Mistake]:
    """Yield the cases of a file with their lines, and a Mistake for each line that is none."""
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield number, Case.model_validate_json(line)
        except ValidationError as error:
            yield Mistake(
                message=f"This is no case: {explain_validation(error, Case)}.",
                file=path.name,
                line=number,
            )

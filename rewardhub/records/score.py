"""Score: one grader's verdict on one trajectory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, SupportsFloat, get_args

from pydantic import ConfigDict

from rewardhub.errors import RecordError
from rewardhub.records.base import EMPTY, ReadOnly, canonical_json, freeze, quick

TOLERANCE = 1e-9
"""Checks on numbers have this tolerance, everywhere."""

EVIDENCE_BYTES = 64 * 1024
"""Evidence over this many bytes of JSON is shortened, never refused: its size is often the
policy's doing, and nothing that the policy does may leave an attempt unscored."""

Fault = Literal["task", "grader", "infrastructure"]
ScoreStatus = Literal["graded", "abstained", "failed"]

_FAULTS: dict[str, tuple[str | None, ...]] = {
    "graded": (None,),
    "abstained": ("task",),
    "failed": ("grader", "infrastructure"),
}
_set = object.__setattr__
_new = object.__new__

CLOSED = ConfigDict(extra="forbid")
"""Unknown fields are refused when a dataclass record is read."""


def unit(value: object, what: str = "value") -> float:
    """Return ``value`` as a float in [0, 1]; a miss within 1e-9 is moved to the border.

    Raises:
        RecordError: for NaN, infinity, a number outside [0, 1], or what is no number.
    """
    if type(value) is float or type(value) is bool:
        number = float(value)
    else:
        number = _as_float(value, f"a {what} is a number in [0, 1]")
    if 0.0 <= number <= 1.0:
        return number
    if math.isnan(number) or not -TOLERANCE <= number <= 1.0 + TOLERANCE:
        raise RecordError(f"a {what} must lie in [0, 1], and {number} does not")
    return min(1.0, max(0.0, number))


def _as_float(value: object, promise: str) -> float:
    try:
        if isinstance(value, SupportsFloat):  # numpy and torch scalars are, text is not
            return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:  # an array, a huge int
        raise RecordError(f"{promise}, not {type(value).__name__} ({error})") from None
    raise RecordError(f"{promise}, not {type(value).__name__}")


@quick
@dataclass(frozen=True, slots=True)
class StepValue:
    """The value of one step, or of one span of it.

    Attributes:
        step: index of the step in the trajectory, from 0.
        value: in [0, 1], or None where the grader says nothing of this step.
        start: first character of the span in the step's ``field``; None: the whole step.
        end: the character after the span.
        field: ``text`` or ``reasoning``.
        reason: why, in one sentence.
    """

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    step: int
    value: float | None
    start: int | None = None
    end: int | None = None
    field: Literal["text", "reasoning"] = "text"
    reason: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.step, bool) or not isinstance(self.step, int) or self.step < 0:
            raise RecordError(f"a step's index is a whole number from 0, not {self.step!r}")
        if self.value is not None:
            _set(self, "value", unit(self.value, "step value"))
        if self.field not in {"text", "reasoning"}:
            raise RecordError(f"a span's field is `text` or `reasoning`, not {self.field!r}")
        if (self.start is None) != (self.end is None):
            raise RecordError("a span has a start and an end, or neither")
        if self.start is not None and not 0 <= self.start <= (self.end or 0):
            raise RecordError(f"a span runs forwards, not from {self.start} to {self.end}")


@quick
@dataclass(frozen=True, slots=True)
class Score:
    """One grader's verdict: *graded* with a value, or *abstained*, or *failed*.

    Build one with `of`, `abstain` or `fail`; a state that cannot be is refused.

    Attributes:
        status: ``graded``, ``abstained`` (only the task can cause it) or ``failed``.
        value: in [0, 1], where 1 is always good; None unless graded.
        reason: why, in one sentence for a person.
        fault: ``task`` when abstained, ``grader`` or ``infrastructure`` when failed.
        step_values: values of single steps and spans.
        metrics: further numbers, name to float; reported, never part of a reward.
        evidence: JSON that backs the verdict, at most 64 KB.
        seconds: wall time the grader took.
        cost: money that it cost, in US dollars.
        grader: the grader's name, set by the engine.
    """

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    status: ScoreStatus
    value: float | None = None
    reason: str = ""
    fault: Fault | None = None
    step_values: tuple[StepValue, ...] = ()
    metrics: Mapping[str, float] = EMPTY
    evidence: Mapping[str, Any] = EMPTY
    seconds: float = 0.0
    cost: float = 0.0
    grader: str = ""
    _open: ClassVar[type[Any]]

    def __post_init__(self) -> None:
        status = self.status
        if status == "graded":
            if self.fault is not None:
                raise RecordError("a graded Score has no fault")
            value = self.value
            if type(value) is not float or not 0.0 <= value <= 1.0:
                _set(self, "value", unit(value))
        elif status not in _FAULTS:
            raise RecordError(f"a Score is graded, abstained or failed, not {status!r}")
        elif self.fault not in _FAULTS[status]:
            allowed = " or ".join(str(fault) for fault in _FAULTS[status])
            raise RecordError(f"a Score that {status} has fault {allowed}, not {self.fault}")
        elif self.value is not None or self.step_values:
            raise RecordError(f"a Score that {status} has no value")
        if not (0.0 <= self.seconds < math.inf and 0.0 <= self.cost < math.inf):
            raise RecordError(
                f"seconds and cost are finite numbers from 0, not {self.seconds} and {self.cost}"
            )
        if self.step_values:
            _set(self, "step_values", tuple(self.step_values))
        if self.metrics is not EMPTY:
            _set(self, "metrics", _numbers(self.metrics))
        if self.evidence is not EMPTY:
            _set(self, "evidence", fit_evidence(self.evidence))

    @classmethod
    def of(
        cls,
        value: bool | float,
        reason: str = "",
        *,
        step_values: Iterable[StepValue] = (),
        metrics: Mapping[str, float] = EMPTY,
        evidence: Mapping[str, Any] = EMPTY,
        seconds: float = 0.0,
        cost: float = 0.0,
        grader: str = "",
    ) -> Score:
        """Return a graded Score. ``value`` is True, False, or a number in [0, 1].

        The engine sets ``seconds`` and ``grader``; a grader leaves them out.
        """
        if cost < 0.0 or type(reason) is not str:
            return cls("graded", value, reason, cost=cost)  # which says what is wrong
        made: Any = _new(cls._open)  # checked here, for most Scores are made here
        made.status = "graded"
        made.value = value if type(value) is float and 0.0 <= value <= 1.0 else unit(value)
        made.reason = reason
        made.fault = None
        made.step_values = tuple(step_values) if step_values else ()
        made.metrics = metrics if metrics is EMPTY else _numbers(metrics)
        made.evidence = evidence if evidence is EMPTY else fit_evidence(evidence)
        made.seconds = seconds
        made.cost = cost
        made.grader = grader
        made.__class__ = cls
        return made  # type: ignore[no-any-return]

    @classmethod
    def abstain(cls, reason: str, *, evidence: Mapping[str, Any] = EMPTY) -> Score:
        """Return a Score that abstains: the *task* cannot be graded (its reference is broken)."""
        return cls("abstained", None, reason, "task", (), EMPTY, evidence)

    @classmethod
    def fail(
        cls,
        reason: str,
        *,
        fault: Literal["grader", "infrastructure"],
        evidence: Mapping[str, Any] = EMPTY,
        cost: float = 0.0,
    ) -> Score:
        """Return a Score that failed: the *grader* or the *infrastructure* broke."""
        return cls("failed", None, reason, fault, (), EMPTY, evidence, 0.0, cost)

    def signed(self, grader: str, seconds: float) -> Score:
        """Return the Score with the grader's name and its wall time."""
        made: Any = _new(self._open)  # checked already, so the fields are only copied
        made.status = self.status
        made.value = self.value
        made.reason = self.reason
        made.fault = self.fault
        made.step_values = self.step_values
        made.metrics = self.metrics
        made.evidence = self.evidence
        made.seconds = seconds
        made.cost = self.cost
        made.grader = grader
        made.__class__ = Score
        return made  # type: ignore[no-any-return]


def _numbers(metrics: Mapping[str, float]) -> ReadOnly:
    if not isinstance(metrics, Mapping):
        raise RecordError(f"metrics map a name to a number, not {type(metrics).__name__}")
    numbers = {
        str(name): _as_float(value, f"metric `{name}` is a finite number")
        for name, value in metrics.items()
    }
    wrong = next((name for name, number in numbers.items() if not math.isfinite(number)), None)
    if wrong is not None:
        raise RecordError(f"metric `{wrong}` is {numbers[wrong]}, not a finite number")
    return ReadOnly(numbers)


def fit_evidence(evidence: Mapping[str, Any]) -> ReadOnly:
    """Return ``evidence`` read-only and within 64 KB: long texts are cut, and marked as cut.

    Raises:
        RecordError: if it is not a mapping of JSON.
    """
    if not isinstance(evidence, Mapping):
        raise RecordError(f"evidence is a mapping of JSON, not {type(evidence).__name__}")
    try:
        frozen: ReadOnly = freeze(evidence)
    except ValueError as error:
        raise RecordError(f"evidence is JSON: {error}") from None
    size = len(canonical_json(frozen))
    for longest in (8192, 1024, 128):
        if size <= EVIDENCE_BYTES:
            return frozen
        frozen = _cut(frozen, longest)
        size = len(canonical_json(frozen))
    if size <= EVIDENCE_BYTES:
        return frozen
    return ReadOnly({"note": f"left out: {size} bytes of evidence, {EVIDENCE_BYTES} are kept"})


def _cut(value: Any, longest: int) -> Any:
    if isinstance(value, str) and len(value) > longest:
        half = longest // 2
        return f"{value[:half]} [{len(value) - 2 * half} characters left out] {value[-half:]}"
    if isinstance(value, Mapping):
        return ReadOnly({key: _cut(item, longest) for key, item in value.items()})
    if isinstance(value, tuple):
        return tuple(_cut(item, longest) for item in value)
    return value


STATUSES: tuple[str, ...] = get_args(ScoreStatus)

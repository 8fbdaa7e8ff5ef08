"""Reward: what a spec makes of the Scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from math import isfinite
from typing import Any, ClassVar, Literal, TypeVar, get_args

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from rewardhub.errors import RecordError
from rewardhub.records.base import dump_json, quick
from rewardhub.records.score import CLOSED, TOLERANCE, Fault, Score

_FAULTS: tuple[str, ...] = get_args(Fault)
_set = object.__setattr__
_new = object.__new__


@quick
@dataclass(frozen=True, slots=True)
class Part:
    """One grader's place in a reward.

    Attributes:
        id: the grader entry's id in the spec, unique there.
        stage: the name of its stage.
        weight: its weight inside the stage.
        score: its Score, or None when it was *skipped*.
        contribution: what it adds to the reward; None where that cannot be said (the reward is
            unscored, or the stage combines by product or formula).
        reason: why it was skipped; empty otherwise.
    """

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    id: str
    stage: str
    weight: float = 1.0
    score: Score | None = None
    contribution: float | None = None
    reason: str = ""
    _open: ClassVar[type[Any]]

    def __post_init__(self) -> None:
        contribution = self.contribution
        if not (isfinite(self.weight) and (contribution is None or isfinite(contribution))):
            raise RecordError(f"the weight and contribution of part `{self.id}` are finite numbers")

    @classmethod
    def placed(
        cls, place: tuple[str, str, float], score: Score | None, contribution: float | None,
        reason: str = "",
    ) -> Part:  # fmt: skip
        """Return a Part at a place of a spec (id, stage, weight), whose numbers are finite."""
        made: Any = _new(cls._open)  # every reward has several, so what is known is not checked
        made.id, made.stage, made.weight = place
        made.score = score
        made.contribution = contribution
        made.reason = reason
        made.__class__ = cls
        return made  # type: ignore[no-any-return]

    @property
    def status(self) -> Literal["graded", "abstained", "failed", "skipped"]:
        """``graded``, ``abstained``, ``failed`` or ``skipped``."""
        return "skipped" if self.score is None else self.score.status


@quick
@dataclass(frozen=True, slots=True)
class SpanReward:
    """The share of the reward that belongs to one span of one step (offsets in characters)."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    step: int
    start: int
    end: int
    value: float
    field: Literal["text", "reasoning"] = "text"

    def __post_init__(self) -> None:
        _check_finite("of a span", self.value)
        if self.step < 0 or not 0 <= self.start <= self.end:
            raise RecordError(
                f"a span runs forwards in a step from 0, not from {self.start} to {self.end} "
                f"in step {self.step}"
            )


@quick
@dataclass(frozen=True, slots=True)
class SpecInfo:
    """Which spec made a reward: name, version, and the digest of all it depends on."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    name: str = ""
    version: str = ""
    digest: str = ""


NO_SPEC = SpecInfo()
R = TypeVar("R")


@quick
@dataclass(frozen=True, slots=True)
class Reward:
    """What the spec makes of the Scores: one number or None, its share per step, every Part.

    Attributes:
        value: the reward; None means *unscored*: never 0, never trained on.
        success: did the attempt reach the goal; None where that cannot be said.
        status: ``scored`` or ``unscored``.
        fault: whose fault it is that there is no value.
        reason: what decided, or why there is no value.
        step_rewards: one number per step; their sum is the value, to 1e-9. Empty if unscored.
        span_rewards: the shares of single spans, finer than steps.
        unplaced: the share that belongs to no step, before ``credit`` places it.
        parts: every grader's Part, in the order of the spec.
        decided_by: the gate that decided, or None.
        spec: the spec's name, version and digest.
    """

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    value: float | None
    success: bool | None = None
    status: Literal["scored", "unscored"] = "scored"
    fault: Fault | None = None
    reason: str = ""
    step_rewards: tuple[float, ...] = ()
    span_rewards: tuple[SpanReward, ...] = ()
    unplaced: float = 0.0
    parts: tuple[Part, ...] = ()
    decided_by: str | None = None
    spec: SpecInfo = NO_SPEC
    _open: ClassVar[type[Any]]

    def __post_init__(self) -> None:
        value = self.value
        if (type(self.step_rewards), type(self.span_rewards), type(self.parts)) != _TUPLES:
            _make_tuples(self, ("step_rewards", "span_rewards", "parts"))
        if value is None:
            self._check_unscored()
            return
        if self.status != "scored" or self.fault is not None:
            raise RecordError("a Reward with a value is scored and has no fault")
        total = sum(self.step_rewards)
        if not abs(total - value) <= TOLERANCE or not isfinite(self.unplaced):
            self._check_sum(value)

    def _check_sum(self, value: float) -> None:
        _check_finite("of a Reward", value, self.unplaced, *self.step_rewards)
        if abs(math.fsum(self.step_rewards) - value) > TOLERANCE * max(1.0, abs(value)):
            raise RecordError("step_rewards must add up to the value")

    def _check_unscored(self) -> None:
        if self.status != "unscored" or self.fault not in _FAULTS:
            raise RecordError("a Reward without a value is unscored and says whose fault it is")
        if self.step_rewards or self.span_rewards or self.unplaced or self.success is not None:
            raise RecordError("an unscored Reward has no success, no step_rewards, no unplaced")
        if any(part.contribution is not None for part in self.parts):
            raise RecordError("the Parts of an unscored Reward contribute nothing")

    @classmethod
    def composed(  # noqa: PLR0917  # every reward comes this way, and names take time
        cls,
        value: float,
        success: bool | None,
        step_rewards: tuple[float, ...],
        span_rewards: tuple[SpanReward, ...],
        unplaced: float,
        parts: tuple[Part, ...],
        spec: SpecInfo,
    ) -> Reward:
        """Return a Reward with a value that was just made of Scores: its steps add up to it."""
        made: Any = _new(cls._open)  # so nothing is checked again
        made.value = value
        made.success = success
        made.status = "scored"
        made.fault = None
        made.reason = ""
        made.step_rewards = step_rewards
        made.span_rewards = span_rewards
        made.unplaced = unplaced
        made.parts = parts
        made.decided_by = None
        made.spec = spec
        made.__class__ = cls
        return made  # type: ignore[no-any-return]

    @classmethod
    def unscored(
        cls, fault: Fault, reason: str, *, parts: tuple[Part, ...] = (), spec: SpecInfo = NO_SPEC
    ) -> Reward:
        """Return a Reward without a value, with whose fault that is and why."""
        return cls(None, None, "unscored", fault, reason, parts=parts, spec=spec)

    def part(self, part_id: str) -> Part:
        """Return the Part with this id.

        Raises:
            KeyError: if the spec has no such part.
        """
        for part in self.parts:
            if part.id == part_id:
                return part
        raise KeyError(part_id)


_TUPLES = (tuple, tuple, tuple)


def _make_tuples(record: object, names: tuple[str, ...]) -> None:
    for name in names:
        if type(getattr(record, name)) is not tuple:
            _set(record, name, tuple(getattr(record, name)))


def _check_finite(whose: str, *numbers: float) -> None:
    wrong = next((number for number in numbers if not isfinite(number)), None)
    if wrong is not None:
        raise RecordError(f"the numbers {whose} are finite, and {wrong} is not")


@cache
def adapter(record: type[Any]) -> TypeAdapter[Any]:
    """Return pydantic's adapter of a dataclass record."""
    return TypeAdapter(record)


def read_reward(data: bytes | str) -> Reward:
    """Return the Reward in one JSON object.

    Raises:
        RecordError: if it is none.
    """
    return _read(Reward, data)


def read_score(data: bytes | str) -> Score:
    """Return the Score in one JSON object.

    Raises:
        RecordError: if it is none.
    """
    return _read(Score, data)


def _read(record: type[R], data: bytes | str) -> R:
    try:
        value: R = adapter(record).validate_json(data)  # type: ignore[arg-type]  # is hashable
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise RecordError(f"not a {record.__name__}: {path or 'it'}: {message}") from None
    return value


def write_record(record: Score | Reward) -> bytes:
    """Return a Score or a Reward as one line of JSON; reading it back gives an equal one."""
    try:
        known = adapter(type(record))  # type: ignore[arg-type]  # is hashable
        return known.serializer.to_json(record, warnings=False)
    except (PydanticSerializationError, UnicodeEncodeError):
        return dump_json(record)  # half of a surrogate pair, or fields of other types

"""One grader, one trajectory: call it, and make a Score of whatever happens."""

from __future__ import annotations

import asyncio
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rewardhub.contracts import AnyGrader, Resource, Workers, view_of
from rewardhub.errors import InfrastructureError, LimitError, RecordError, TaskError
from rewardhub.host import GraderCard
from rewardhub.records import Score, Trajectory
from rewardhub.spec.model import Entry

Where = str
"""How an entry runs: ``inline``, ``process``, ``thread`` or ``loop``."""


class Escalate(BaseException):
    """Raised by the first `Workers.call` of an inline grading: run it in a worker instead.

    No `Exception`, so that a grader's own ``except Exception`` lets it pass.
    """


class WorkersProbe(Workers):
    """Stands in for worker processes while a grading runs inline: touching it moves the work."""

    def call(self, function: Callable[..., Any], /, *_args: Any, **_kwargs: Any) -> Any:
        """Move the whole grading into a worker process."""
        raise Escalate(getattr(function, "__qualname__", "call"))

    def limited(
        self, *, cpu_seconds: float | None = None, wall_seconds: float | None = None
    ) -> Workers:
        """Return itself: no call is run here."""
        del cpu_seconds, wall_seconds
        return self


_PROBE = WorkersProbe()

LASTING = {"passing": False}
"""In the evidence of a failed Score: what broke does not mend itself, so it is not tried again."""


class Runner:
    """One entry of a spec, ready to grade in this process.

    Attributes:
        entry: the entry.
        where: ``inline``, ``process``, ``thread`` or ``loop``.
        grader: the instance that grades; entries with equal options share one.
        resources: what is bound to the grader's parameters, besides worker processes.
    """

    __slots__ = ("_call", "_slots", "_use", "entry", "grader", "resources", "show", "where")

    def __init__(
        self,
        entry: Entry,
        resources: Mapping[str, Resource] | None = None,
        grader: AnyGrader | None = None,
    ) -> None:
        card = entry.card
        signature = card.signature
        self.entry = entry
        self._use = entry.use
        self.where: Where = where_of(card)
        self.show = view_of(card.all_reads, entry.use)
        self.grader = entry.grader if grader is None else grader
        self._call: Callable[..., Any] = getattr(self.grader, signature.shape)
        self.resources: Mapping[str, Resource] = resources or {}
        self._slots: Mapping[str, Any] = resources or dict.fromkeys(signature.slots, _PROBE)

    def grade(self, trajectory: Trajectory) -> Score:
        """Return the Score of one trajectory.

        Raises:
            Escalate: if the grader asked for worker processes and this is not one.
            LimitError: if the work went over a limit of this very process.
        """
        start = time.perf_counter()
        try:
            if self._slots:
                verdict = self._call(self.show(trajectory), **self._slots)
            else:
                verdict = self._call(self.show(trajectory))
            seconds = time.perf_counter() - start
            if type(verdict) is Score and not verdict.step_values:  # as most are
                return verdict.signed(self._use, seconds)
            if type(verdict) is float:
                return Score.of(verdict, seconds=seconds, grader=self._use)
            return score_of(verdict, self.entry, trajectory, seconds)
        except BaseException as error:
            if _is_not_the_graders(error):
                raise
            return score_of_error(error, self.entry, time.perf_counter() - start)

    async def agrade(self, trajectory: Trajectory) -> Score:
        """Return the Score of one trajectory; the grader is ``async def``."""
        start = time.perf_counter()
        try:
            verdict = await self._call(self.show(trajectory), **self._slots)
            return score_of(verdict, self.entry, trajectory, time.perf_counter() - start)
        except BaseException as error:
            if _is_not_the_graders(error):
                raise
            return score_of_error(error, self.entry, time.perf_counter() - start)

    def grade_many(self, trajectories: Sequence[Trajectory]) -> list[Score]:
        """Return one Score for each trajectory; the grader is a batch or group grader.

        Raises:
            Exception: whatever the grader raises, for the caller to find the row at fault.
        """
        start = time.perf_counter()
        try:
            verdicts = self._call([self.show(each) for each in trajectories], **self._slots)
        except BaseException as error:
            if _is_harmless(error):
                raise
            raise RuntimeError(f"it raised {type(error).__name__}") from error
        return self._scores(verdicts, trajectories, start)

    async def agrade_many(self, trajectories: Sequence[Trajectory]) -> list[Score]:
        """Like `grade_many`, for ``async def``."""
        start = time.perf_counter()
        try:
            verdicts = await self._call([self.show(each) for each in trajectories], **self._slots)
        except BaseException as error:
            if _is_harmless(error):
                raise
            raise RuntimeError(f"it raised {type(error).__name__}") from error
        return self._scores(verdicts, trajectories, start)

    def _scores(
        self, verdicts: Any, trajectories: Sequence[Trajectory], start: float
    ) -> list[Score]:
        if not isinstance(verdicts, Sequence) or isinstance(verdicts, str | bytes):
            raise RecordError(
                f"it returned {type(verdicts).__name__} instead of one verdict per trajectory"
            )
        if len(verdicts) != len(trajectories):
            raise RecordError(
                f"it returned {len(verdicts)} verdicts for {len(trajectories)} trajectories"
            )
        seconds = (time.perf_counter() - start) / max(1, len(trajectories))
        return [
            _score_or_error(verdict, self.entry, trajectory, seconds)
            for verdict, trajectory in zip(verdicts, trajectories, strict=True)
        ]


def _is_not_the_graders(error: BaseException) -> bool:
    """Whether ``error`` is the doing of the engine or of a person, and must be let through."""
    if isinstance(error, KeyboardInterrupt):
        return threading.current_thread() is threading.main_thread()
    if isinstance(error, asyncio.CancelledError):
        return _is_cancelled()
    return isinstance(error, Escalate | GeneratorExit)


def _is_cancelled() -> bool:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # a thread without a loop
        return False
    return task is not None and task.cancelling() > 0


def _is_harmless(error: BaseException) -> bool:
    """Whether ``error`` may leave a thread or the loop as it is: `SystemExit` would end it."""
    plain = isinstance(error, Exception) and not isinstance(error, StopIteration)
    return plain or _is_not_the_graders(error)


def where_of(card: GraderCard) -> Where:
    """Return where a grader runs, from its card and signature."""
    signature = card.signature
    if card.runs_in == "process":
        return "process"
    if signature.is_async:
        return "loop"
    if signature.shape != "grade":
        return "thread"
    if signature.slots and not signature.only_workers:
        return "thread"
    return "inline"


_NUMBERS = frozenset({bool, int, float})


def score_of(verdict: object, entry: Entry, trajectory: Trajectory, seconds: float) -> Score:
    """Return the Score that ``verdict`` is, signed.

    Raises:
        RecordError: for what is no verdict: NaN, a number outside [0, 1], another type, a step
            that the trajectory does not have.
    """
    if type(verdict) is Score:
        if verdict.step_values:
            _check_steps(verdict, trajectory)
        return verdict.signed(entry.use, seconds)
    if type(verdict) in _NUMBERS:
        return Score.of(verdict, seconds=seconds, grader=entry.use)  # type: ignore[arg-type]
    if isinstance(verdict, Awaitable):
        if isinstance(verdict, Coroutine):
            verdict.close()
        raise RecordError("it returned a coroutine: write `async def grade`")
    if verdict is None:
        raise RecordError("it returned None: return a Score, True, False or a number in [0, 1]")
    return Score.of(verdict).signed(entry.use, seconds)  # type: ignore[arg-type]  # Score.of checks


def _check_steps(score: Score, trajectory: Trajectory) -> None:
    for each in score.step_values:
        if each.step >= len(trajectory.steps):
            raise RecordError(
                f"it gave a value to step {each.step}, and there are {len(trajectory.steps)} steps"
            )
        if each.end is not None:
            length = len(getattr(trajectory.steps[each.step], each.field) or "")
            if each.end > length:
                raise RecordError(
                    f"a span of step {each.step} ends at {each.end}, past its {length} characters"
                )


def _score_or_error(verdict: object, entry: Entry, trajectory: Trajectory, seconds: float) -> Score:
    try:
        return score_of(verdict, entry, trajectory, seconds)
    except RecordError as error:
        return score_of_error(error, entry, seconds)


def score_of_error(error: BaseException, entry: Entry, seconds: float) -> Score:
    """Return the Score that an exception of a grader becomes: never a number.

    Raises:
        LimitError: for a limit that the work hit, whose cause the engine decides.
    """
    if isinstance(error, LimitError):
        raise error
    if isinstance(error, MemoryError):
        raise LimitError("memory", "ran out of memory") from None
    if isinstance(error, RecursionError):
        raise LimitError("memory", "nested too deeply for Python's stack") from None
    if isinstance(error, TaskError):
        return Score.abstain(str(error)).signed(entry.use, seconds)
    if isinstance(error, InfrastructureError):
        score = _failed(error, entry, seconds, "infrastructure", str(error))
        return score if error.passing else replace(score, evidence={**score.evidence, **LASTING})
    if isinstance(error, RecordError):
        return _failed(error, entry, seconds, "grader", str(error))
    return _failed(error, entry, seconds, "grader", f"{type(error).__name__}: {_text_of(error)}")


def _text_of(error: BaseException) -> str:
    try:
        return str(error).strip() or "no message"
    except Exception:  # noqa: BLE001  # a grader's own exception class, as broken as the grader
        return "no message"


def _failed(error: BaseException, entry: Entry, seconds: float, fault: Any, message: str) -> Score:
    lines = traceback.format_exception(error)
    evidence = {"grader": entry.use, "traceback": "".join(lines)[-8192:]}
    reason = f"`{entry.use}` broke: {message[:500]}"
    return Score.fail(reason, fault=fault, evidence=evidence).signed(entry.use, seconds)

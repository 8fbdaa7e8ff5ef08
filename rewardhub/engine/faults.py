"""What is tried again, how often, with which pause; and whose fault a limit is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from rewardhub.errors import LimitError
from rewardhub.records import Fault, Score, Step, Task, Trajectory
from rewardhub.spec.model import Entry


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a fault is tried again, and the pause before each try, in seconds."""

    pauses: tuple[float, ...] = ()


RETRIES: dict[Fault, Retry] = {
    "task": Retry(),
    "grader": Retry(),
    "infrastructure": Retry((0.2, 1.0, 5.0)),
}
"""A task does not mend itself, and neither does a bug; an endpoint may come back."""


class Attempt(Protocol):
    """Grades once; ``alone``: on a fresh worker while nothing else runs beside it."""

    async def __call__(self, trajectory: Trajectory, *, alone: bool) -> Score:
        """Return the Score, or raise `LimitError`."""
        ...


class SlowMachineError(LimitError):
    """A wall-clock limit was reached while the canary job was slow, too."""


def control_of(task: Task) -> Trajectory:
    """Return the attempt at ``task`` that says nothing: what a limit is measured against."""
    return Trajectory(id="control", task=task, steps=(Step(text=""),))


EMPTY_TASK = Task(id="empty")


class LimitRule:
    """Decides whose fault it is when grading a text goes over a limit or kills its process.

    A second try runs alone on a fresh worker. If that breaks a limit too, the same grader runs on
    the same task with an empty answer, the *control*. Control within its limits: the text is at
    fault, a graded 0. Control over them: the task is (abstained), unless the grader breaks on an
    empty task as well: then it failed. Results of controls are kept, and a grader that breaks on
    an empty task is not run again.
    """

    def __init__(self) -> None:
        self.broken: dict[str, str] = {}
        self._controls: dict[tuple[str, str], str | None] = {}

    async def grade(self, entry: Entry, trajectory: Trajectory, attempt: Attempt) -> Score:
        """Return the Score of ``trajectory``; never raises `LimitError`."""
        try:
            return await self._grade(entry, trajectory, attempt)
        except SlowMachineError as error:
            return _slow(entry, error)

    async def _grade(self, entry: Entry, trajectory: Trajectory, attempt: Attempt) -> Score:
        hits: list[str] = []
        for alone in (False, True):
            if entry.identity in self.broken:
                return self._grader_broke(entry)
            try:
                return await attempt(trajectory, alone=alone)
            except SlowMachineError:
                raise
            except LimitError as error:
                hits.append(_how(error))
        return await self._by_control(entry, trajectory, attempt, hits)

    async def _by_control(
        self, entry: Entry, trajectory: Trajectory, attempt: Attempt, hits: list[str]
    ) -> Score:
        evidence = {"grader": entry.use, "tries": hits}
        control = await self._control(entry, trajectory.task, attempt)
        if control is None:
            reason = f"the answer could not be processed: it {hits[-1]}"
            return Score.of(0.0, reason, evidence=evidence).signed(entry.use, 0.0)
        empty = await self._control(entry, EMPTY_TASK, attempt)
        if empty is None:
            reason = f"the task cannot be processed: with an empty answer `{entry.use}` {control}"
            return Score.abstain(reason, evidence=evidence).signed(entry.use, 0.0)
        self.broken[entry.identity] = empty
        return self._grader_broke(entry, hits)

    async def _control(self, entry: Entry, task: Task, attempt: Attempt) -> str | None:
        """Return how the control broke its limits, or None if it kept them."""
        key = (entry.identity, task.digest)
        if key not in self._controls:
            self._controls[key] = await _breaks(control_of(task), attempt)
        return self._controls[key]

    def _grader_broke(self, entry: Entry, hits: list[str] | None = None) -> Score:
        how = self.broken[entry.identity]
        evidence = {"grader": entry.use, "tries": hits or [], "control": how}
        reason = f"`{entry.use}` broke: on an empty task, too, it {how}"
        return Score.fail(reason, fault="grader", evidence=evidence).signed(entry.use, 0.0)


async def _breaks(control: Trajectory, attempt: Attempt) -> str | None:
    try:
        await attempt(control, alone=True)
    except SlowMachineError:  # which says nothing of the grader
        raise
    except LimitError as error:
        return _how(error)
    return None


def _how(error: LimitError) -> str:
    """Return how a limit was broken, without names of processes that differ from run to run."""
    text = str(error)
    return text.partition(":")[0] if error.kind == "survivors" else text


def _slow(entry: Entry, error: LimitError) -> Score:
    reason = f"the machine was too slow to tell: `{entry.use}` {error}, and so did a canary job"
    return Score.fail(reason, fault="infrastructure").signed(entry.use, 0.0)


async def with_retries(
    grade: Callable[[], Awaitable[list[Score]]], sleep: Callable[[float], Awaitable[None]]
) -> list[Score]:
    """Return the Scores of ``grade``, tried again as `RETRIES` says.

    The tries before the last, and what they cost, are in the evidence.
    """
    scores = await grade()
    before: list[list[Score]] = []
    for pause in _pauses(scores):
        before.append(scores)
        await sleep(pause)
        scores = await grade()
        if not _pauses(scores):
            break
    if not before:
        return scores
    return [_with_tries(score, tries) for score, *tries in zip(scores, *before, strict=True)]


def _pauses(scores: Iterable[Score]) -> tuple[float, ...]:
    found = (
        RETRIES[score.fault].pauses
        for score in scores
        if score.fault is not None and score.evidence.get("passing") is not False
    )
    return max(found, key=len, default=())


def _with_tries(score: Score, tries: Iterable[Score]) -> Score:
    told = [
        {"reason": each.reason[:500], "seconds": each.seconds, "cost": each.cost} for each in tries
    ]
    return replace(score, evidence={**score.evidence, "tries": told})

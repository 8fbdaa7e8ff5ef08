"""What is tried again, how often, with which pause; and whose fault a limit is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
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
        if entry.identity in self.broken:
            return self._grader_broke(entry)
        hits: list[str] = []
        for alone in (False, True):
            try:
                return await attempt(trajectory, alone=alone)
            except SlowMachineError as error:
                return _slow(entry, error)
            except LimitError as error:
                hits.append(_how(error))
            if entry.identity in self.broken:
                return self._grader_broke(entry)
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
    grade: Callable[[], Awaitable[Score]], sleep: Callable[[float], Awaitable[None]]
) -> Score:
    """Return the Score of ``grade``, tried again as `RETRIES` says; the tries are in evidence."""
    score = await grade()
    if score.fault is None or not RETRIES[score.fault].pauses:
        return score
    failures = [score.reason]
    for pause in RETRIES[score.fault].pauses:
        await sleep(pause)
        score = await grade()
        if score.fault != "infrastructure":
            break
        failures.append(score.reason)
    evidence = {**score.evidence, "tries": [reason[:500] for reason in failures]}
    return replace(score, evidence=evidence)

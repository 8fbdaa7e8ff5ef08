"""Tasks against a reward spec: right answers earn success, empty and copied ones do not."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardhub.audit.task_files import TaskRow
from rewardhub.engine.engine import Engine
from rewardhub.host import AttackCard
from rewardhub.records import Reward, Step, Task, Trajectory

REFERENCE = "{reference}"
"""Stands for the reference in the template of a right answer."""

_NO_OP = "I don't know."
_PARTS_TOLD = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProblem:
    """Something that is wrong with one task.

    Attributes:
        row: of the file, from 1.
        task: the task's id; empty where the row holds none.
        trial: which answer showed it: ``reference``, ``empty answer``, ``no-op``, ``prompt copy``
            or the name of an attack; ``row`` where the row holds no task.
        message: what is wrong, in one sentence.
        where: file and line, where ``row`` alone does not tell; else empty.
    """

    row: int
    task: str
    trial: str
    message: str
    where: str = ""


@dataclass(slots=True)
class TaskCounts:
    """How many tasks were tried, and how many of them could not be tried with a right answer."""

    tasks: int = 0
    without_reference: int = 0


@dataclass(frozen=True, slots=True)
class _Trial:
    """One answer to one task, and whether it should succeed."""

    row: int
    task: Task
    name: str
    text: str
    should_succeed: bool = False


@dataclass(slots=True)
class TaskCheck:
    """Tries tasks with answers whose worth is known, and tells where the reward disagrees.

    The reference must earn success. An empty answer, one that says nothing ("I don't know."), a
    copy of the prompt, and what the attacks of the task's domain offer must earn none.

    Attributes:
        engine: scores the answers.
        answer: how a right answer is written, `REFERENCE` standing for the reference.
        attacks: further answers that must earn none; packs bring them.
        counts: of the tasks so far.
    """

    engine: Engine
    answer: str = REFERENCE
    attacks: Sequence[AttackCard] = ()
    counts: TaskCounts = field(default_factory=TaskCounts)

    def problems(self, rows: Iterable[TaskRow]) -> Iterator[TaskProblem]:
        """Yield what is wrong, in the order of the rows."""
        waiting: deque[_Trial | TaskProblem] = deque()
        unscored = 0
        for reward in self.engine.score_all(self._attempts(rows, waiting)):
            yield from _problems_at_front(waiting)
            trial = waiting.popleft()
            assert isinstance(trial, _Trial)
            if reward.value is None and trial.row == unscored:
                continue  # said already: the task cannot be graded, whatever the answer
            message = _wrong(trial, reward)
            if message:
                yield _problem(trial, message)
            if reward.value is None:
                unscored = trial.row
        yield from _problems_at_front(waiting)

    def _attempts(
        self, rows: Iterable[TaskRow], waiting: deque[_Trial | TaskProblem]
    ) -> Iterator[Trajectory]:
        for each in rows:
            if each.task is None:
                waiting.append(TaskProblem(row=each.row, task="", trial="row", message=each.error))
                continue
            self.counts.tasks += 1
            for number, trial in enumerate(self._trials(each.row, each.task)):
                waiting.append(trial)
                if isinstance(trial, _Trial):
                    yield _attempt(trial, number)

    def _trials(self, row: int, task: Task) -> Iterator[_Trial | TaskProblem]:
        right = self._right_answer(task)
        if right is None:
            self.counts.without_reference += 1
        else:
            yield _Trial(row, task, "reference", right, should_succeed=True)
        yield _Trial(row, task, "empty answer", "")
        if task.reference != _NO_OP:  # some tasks have no answer, and to say so is right
            yield _Trial(row, task, "no-op", _NO_OP)
        if task.prompt:
            yield _Trial(row, task, "prompt copy", task.prompt)
        for card in self.attacks:
            if not card.domains or task.domain in card.domains:
                yield from _attack(card, row, task)

    def _right_answer(self, task: Task) -> str | None:
        """Return the answer that must succeed; None for a reference that is no text or number."""
        reference = task.reference
        if isinstance(reference, bool) or not isinstance(reference, str | int | float):
            return None
        return self.answer.replace(REFERENCE, str(reference))


def _attack(card: AttackCard, row: int, task: Task) -> Iterator[_Trial | TaskProblem]:
    try:
        for text in card.attack(task):
            yield _Trial(row, task, card.name, str(text))
    except Exception as error:  # noqa: BLE001  # a pack's code
        message = f"the attack `{card.name}` broke: {type(error).__name__}: {error}"
        yield TaskProblem(row=row, task=task.id, trial=card.name, message=message)


def _attempt(trial: _Trial, number: int) -> Trajectory:
    identity = f"{trial.row}/{number}"
    return Trajectory(
        id=identity,
        task=trial.task,
        group=identity,  # nobody is compared with anybody
        group_size=1,
        steps=(Step(text=trial.text),),
    )


def _problems_at_front(waiting: deque[_Trial | TaskProblem]) -> Iterator[TaskProblem]:
    while waiting and isinstance(waiting[0], TaskProblem):
        problem: Any = waiting.popleft()
        yield problem


def _problem(trial: _Trial, message: str) -> TaskProblem:
    return TaskProblem(row=trial.row, task=trial.task.id, trial=trial.name, message=message)


def _wrong(trial: _Trial, reward: Reward) -> str:
    """Return what is wrong with the reward of a trial, or an empty text."""
    if reward.value is None:
        return f"the {trial.name} is unscored (fault: {reward.fault}): {reward.reason}"
    if trial.should_succeed and not reward.success:
        verdict = "earns no success" if reward.success is False else "has an unknown success"
        return f"the {trial.name} {verdict}: {_because(reward, missing=True)}"
    if reward.success and not trial.should_succeed:
        return f"the {trial.name} earns success: {_because(reward, missing=False)}"
    return ""


def _because(reward: Reward, *, missing: bool) -> str:
    """Return the parts that lack marks, or have them, with their reasons."""
    told: list[str] = []
    for part in reward.parts:
        score = part.score
        if score is None or (score.value is not None and (score.value >= 1.0) == missing):
            continue
        worth = score.status if score.value is None else f"{score.value:.3g}"
        told.append(f"`{part.id}` {worth}{f' ({score.reason})' if score.reason else ''}")
    more = ", ..." if len(told) > _PARTS_TOLD else ""
    return reward.reason or ", ".join(told[:_PARTS_TOLD]) + more or "no part says why"

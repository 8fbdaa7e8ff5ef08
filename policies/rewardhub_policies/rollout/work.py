"""Making the attempts: so many side by side, tried again after faults that are nobody's doing."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rewardhub import InfrastructureError, Policy, Task, TaskError, Trajectory
from rewardhub_policies.acting import ActingPolicy, seed_of
from rewardhub_policies.budget import Budget
from rewardhub_policies.rollout.attempts_file import AttemptsFile

FIRST_PAUSE = 0.5
"""Seconds before an attempt that broke is made again; each further pause is twice as long."""

PROGRESS_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a rollout is carried out.

    Attributes:
        n: attempts at each task.
        seed: of the whole rollout: each attempt has one of its own that follows from it.
        parallel: attempts under way at most.
        retries: how often an attempt that *broke* by the infrastructure is made again.
        seconds: no attempt begins later; None: no limit.
    """

    n: int = 8
    seed: int = 0
    parallel: int = 8
    retries: int = 2
    seconds: float | None = None


@dataclass(slots=True)
class Count:
    """How far a rollout is.

    Attributes:
        wanted: attempts in all.
        kept: attempts that were there before.
        made: attempts of this process; ``tokens`` and ``cost``: what they took.
        statuses: status -> how many of them.
        retried: attempts that were made again.
        stopped: why no more attempts begin; empty while they do.
    """

    wanted: int = 0
    kept: int = 0
    made: int = 0
    tokens: int = 0
    cost: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter[str])
    retried: int = 0
    stopped: str = ""

    @property
    def missing(self) -> int:
        """Attempts that are not there."""
        return self.wanted - self.kept - self.made


@dataclass(frozen=True, slots=True)
class _Unit:
    """What is sampled in one call: attempts (by number) at one task."""

    task: Task
    numbers: tuple[int, ...]


def name_of(task: Task, number: int) -> str:
    """Return the id of an attempt."""
    return f"{task.id}/{number}"


async def roll_out(
    policy: Policy,
    tasks: Iterable[Task],
    plan: Plan,
    file: AttemptsFile,
    *,
    budget: Budget | None = None,
    recorded: Mapping[str, Sequence[Trajectory]] | None = None,
    on_progress: Callable[[Count], None] = lambda _: None,
) -> Count:
    """Make the attempts that ``file`` does not have yet, and write each as it comes.

    Tasks with a higher ``metadata.priority`` come first. What the policy did is never tried again;
    an attempt that *broke* by the infrastructure is, with the same seed, and its earlier ends are
    kept in ``metadata.tries``. One that is still broken is written as such.

    Args:
        policy: opened; one that acts turn by turn is asked for single attempts, any other for all
            attempts at a task at once.
        tasks: what is tried.
        plan: how.
        file: takes the attempts, and knows those of before.
        budget: what the policy spends from; once it is used up, no attempt begins.
        recorded: task digest -> attempts that are taken over instead of being made.
        on_progress: called every few seconds, and at the end.
    """
    rollout = _Rollout(policy, plan, file, budget, recorded or {}, Count())
    units = rollout.units(tasks)
    telling = asyncio.create_task(rollout.tell(on_progress))
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(plan.parallel, len(units))):
                group.create_task(rollout.work(units))
    finally:
        telling.cancel()
        on_progress(rollout.count)
    return rollout.count


@dataclass(slots=True)
class _Rollout:
    policy: Policy
    plan: Plan
    file: AttemptsFile
    budget: Budget | None
    recorded: Mapping[str, Sequence[Trajectory]]
    count: Count
    began: float = field(default_factory=time.monotonic)

    def units(self, tasks: Iterable[Task]) -> deque[_Unit]:
        """Return what is to be sampled, the first first; take over what was recorded elsewhere."""
        units: list[_Unit] = []
        for task in tasks:
            self.count.wanted += self.plan.n
            names = {number: name_of(task, number) for number in range(self.plan.n)}
            left = [number for number, name in names.items() if name not in self.file.done]
            self.count.kept += self.plan.n - len(left)
            for number, attempt in zip(
                tuple(left), self.recorded.get(task.digest, ()), strict=False
            ):
                self._write(task, number, attempt, {"reused": attempt.id})
                left.remove(number)
            if isinstance(self.policy, ActingPolicy):
                units += [_Unit(task, (number,)) for number in left]
            elif left:
                units.append(_Unit(task, tuple(left)))
        return deque(sorted(units, key=lambda unit: -_priority(unit.task)))

    async def work(self, units: deque[_Unit]) -> None:
        """Sample one unit after the other, until none is left or the rollout is stopped."""
        while units and not self._is_over():
            unit = units.popleft()
            tries: list[str] = []
            while True:
                made, error = await self._sample(unit)
                why = _broken(made, error)
                if self.budget is not None and self.budget.used_up and why:
                    self.count.stopped = "the budget is used up"
                    return
                if error is not None and not error.passing and not made:
                    self.count.stopped = str(error)
                    return
                if not why or len(tries) >= self.plan.retries:
                    break
                tries.append(why)
                self.count.retried += 1
                await asyncio.sleep(FIRST_PAUSE * 2.0 ** (len(tries) - 1))
            if error is not None and not made:
                made = [_broken_by(unit.task, "infrastructure", error) for _ in unit.numbers]
            told = {"tries": tries} if tries else {}
            for number, attempt in zip(unit.numbers, made, strict=True):
                self._write(unit.task, number, attempt, told)

    async def tell(self, on_progress: Callable[[Count], None]) -> None:
        """Tell how far it is, every few seconds."""
        while True:
            await asyncio.sleep(PROGRESS_SECONDS)
            on_progress(self.count)

    async def _sample(self, unit: _Unit) -> tuple[list[Trajectory], InfrastructureError | None]:
        seed = seed_of(self.plan.seed, unit.task.digest)
        try:
            if isinstance(self.policy, ActingPolicy):
                (number,) = unit.numbers
                return list(await self.policy.sample(unit.task, 1, seed_of(seed, number))), None
            made = await self.policy.sample(unit.task, self.plan.n, seed)
            return [made[number] for number in unit.numbers], None
        except InfrastructureError as error:
            return [], error
        except TaskError as error:
            return [_broken_by(unit.task, "task", error) for _ in unit.numbers], None

    def _is_over(self) -> bool:
        limit = self.plan.seconds
        if limit is not None and time.monotonic() - self.began >= limit:
            self.count.stopped = self.count.stopped or f"the limit of {limit:g} seconds was reached"
        return bool(self.count.stopped)

    def _write(
        self, task: Task, number: int, attempt: Trajectory, told: Mapping[str, object]
    ) -> None:
        self.file.write(
            attempt.replace(
                id=name_of(task, number),
                group=task.id,
                group_size=self.plan.n,
                # An environment adds its tools to the task: this is the task that was asked.
                metadata={**attempt.metadata, "attempt": number, "task": task.digest, **told},
            )
        )
        self.count.made += 1
        self.count.tokens += attempt.tokens or 0
        self.count.cost += attempt.cost or 0.0
        self.count.statuses[attempt.status] += 1


def _priority(task: Task) -> float:
    value = task.metadata.get("priority", 0)
    return float(value) if isinstance(value, int | float) else 0.0


def _broken(made: Sequence[Trajectory], error: InfrastructureError | None) -> str:
    """Return why a sample has to be made again; empty if it has not."""
    if error is not None:
        return str(error)
    broken = (each for each in made if each.status == "broken" and each.fault == "infrastructure")
    return next((each.reason for each in broken), "")


def _broken_by(
    task: Task, fault: Literal["task", "infrastructure"], error: Exception
) -> Trajectory:
    """Return the record of an attempt that never began."""
    return Trajectory(task=task, status="broken", fault=fault, reason=str(error))

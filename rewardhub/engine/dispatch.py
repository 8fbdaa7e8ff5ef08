"""Where the dear parts are graded: worker processes, threads, the loop; alone or together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from rewardhub.contracts import Limits, Workers
from rewardhub.engine import wire
from rewardhub.engine.batching import Batcher, Run, grade_split
from rewardhub.engine.cache import Cache, is_cacheable, key_of
from rewardhub.engine.faults import Attempt, LimitRule, SlowMachineError, with_retries
from rewardhub.engine.grade import Runner, score_of_error
from rewardhub.engine.workers import Result, WorkerPool
from rewardhub.errors import InfrastructureError, LimitError
from rewardhub.records import Score, Trajectory, read_score
from rewardhub.spec.model import Entry

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE = 900.0
"""Wall-clock limit, in seconds, of what waits on others: threads and coroutines."""

THREADS = 32


class Dispatch:
    """Grades single parts wherever they belong. Lives on the engine's loop.

    Args:
        pool: returns the worker processes; called when they are first needed.
        cache: keeps dear Scores, or None.
    """

    def __init__(self, pool: Callable[[], WorkerPool], cache: Cache | None) -> None:
        self.rule = LimitRule()
        self._pool = pool
        self._cache = cache
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="rewardhub-grader")
        self._batchers: dict[int, Batcher] = {}

    async def grade(self, runner: Runner, trajectory: Trajectory) -> Score:
        """Return the Score of one part; every fault is dealt with here."""
        entry = runner.entry
        cache = self._cache if is_cacheable(entry) else None
        if cache is None:
            return await self._grade(runner, trajectory)
        key = key_of(entry, (trajectory,), runner.resources)
        score = cache.get(key)
        if score is None:
            score = await self._grade(runner, trajectory)
            cache.put(key, score)
        return score

    async def _grade(self, runner: Runner, trajectory: Trajectory) -> Score:
        attempt = self._attempt(runner)
        return await with_retries(
            lambda: self.rule.grade(runner.entry, trajectory, attempt), asyncio.sleep
        )

    async def grade_group(self, runner: Runner, members: list[Trajectory]) -> list[Score]:
        """Return one Score for each member of a complete group."""
        return await _grade_whole(runner, members, self._run_many)

    def close(self) -> None:
        """Let go of the threads; one that hangs is left behind."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _attempt(self, runner: Runner) -> Attempt:
        if runner.entry.card.signature.shape == "grade_batch":
            return self._batched(runner)
        places = {"thread": self._on_thread, "loop": self._on_loop}
        return places.get(runner.where, self._in_process)(runner)

    def _in_process(self, runner: Runner) -> Attempt:
        entry = runner.entry

        async def attempt(trajectory: Trajectory, *, alone: bool) -> Score:
            payload = wire.pack((b"P", entry.identity.encode(), trajectory.to_json()))
            future = self._pool().submit(payload, limits=entry.limits, alone=alone, canary=alone)
            return score_of_result(await asyncio.wrap_future(future), entry)

        return attempt

    def _on_thread(self, runner: Runner) -> Attempt:
        async def attempt(trajectory: Trajectory, *, alone: bool) -> Score:
            del alone
            loop = asyncio.get_running_loop()
            work = loop.run_in_executor(self._threads, runner.grade, trajectory)
            return await _patiently(work, runner.entry)

        return attempt

    def _on_loop(self, runner: Runner) -> Attempt:
        async def attempt(trajectory: Trajectory, *, alone: bool) -> Score:
            del alone
            return await _patiently(runner.agrade(trajectory), runner.entry)

        return attempt

    def _batched(self, runner: Runner) -> Attempt:
        batcher = self._batchers.setdefault(id(runner), Batcher(runner, self._run_many))

        async def attempt(trajectory: Trajectory, *, alone: bool) -> Score:
            if alone:
                return (await grade_split(runner, [trajectory], self._run_many))[0]
            return await batcher.grade(trajectory)

        return attempt

    async def _run_many(self, runner: Runner, trajectories: Sequence[Trajectory]) -> list[Score]:
        if runner.where == "loop":
            return await _patiently(runner.agrade_many(trajectories), runner.entry)
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._threads, runner.grade_many, trajectories)
        return await _patiently(work, runner.entry)


async def _grade_whole(runner: Runner, members: list[Trajectory], run: Run) -> list[Score]:
    """Return one Score for each member; a group that raises fails as a whole."""
    try:
        return await run(runner, members)
    except LimitError as error:
        broken = RuntimeError(str(error))
        return [score_of_error(broken, runner.entry, 0.0) for _ in members]
    except (Exception, SystemExit) as error:  # noqa: BLE001  # it becomes a Score
        return [score_of_error(error, runner.entry, 0.0) for _ in members]


async def _patiently(work: Awaitable[T], entry: Entry) -> T:
    default = entry.card.limits.wall_seconds == entry.limits.wall_seconds
    seconds = PATIENCE if default else entry.limits.wall_seconds
    try:
        return await asyncio.wait_for(work, seconds)
    except TimeoutError:
        raise LimitError("wall", f"took more than {seconds:g} s") from None


def score_of_result(result: Result, entry: Entry) -> Score:
    """Return the Score in what a worker process came back with.

    Raises:
        LimitError: if the work went over a limit, or killed its process.
        InfrastructureError: if the pool was closed meanwhile.
    """
    if result.end == "reply":
        return read_score(result.payload)
    if result.end == "closed":
        raise InfrastructureError("the worker processes were closed")
    if result.end == "raised":
        reason = f"`{entry.use}` broke: {result.detail.strip().splitlines()[-1]}"
        evidence = {"grader": entry.use, "traceback": result.detail[-8192:]}
        score = Score.fail(reason, fault="grader", evidence=evidence)
        return score.signed(entry.use, result.seconds)
    if result.slow_machine:
        raise SlowMachineError(result.end, result.detail)
    raise LimitError(result.end, result.detail)


class PoolWorkers(Workers):
    """`Workers` for graders on threads: each call runs in a worker process."""

    def __init__(self, pool: Callable[[], WorkerPool], limits: Limits | None = None) -> None:
        self._pool = pool
        self._limits = limits or Limits()

    def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return ``function(*args, **kwargs)``, run where it can be killed."""
        name = f"{function.__module__}:{function.__qualname__}"
        payload = wire.pack((b"C", name.encode(), wire.to_bytes([args, kwargs])))
        result = self._pool().submit(payload, limits=self._limits).result()
        if result.end == "reply":
            value: T = wire.from_bytes(result.payload)
            return value
        if result.end == "raised":
            raise RuntimeError(result.detail)
        raise LimitError(result.end, result.detail)

    def limited(
        self, *, cpu_seconds: float | None = None, wall_seconds: float | None = None
    ) -> Workers:
        """Return the same workers with narrower limits."""
        mine = self._limits
        narrower = Limits(
            cpu_seconds or mine.cpu_seconds, wall_seconds or mine.wall_seconds, mine.memory_mb
        )
        return PoolWorkers(self._pool, narrower)

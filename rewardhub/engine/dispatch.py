"""Where the dear parts are graded: worker processes, threads, the loop; alone or together."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import ParamSpec, TypeVar

from rewardhub.contracts import Limits, Workers
from rewardhub.engine import wire
from rewardhub.engine.batching import Batcher, grade_split, score_or_limit
from rewardhub.engine.cache import Cache, is_cacheable, key_of
from rewardhub.engine.faults import Attempt, LimitRule, SlowMachineError, with_retries
from rewardhub.engine.grade import Runner, score_of_error
from rewardhub.engine.patience import in_thread, patiently
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
        self._threads = asyncio.Semaphore(THREADS)
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

        async def grade() -> list[Score]:
            return [await self.rule.grade(runner.entry, trajectory, attempt)]

        return (await with_retries(grade, asyncio.sleep))[0]

    async def grade_group(self, runner: Runner, members: list[Trajectory]) -> list[Score]:
        """Return one Score for each member of a complete group."""
        entry = runner.entry
        cache = self._cache if is_cacheable(entry) else None
        if cache is None:
            return await with_retries(lambda: self._group(runner, members), asyncio.sleep)
        key = key_of(entry, tuple(members), runner.resources)
        kept = [cache.get(f"{key}:{place}") for place in range(len(members))]
        known = [score for score in kept if score is not None]
        if len(known) == len(members):
            return known
        scores = await with_retries(lambda: self._group(runner, members), asyncio.sleep)
        for place, score in enumerate(scores):
            cache.put(f"{key}:{place}", score)
        return scores

    def close(self) -> None:
        """Forget what belongs to the loop, which ends; a thread that hangs is left behind."""
        self._threads = asyncio.Semaphore(THREADS)
        self._batchers.clear()

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
            async with self._threads:
                return await _in_time(in_thread(runner.grade, trajectory), runner.entry)

        return attempt

    def _on_loop(self, runner: Runner) -> Attempt:
        async def attempt(trajectory: Trajectory, *, alone: bool) -> Score:
            del alone
            return await _in_time(runner.agrade(trajectory), runner.entry)

        return attempt

    def _batched(self, runner: Runner) -> Attempt:
        batcher = self._batchers.setdefault(id(runner), Batcher(runner, self._run_many))

        async def attempt(trajectory: Trajectory, *, alone: bool) -> Score:
            if not alone:
                return await batcher.grade(trajectory)
            (score,) = await grade_split(runner, [trajectory], self._run_many)
            if isinstance(score, LimitError):
                raise score
            return score

        return attempt

    async def _group(self, runner: Runner, members: list[Trajectory]) -> list[Score]:
        """Grade a group. A member whose text breaks limits by itself is judged without the others.

        Its text must not unscore its siblings, nor itself: see `LimitRule`.
        """
        too_much = ""
        try:
            if runner.entry.identity not in self.rule.broken:
                return await self._run_many(runner, members)
        except Exception as error:  # noqa: BLE001  # it becomes a Score
            verdict = score_or_limit(error, runner)
            if isinstance(verdict, Score):
                return [verdict for _ in members]
            too_much = str(verdict)
        heavy = await self._heavy_members(runner, members)
        rest = [member for member in members if id(member) not in heavy]
        if len(rest) == len(members):
            broken = RuntimeError(f"no member by itself, but all together {too_much}")
            return [score_of_error(broken, runner.entry, 0.0) for _ in members]
        scores = iter(await self._group(runner, rest) if rest else ())
        return [heavy.get(id(member)) or next(scores) for member in members]

    async def _heavy_members(
        self, runner: Runner, members: Sequence[Trajectory]
    ) -> dict[int, Score]:
        """Return the Scores of the members that break limits by themselves, by `id`."""
        hits: Counter[int] = Counter()

        async def attempt(trajectory: Trajectory, *, alone: bool) -> Score:
            del alone
            (score,) = await grade_split(runner, [trajectory], self._run_many)
            if isinstance(score, LimitError):
                hits[id(trajectory)] += 1
                raise score
            return score

        scores = {
            id(member): await self.rule.grade(runner.entry, member, attempt) for member in members
        }
        broken = runner.entry.identity in self.rule.broken
        return {member: score for member, score in scores.items() if broken or hits[member] > 1}

    async def _run_many(self, runner: Runner, trajectories: Sequence[Trajectory]) -> list[Score]:
        if runner.where == "loop":
            return await _in_time(runner.agrade_many(trajectories), runner.entry)
        async with self._threads:
            return await _in_time(in_thread(runner.grade_many, trajectories), runner.entry)


async def _in_time(work: Awaitable[T], entry: Entry) -> T:
    default = entry.card.limits.wall_seconds == entry.limits.wall_seconds
    return await patiently(work, PATIENCE if default else entry.limits.wall_seconds)


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
        raise SlowMachineError(result.end, how_it_ended(result))
    raise LimitError(result.end, how_it_ended(result))


def how_it_ended(result: Result) -> str:
    """Return in a few words how work went over a limit."""
    first, _, trace = result.detail.partition("\n")
    said = trace.rstrip().rpartition("MemoryError: ")[2] if "MemoryError: " in trace else ""
    return said.strip().partition("\n")[0] or first


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
        raise LimitError(result.end, how_it_ended(result))

    def limited(
        self, *, cpu_seconds: float | None = None, wall_seconds: float | None = None
    ) -> Workers:
        """Return the same workers with narrower limits."""
        mine = self._limits
        narrower = Limits(
            cpu_seconds or mine.cpu_seconds, wall_seconds or mine.wall_seconds, mine.memory_mb
        )
        return PoolWorkers(self._pool, narrower)

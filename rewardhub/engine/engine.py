"""Engine: grades trajectories by one reward file, for every door."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rewardhub.compose import Course
from rewardhub.engine.ahead import PRELOAD
from rewardhub.engine.cache import Cache
from rewardhub.engine.dispatch import Dispatch, PoolWorkers
from rewardhub.engine.grade import Runner
from rewardhub.engine.graders import (
    GradeHere,
    Graders,
    course_of,
    inline,
    no_manifest,
    nowhere,
    spec_for,
    specs_of,
)
from rewardhub.engine.groups import Groups, Member
from rewardhub.engine.judging_cache import Verdicts
from rewardhub.engine.manifest import manifest_of
from rewardhub.engine.resources import SharedResources
from rewardhub.engine.workers import WorkerPool
from rewardhub.engine.workers.launch import Launcher
from rewardhub.errors import UsageError
from rewardhub.host import Registry, discover
from rewardhub.records import Reward, Score, Trajectory
from rewardhub.spec import load
from rewardhub.spec.model import RewardSpec, Route, Spec

log = logging.getLogger(__name__)

WINDOW = 1024
"""How many trajectories are under way at most while their order is kept."""

CLOSE_SECONDS = 5.0
"""How long `Engine.close` waits for its loop."""

RewardSource = RewardSpec | str | Path | Mapping[str, Any]
"""What rewards are made by: a resolved spec or route, the path of a file, or its content."""


class Engine:
    """Grades trajectories by one reward file: a resolved spec, or what `load` takes.

    ``with Engine("reward.yaml") as engine: reward = engine.score(trajectory)``. An engine may be
    used from any thread, notebook or running loop. It owns one loop in one background thread,
    started when something has to wait; what is cheap is graded in the caller's thread.

    Args:
        reward: a spec file's path, a shipped spec's name, a mapping, or a loaded spec.
        registry: what is installed; the default discovers it.
        workers: how many worker processes may run; the default is one for each core, at most 8.
        cache: where dear Scores are kept, and beside them what judges reply; True for the user's
            cache folder.
        isolate: grade nothing in this process, so that no grader can take it down.
        launcher: starts the worker processes, if `workers_ahead` has begun to.
        judge_cache_only: let no question out to a judge: what is not kept is an
            infrastructure fault. No judge is opened, so none needs its key.

    Raises:
        SpecError: with every mistake of the reward file.
        UsageError: for no workers, or kept verdicts alone without a cache.
    """

    def __init__(
        self,
        reward: RewardSource,
        *,
        registry: Registry | None = None,
        workers: int | None = None,
        cache: Cache | bool = False,
        isolate: bool = False,
        launcher: Launcher | None = None,
        judge_cache_only: bool = False,
    ) -> None:
        self.registry = discover() if registry is None else registry
        loaded = isinstance(reward, Spec | Route)
        self.reward: RewardSpec = reward if loaded else load(reward, self.registry)  # type: ignore[assignment, arg-type]
        self.workers = min(8, os.cpu_count() or 1) if workers is None else workers
        if self.workers < 1:
            raise UsageError(f"An engine has at least one worker, not {workers}.")
        self._readers: set[str] = set()
        self.cache = (Cache() if cache else None) if isinstance(cache, bool) else cache
        self._here: GradeHere = nowhere if isolate else inline
        self._lock = threading.RLock()
        self._pool: WorkerPool | None = None
        self._launcher = launcher
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._opened = False
        if judge_cache_only and self.cache is None:
            raise UsageError("By kept verdicts alone, and without a cache: choose one.")
        self._shared = SharedResources(
            self.reward,
            lambda entry: PoolWorkers(self.pool, entry.limits),
            verdicts=Verdicts(self.cache.path.with_name("verdicts.sqlite")) if self.cache else None,
            judge_cache_only=judge_cache_only,
        )
        self._graders = Graders(self.reward, self._shared)
        self._dispatch = Dispatch(self.pool, self.cache)
        self._has_groups = any(spec.group_entries for spec in specs_of(self.reward))
        self._observed = self.registry.has_observers

    # --- life -----------------------------------------------------------------------------------

    def open(self) -> Self:
        """Open graders and resources; done by the first use, too."""
        with self._lock:
            if self._opened:
                return self
            here = {"thread", "loop"} | ({"inline"} if self._here is inline else set())
            try:
                self._shared.open()
                self._graders.open(here)
            except BaseException:
                self.close()
                raise
            self._opened = True
        return self

    def close(self) -> None:
        """End what is under way, and close workers, graders and resources.

        All of it is closed, even if one of them raises.
        """
        with self._lock, ExitStack() as closing:
            self._opened = False
            if self.cache is not None:
                closing.callback(self.cache.close)
            closing.callback(self._shared.close)
            closing.callback(self._graders.close)
            if self._pool is not None:
                closing.callback(self._pool.close)
                self._pool = None
            closing.callback(self._dispatch.close)
            closing.callback(self._stop_loop)

    def _stop_loop(self) -> None:
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join(CLOSE_SECONDS)
        if thread.is_alive():
            log.warning("an `async` grader blocks the engine's loop, which is left behind")

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    # --- scoring --------------------------------------------------------------------------------

    def score(self, trajectory: Trajectory) -> Reward:
        """Return the reward of one trajectory. Never raises for what a grader does.

        A group grader sees this trajectory alone; to compare attempts use `score_all`.
        """
        return self._tell(trajectory, _wait(self._start(trajectory)))

    async def ascore(self, trajectory: Trajectory) -> Reward:
        """Return the reward of one trajectory, without blocking the running loop."""
        return self._tell(trajectory, await _await(self._start(trajectory)))

    def score_all(self, trajectories: Iterable[Trajectory]) -> Iterator[Reward]:
        """Yield the reward of each trajectory, in their order, as soon as it is known.

        Groups close at their declared ``group_size``, or when the input ends.
        """
        groups = self.new_groups()
        waiting: deque[_Started] = deque()
        try:
            for trajectory in trajectories:
                started = self._start(trajectory, groups)
                if not waiting and type(started) is Reward:
                    yield self._tell(trajectory, started) if self._observed else started
                    continue
                waiting.append((trajectory, started))
                while _is_next(waiting, groups):
                    done, reward = waiting.popleft()
                    yield self._tell(done, _wait(reward))
            if groups is not None:
                self.run_on_loop(groups.end)
            while waiting:
                done, reward = waiting.popleft()
                yield self._tell(done, _wait(reward))
        finally:
            _give_up(waiting)

    async def ascore_all(
        self, trajectories: Iterable[Trajectory] | AsyncIterator[Trajectory]
    ) -> AsyncIterator[Reward]:
        """Yield the reward of each trajectory, in their order, without blocking the loop."""
        groups = self.new_groups()
        waiting: deque[_Started] = deque()
        try:
            async for trajectory in _each(trajectories):
                waiting.append((trajectory, self._start(trajectory, groups)))
                while _is_next(waiting, groups):
                    done, reward = waiting.popleft()
                    yield self._tell(done, await _await(reward))
            if groups is not None:
                self.run_on_loop(groups.end)
            while waiting:
                done, reward = waiting.popleft()
                yield self._tell(done, await _await(reward))
        finally:
            _give_up(waiting)

    def _start(
        self, trajectory: Trajectory, groups: Groups | None = None
    ) -> Reward | Future[Reward]:
        if not self._opened:
            self.open()
        course = course_of(self.reward, trajectory)
        if groups is not None:
            return self.finish(course, trajectory, groups)
        if isinstance(course, Reward):
            return course
        waiting = self._graders.advance(course, trajectory, self._here)
        if not waiting and course.done:
            return course.reward()
        return self.finish(course, trajectory, waiting=waiting)

    def _tell(self, trajectory: Trajectory, reward: Reward) -> Reward:
        """Tell the observers, in output order."""
        if self._observed:
            self.registry.observe(trajectory, reward)
        return reward

    def finish(
        self,
        course: Course | Reward,
        trajectory: Trajectory,
        groups: Groups | None = None,
        known: Mapping[str, Score] | None = None,
        waiting: Sequence[Runner] = (),
    ) -> Future[Reward]:
        """Return the reward to come of a course that has to wait for some of its parts.

        Args:
            course: how far the trajectory has come, or the Reward that it has already.
            trajectory: what is graded.
            groups: the groups of the run; None: the trajectory is a group by itself.
            known: Scores of an earlier run that still hold, by part id.
            waiting: the parts that have to wait, where that is known already.
        """
        together = groups or Groups(self._dispatch.grade_group, ended=True)
        member = Member(spec_for(self.reward, trajectory.task), trajectory)
        self.run_on_loop(lambda: together.enter(member))
        return self.submit(self._finish(course, member, together, known, waiting))

    async def _finish(
        self,
        course: Course | Reward,
        member: Member,
        groups: Groups,
        known: Mapping[str, Score] | None,
        waiting: Sequence[Runner],
    ) -> Reward:
        try:
            if isinstance(course, Course):
                await self._grade_all(course, member, groups, waiting)
                while more := self._graders.advance(course, member.trajectory, self._here, known):
                    await self._grade_all(course, member, groups, more)
                course = course.reward()
        finally:
            groups.leave(member)
        return course

    async def _grade_all(
        self, course: Course, member: Member, groups: Groups, runners: Sequence[Runner]
    ) -> None:
        scores = await asyncio.gather(*(self._grade(runner, member, groups) for runner in runners))
        for runner, score in zip(runners, scores, strict=True):
            course.put(runner.entry, score)

    async def _grade(self, runner: Runner, member: Member, groups: Groups) -> Score:
        if runner.entry.card.signature.shape == "grade_group":
            return await groups.grade(runner, member)
        return await self._dispatch.grade(runner, member.trajectory)

    # --- groups ---------------------------------------------------------------------------------

    @property
    def compares(self) -> bool:
        """Whether any grader compares the attempts of a group."""
        return self._has_groups

    def new_groups(self, size_of: Callable[[str], int | None] = lambda _: None) -> Groups | None:
        """Return the groups of one run, or None where no grader compares attempts."""
        return Groups(self._dispatch.grade_group, size_of=size_of) if self._has_groups else None

    # --- what runs beside -------------------------------------------------------------------------

    @property
    def broken(self) -> Mapping[str, str]:
        """Identities of entries that break their limits on an empty task, and how."""
        return self._dispatch.rule.broken

    def pool(self) -> WorkerPool:
        """Return the worker processes; started on first use.

        Raises:
            UsageError: if no other process can build this registry.
        """
        with self._lock:
            if self._pool is None:
                manifest = self.registry.manifest
                if not manifest.discover and not manifest.modules and not manifest.loose:
                    raise no_manifest()
                described = manifest_of(self.registry, self.reward, self._readers, self.cache)
                self._pool = WorkerPool(
                    self.workers, target="rewardhub.engine.worker:serve", manifest=described,
                    preload=PRELOAD, launcher=self._launcher,
                )  # fmt: skip
            return self._pool

    def expect(self, readers: Iterable[str]) -> None:
        """Let workers know these readers; workers that were started without them are replaced."""
        with self._lock:
            new = set(readers) - self._readers
            self._readers |= new
            if new and self._pool is not None:
                self._pool.close()
                self._pool = None

    def submit(self, work: Any) -> Future[Any]:
        """Run a coroutine on the engine's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._running_loop())

    def run_on_loop(self, call: Callable[[], None]) -> None:
        """Call a function on the engine's loop."""
        self._running_loop().call_soon_threadsafe(call)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_run_loop, args=(self._loop,), name="rewardhub-engine", daemon=True
                )
                self._thread.start()
            return self._loop


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())  # where clients of endpoints close
        loop.close()


_Started = tuple[Trajectory, Reward | Future[Reward]]


def _is_next(waiting: deque[_Started], groups: Groups | None) -> bool:
    """Whether the first reward is known, or has to be waited for before more is read."""
    if not waiting:
        return False
    _, reward = waiting[0]
    if isinstance(reward, Reward) or reward.done():
        return True
    return groups is None and len(waiting) >= WINDOW


def _give_up(waiting: deque[_Started]) -> None:
    """Cancel what nobody waits for any more."""
    for _, reward in waiting:
        if not isinstance(reward, Reward):
            reward.cancel()


def _wait(reward: Reward | Future[Reward]) -> Reward:
    return reward if isinstance(reward, Reward) else reward.result()


async def _await(reward: Reward | Future[Reward]) -> Reward:
    return reward if isinstance(reward, Reward) else await asyncio.wrap_future(reward)


async def _each(
    trajectories: Iterable[Trajectory] | AsyncIterator[Trajectory],
) -> AsyncIterator[Trajectory]:
    if isinstance(trajectories, AsyncIterator):
        async for trajectory in trajectories:
            yield trajectory
        return
    for trajectory in trajectories:
        yield trajectory

"""Engine: grades trajectories by one reward file, for every door."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rewardhub.compose import Course
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
from rewardhub.engine.groups import Groups
from rewardhub.engine.resources import SharedResources
from rewardhub.engine.worker import manifest_of
from rewardhub.engine.workers import WorkerPool
from rewardhub.errors import UsageError
from rewardhub.host import Registry, discover
from rewardhub.records import Reward, Score, Trajectory
from rewardhub.spec import load
from rewardhub.spec.model import RewardSpec, Route, Spec

WINDOW = 1024
"""How many trajectories are under way at most while their order is kept."""

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
        cache: where dear Scores are kept; True for the user's cache folder.
        isolate: grade nothing in this process, so that no grader can take it down.

    Raises:
        SpecError: with every mistake of the reward file.
    """

    def __init__(
        self,
        reward: RewardSource,
        *,
        registry: Registry | None = None,
        workers: int | None = None,
        cache: Cache | bool = False,
        isolate: bool = False,
    ) -> None:
        self.registry = discover() if registry is None else registry
        loaded = isinstance(reward, Spec | Route)
        self.reward: RewardSpec = reward if loaded else load(reward, self.registry)  # type: ignore[assignment, arg-type]
        self.workers = workers or min(8, os.cpu_count() or 1)
        if self.workers < 1:
            raise UsageError(f"An engine has at least one worker, not {workers}.")
        self.cache = (Cache() if cache else None) if isinstance(cache, bool) else cache
        self._here: GradeHere = nowhere if isolate else inline
        self._lock = threading.RLock()
        self._pool: WorkerPool | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._opened = False
        self._shared = SharedResources(
            self.reward, lambda entry: PoolWorkers(self.pool, entry.limits)
        )
        self._graders = Graders(self.reward, self._shared)
        self._dispatch = Dispatch(self.pool, self.cache)
        self._has_groups = any(spec.group_entries for spec in specs_of(self.reward))
        self._observed = self.registry.has_observers

    # --- life -----------------------------------------------------------------------------------

    def open(self) -> Self:
        """Open graders and resources; done by the first use, too."""
        with self._lock:
            if not self._opened:
                self._shared.open()
                here = {"thread", "loop"} | ({"inline"} if self._here is inline else set())
                self._graders.open(here)
                self._opened = True
        return self

    def close(self) -> None:
        """Close graders, resources, workers and the loop; nothing is left behind."""
        with self._lock:
            self._graders.close()
            if self._opened:
                self._shared.close()
            self._opened = False
            if self._pool is not None:
                self._pool.close()
                self._pool = None
            self._dispatch.close()
            if self._loop is not None and self._thread is not None:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join()
                self._loop = self._thread = None
            if self.cache is not None:
                self.cache.close()

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
        started = self._start(trajectory)
        return started if isinstance(started, Reward) else started.result()

    async def ascore(self, trajectory: Trajectory) -> Reward:
        """Return the reward of one trajectory, without blocking the running loop."""
        started = self._start(trajectory)
        return started if isinstance(started, Reward) else await asyncio.wrap_future(started)

    def score_all(self, trajectories: Iterable[Trajectory]) -> Iterator[Reward]:
        """Yield the reward of each trajectory, in their order, as soon as it is known.

        Groups close at their declared ``group_size``, or when the input ends.
        """
        groups = self.new_groups()
        waiting: deque[Reward | Future[Reward]] = deque()
        for trajectory in trajectories:
            waiting.append(self._start(trajectory, groups))
            while waiting and (isinstance(waiting[0], Reward) or self._is_full(waiting, groups)):
                yield _wait(waiting.popleft())
        if groups is not None:
            self.run_on_loop(lambda: self.end_groups(groups))
        while waiting:
            yield _wait(waiting.popleft())

    async def ascore_all(
        self, trajectories: Iterable[Trajectory] | AsyncIterator[Trajectory]
    ) -> AsyncIterator[Reward]:
        """Yield the reward of each trajectory, in their order, without blocking the loop."""
        groups = self.new_groups()
        waiting: deque[Reward | Future[Reward]] = deque()
        async for trajectory in _each(trajectories):
            waiting.append(self._start(trajectory, groups))
            while waiting and (isinstance(waiting[0], Reward) or self._is_full(waiting, groups)):
                yield await _await(waiting.popleft())
        if groups is not None:
            self.run_on_loop(lambda: self.end_groups(groups))
        while waiting:
            yield await _await(waiting.popleft())

    @staticmethod
    def _is_full(waiting: deque[Any], groups: Groups | None) -> bool:
        return groups is None and len(waiting) >= WINDOW

    def _start(
        self, trajectory: Trajectory, groups: Groups | None = None
    ) -> Reward | Future[Reward]:
        if not self._opened:
            self.open()
        course = course_of(self.reward, trajectory)
        if groups is not None:
            return self.finish(course, trajectory, groups)
        if isinstance(course, Reward):
            return self._observe(trajectory, course)
        waiting = self._graders.advance(course, trajectory, self._here)
        if not waiting and course.done:
            return self._observe(trajectory, course.reward())
        return self.finish(course, trajectory)

    def _observe(self, trajectory: Trajectory, reward: Reward) -> Reward:
        if self._observed:
            self.registry.observe(trajectory, reward)
        return reward

    def finish(
        self,
        course: Course | Reward,
        trajectory: Trajectory,
        groups: Groups | None = None,
        known: Mapping[str, Score] | None = None,
    ) -> Future[Reward]:
        """Return the reward to come of a course that has to wait for some of its parts.

        Args:
            course: how far the trajectory has come, or the Reward that it has already.
            trajectory: what is graded.
            groups: the groups of the run; None: the trajectory is a group by itself.
            known: Scores of an earlier run that still hold, by part id.
        """
        spec = spec_for(self.reward, trajectory.task)
        together = groups or Groups(self._dispatch.grade_group, ended=True)
        self.run_on_loop(lambda: together.enter(spec, trajectory))
        return self.submit(self._finish(course, trajectory, together, known))

    async def _finish(
        self,
        course: Course | Reward,
        trajectory: Trajectory,
        groups: Groups,
        known: Mapping[str, Score] | None,
    ) -> Reward:
        spec = spec_for(self.reward, trajectory.task)
        try:
            if isinstance(course, Course):
                await self._run(course, trajectory, groups, known)
                course = course.reward()
        finally:
            groups.leave(spec, trajectory, self._graders.of(spec) if spec else {})
        return self._observe(trajectory, course)

    async def _run(
        self,
        course: Course,
        trajectory: Trajectory,
        groups: Groups,
        known: Mapping[str, Score] | None,
    ) -> None:
        while waiting := self._graders.advance(course, trajectory, self._here, known):
            grades = (self._grade(runner, trajectory, groups) for runner in waiting)
            for runner, score in zip(waiting, await asyncio.gather(*grades), strict=True):
                course.put(runner.entry, score)

    async def _grade(self, runner: Runner, trajectory: Trajectory, groups: Groups) -> Score:
        if runner.entry.card.signature.shape == "grade_group":
            return await groups.grade(runner, trajectory)
        return await self._dispatch.grade(runner, trajectory)

    # --- groups ---------------------------------------------------------------------------------

    def new_groups(self) -> Groups | None:
        """Return the groups of one run, or None where no grader compares attempts."""
        return Groups(self._dispatch.grade_group) if self._has_groups else None

    def end_groups(self, groups: Groups) -> None:
        """Note that the input has ended; on the engine's loop."""
        runners = {
            runner.entry.identity: runner
            for spec in specs_of(self.reward)
            for runner in self._graders.of(spec).values()
        }
        groups.end(runners)

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
                described = manifest_of(manifest, self.reward.raw, self.cache)
                self._pool = WorkerPool(
                    self.workers, target="rewardhub.engine.worker:serve", manifest=described,
                    preload=("rewardhub.engine.worker",),
                )  # fmt: skip
            return self._pool

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
        loop.close()


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

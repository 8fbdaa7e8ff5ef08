"""Groups: members of one task wait for each other, and are graded together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rewardhub.engine.grade import Runner
from rewardhub.records import Score, Trajectory
from rewardhub.spec.model import Entry, Spec

GradeGroup = Callable[[Runner, list[Trajectory]], Awaitable[list[Score]]]


@dataclass(slots=True)
class _Group:
    size: int | None
    entered: int = 0
    gone: int = 0
    arrived: list[tuple[Trajectory, asyncio.Future[Score]]] = field(default_factory=list)


class Groups:
    """The groups of one run. Lives on the engine's loop.

    A group is graded when all its members have arrived at the grader or left before it (gated,
    broken, skipped): when the declared size is reached, or the input has ended.

    Args:
        grade: grades the members that arrived.
        ended: whether all members have entered already.
    """

    def __init__(self, grade: GradeGroup, *, ended: bool = False) -> None:
        self._grade = grade
        self._ended = ended
        self._groups: dict[tuple[str, str], _Group] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def enter(self, spec: Spec | None, trajectory: Trajectory) -> None:
        """Note that a trajectory is on its way."""
        for entry in _group_entries(spec):
            self._of(entry, trajectory).entered += 1

    def leave(
        self, spec: Spec | None, trajectory: Trajectory, runners: Mapping[str, Runner]
    ) -> None:
        """Note that a trajectory is done; where it never arrived, nobody waits for it longer."""
        for entry in _group_entries(spec):
            group = self._of(entry, trajectory)
            if not any(member is trajectory for member, _ in group.arrived):
                group.gone += 1
                self._close_if_complete(entry, trajectory, runners[entry.id])

    async def grade(self, runner: Runner, trajectory: Trajectory) -> Score:
        """Wait for the other members, and return the Score of this one."""
        group = self._of(runner.entry, trajectory)
        future: asyncio.Future[Score] = asyncio.get_running_loop().create_future()
        group.arrived.append((trajectory, future))
        self._close_if_complete(runner.entry, trajectory, runner)
        return await future

    def end(self, runners: Mapping[str, Runner]) -> None:
        """Note that the input has ended: no more members will enter."""
        self._ended = True
        for (identity, _), group in list(self._groups.items()):
            runner = runners[identity]
            if group.arrived:
                self._close_if_complete(runner.entry, group.arrived[0][0], runner)

    def _of(self, entry: Entry, trajectory: Trajectory) -> _Group:
        key = (entry.identity, group_key(entry, trajectory))
        group = self._groups.get(key)
        if group is None:
            size = trajectory.group_size if entry.card.group_by is None else None
            group = self._groups[key] = _Group(size)
        return group

    def _close_if_complete(self, entry: Entry, trajectory: Trajectory, runner: Runner) -> None:
        key = (entry.identity, group_key(entry, trajectory))
        group = self._groups[key]
        there = len(group.arrived) + group.gone
        complete = group.size is not None and there >= group.size
        if not complete and not (self._ended and there >= group.entered):
            return
        del self._groups[key]
        if group.arrived:
            task = asyncio.get_running_loop().create_task(self._run(runner, group.arrived))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(
        self, runner: Runner, members: list[tuple[Trajectory, asyncio.Future[Score]]]
    ) -> None:
        try:
            scores = await self._grade(runner, [trajectory for trajectory, _ in members])
        except Exception as error:  # noqa: BLE001  # handed to each member, who raises it
            for _, future in members:
                future.set_exception(error)
            return
        for (_, future), score in zip(members, scores, strict=True):
            future.set_result(score)


def _group_entries(spec: Spec | None) -> tuple[Entry, ...]:
    return spec.group_entries if spec is not None else ()


def group_key(entry: Entry, trajectory: Trajectory) -> str:
    """Return what names the group of a trajectory for this grader."""
    path = entry.card.group_by
    if path is None:
        return trajectory.group
    value: Any = trajectory
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    return trajectory.group if value is None else str(value)

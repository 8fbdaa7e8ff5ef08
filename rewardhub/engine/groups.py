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
    key: tuple[str, str, str]
    size: int | None
    entered: int = 0
    gone: int = 0
    runner: Runner | None = None
    arrived: list[tuple[Trajectory, asyncio.Future[Score]]] = field(default_factory=list)


@dataclass(slots=True)
class Member:
    """One trajectory on its way through the group graders of its spec."""

    spec: Spec | None
    trajectory: Trajectory
    ahead: dict[str, _Group] = field(default_factory=dict)


class Groups:
    """The groups of one run. Lives on the engine's loop.

    A group is graded when all its members have arrived at the grader or left before it (gated,
    broken, skipped): when the declared size is reached, or the input has ended. Members beyond the
    declared size make another group.

    Args:
        grade: grades the members that arrived.
        ended: whether all members have entered already.
        size_of: says how many members a group has (by `member_key`), where that is known.
    """

    def __init__(
        self,
        grade: GradeGroup,
        *,
        ended: bool = False,
        size_of: Callable[[str], int | None] = lambda _: None,
    ) -> None:
        self._grade = grade
        self._ended = ended
        self._size_of = size_of
        self._open: dict[tuple[str, str, str], _Group] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def enter(self, member: Member) -> None:
        """Note that a trajectory is on its way."""
        for entry in member.spec.group_entries if member.spec is not None else ():
            group = self._group_for(entry, member.trajectory)
            member.ahead[entry.id] = group
            group.entered += 1
            if group.entered == group.size:
                del self._open[group.key]

    def leave(self, member: Member) -> None:
        """Note that a trajectory is done; where it never arrived, nobody waits for it longer."""
        while member.ahead:
            _, group = member.ahead.popitem()
            group.gone += 1
            self._close_if_complete(group)

    async def grade(self, runner: Runner, member: Member) -> Score:
        """Wait for the other members, and return the Score of this one."""
        group = member.ahead.pop(runner.entry.id)
        future: asyncio.Future[Score] = asyncio.get_running_loop().create_future()
        group.runner = runner
        group.arrived.append((member.trajectory, future))
        self._close_if_complete(group)
        return await future

    def end(self) -> None:
        """Note that the input has ended: no more members will enter."""
        self._ended = True
        for group in list(self._open.values()):
            self._close_if_complete(group)

    def _group_for(self, entry: Entry, trajectory: Trajectory) -> _Group:
        key = (entry.identity, entry.id, group_key(entry, trajectory))
        group = self._open.get(key)
        if group is None:
            size = trajectory.group_size if entry.card.group_by is None else None
            size = size or self._size_of(member_key(entry, trajectory))
            group = self._open[key] = _Group(key, size)
        return group

    def _close_if_complete(self, group: _Group) -> None:
        there = len(group.arrived) + group.gone
        if there != group.size and not (self._ended and there == group.entered):
            return
        if self._open.get(group.key) is group:
            del self._open[group.key]
        if group.runner is not None:
            task = asyncio.get_running_loop().create_task(self._run(group.runner, group.arrived))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(
        self, runner: Runner, members: list[tuple[Trajectory, asyncio.Future[Score]]]
    ) -> None:
        there = [(trajectory, future) for trajectory, future in members if not future.done()]
        if not there:
            return
        try:
            scores = await self._grade(runner, [trajectory for trajectory, _ in there])
        except Exception as error:  # noqa: BLE001  # handed to each member, who raises it
            for _, future in there:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), score in zip(there, scores, strict=True):
            if not future.done():
                future.set_result(score)


def member_key(entry: Entry, trajectory: Trajectory) -> str:
    """Return what names a group among those of all graders."""
    return f"{entry.id}:{entry.identity}:{group_key(entry, trajectory)}"


def group_key(entry: Entry, trajectory: Trajectory) -> str:
    """Return what names the group of a trajectory for this grader."""
    path = entry.card.group_by
    if path is None:
        return trajectory.group
    value: Any = trajectory
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    return trajectory.group if value is None else str(value)

"""The policy `replay`: attempts that were recorded before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from rewardhub import (
    Policy,
    PolicyInfo,
    Registry,
    Task,
    Trajectory,
    UsageError,
    discover,
    open_run,
    read_trajectories,
)

TRAJECTORIES = "trajectories.jsonl"
"""What a rollout writes its attempts to, in its run folder."""


class ReplayPolicy(Policy):
    """Gives the recorded attempts at each task, in the order of the file.

    Attempt number i of a task is its i-th row, so the seed changes nothing. The task of each
    attempt is the one that is asked now, and the policy the one that was recorded.
    """

    name: ClassVar[str] = "replay"

    file: str = Field(min_length=1)
    """A file of trajectories in any format that can be read, or a run folder."""

    skip: int = Field(default=0, ge=0)
    """How many attempts at each task are left out."""

    @property
    def version(self) -> str:
        """The digest of what was recorded."""
        return self._version

    @property
    def repeatable(self) -> bool:
        """Yes."""
        return True

    def open(self) -> None:
        """Read the file.

        Raises:
            UsageError: if it cannot be read, or holds no trajectory.
        """
        if not self._attempts:
            raise UsageError(f"`{self.file}` holds no trajectory.")

    async def sample(
        self,
        task: Task,
        n: int,
        seed: int,  # noqa: ARG002  # nothing is drawn
    ) -> Sequence[Trajectory]:
        """Return the first ``n`` recorded attempts.

        Raises:
            UsageError: if fewer were recorded.
        """
        recorded = self._attempts.get(task.id, [])[self.skip :]
        if len(recorded) < n:
            raise UsageError(
                f"`{self.file}` has {len(recorded)} attempts at task `{task.id}`, and {n} are "
                f"asked for. Ask for fewer, or record more.{self._hint(task)}"
            )
        return [self._given(attempt, task, n) for attempt in recorded[:n]]

    def _given(self, attempt: Trajectory, task: Task, n: int) -> Trajectory:
        who = attempt.policy or PolicyInfo(name=self.name, version="")
        told = {**attempt.metadata, "replayed": attempt.id}
        return attempt.replace(task=task, group=task.id, group_size=n, policy=who, metadata=told)

    def _hint(self, task: Task) -> str:
        if task.id in self._attempts or not self._attempts:
            return ""
        return f" It has attempts at `{next(iter(self._attempts))}`, for example."

    @cached_property
    def _version(self) -> str:
        digest = blake2b(digest_size=16)
        for attempts in self._attempts.values():
            for attempt in attempts:
                digest.update(attempt.to_json())
        return digest.hexdigest()

    @cached_property
    def _attempts(self) -> Mapping[str, list[Trajectory]]:
        found: dict[str, list[Trajectory]] = {}
        for attempt in trajectories_in(Path(self.file), discover()):
            found.setdefault(attempt.task.id, []).append(attempt)
        return found


def trajectories_in(path: Path, registry: Registry) -> Iterator[Trajectory]:
    """Yield the trajectories of a file in any format that can be read, or of a run folder.

    Raises:
        UsageError: if there is no such file or run, or no reader recognises it.
        RowError: for a row that is no trajectory.
    """
    if (path / TRAJECTORIES).is_file():
        path /= TRAJECTORIES
    if path.is_dir():
        yield from (pair.trajectory for pair in open_run(path, registry).pairs())
        return
    if not path.is_file():
        raise UsageError(f"`{path}` does not exist: name a file of trajectories or a run folder.")
    yield from read_trajectories(path, registry=registry)

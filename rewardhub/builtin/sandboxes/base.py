"""PooledSandbox: what backends share whose jobs run in warm fork servers."""

from __future__ import annotations

import os
import sys
import threading
import time
from abc import abstractmethod
from collections.abc import Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import Field, PrivateAttr

from rewardhub.builtin.sandboxes.line import Line
from rewardhub.builtin.sandboxes.pool import Key, Slot, SlotPool
from rewardhub.contracts import Job, Options, Outcome, Preload, Program, Sandbox
from rewardhub.contracts.waiting import Countdown
from rewardhub.errors import InfrastructureError, UsageError

_SLOW_TIMES, _SLOW_SECONDS = 10.0, 1.0
_CANARY = Job(source="pass", cpu_seconds=30.0, wall_seconds=60.0)
DEFAULT_HASH_SEED = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What one line serves: jobs that need the same things ready before they start.

    Attributes:
        preload: what is ready.
        hash_seed: ``PYTHONHASHSEED``, which an interpreter reads at its start only.
        shape: limits that hold for the whole line, where they can't be set for each job.
    """

    preload: Preload | None = None
    hash_seed: str = DEFAULT_HASH_SEED
    shape: tuple[Hashable, ...] = ()


class PooledSandbox(Options, Sandbox):
    """Runs jobs in slots, each with warm lines. Nothing starts before the first job does."""

    slots: Annotated[int | None, Field(ge=1)] = None
    """How many jobs run at a time; default: one for each core."""
    max_memory_mb: Annotated[int, Field(ge=16)] = 4096
    """The most memory that a job may ask for, in MiB."""
    max_processes: Annotated[int, Field(ge=1)] = 512
    """The most processes and threads that a job may ask for."""
    max_disk_mb: Annotated[int, Field(ge=1)] = 1024
    """The most that a job may ask to write, in MiB."""
    max_seconds: Annotated[float, Field(gt=0)] = 3600.0
    """The most time that a job may ask for."""

    _pool: SlotPool | None = PrivateAttr(default=None)
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)
    _baseline: float = PrivateAttr(default=0.0)

    @abstractmethod
    def _open_line(self, kind: Kind) -> Line:
        """Return a new line; raises InfrastructureError if there is none to be had."""

    def _kind_of(self, job: Job) -> Kind:
        """Return what line a job needs."""
        return Kind(preload=job.preload, hash_seed=job.env.get("PYTHONHASHSEED", DEFAULT_HASH_SEED))

    def start(self, *jobs: Job) -> tuple[Program, ...]:
        """Start ``jobs`` on one slot, each on a line of its own; see `Sandbox.start`.

        Raises:
            UsageError: if no sandbox, or not this one, can run such a job.
            InfrastructureError: if a line can't be had.
        """
        for job in jobs:
            self._check_job(job)
        pool = self._open_pool()
        keys: tuple[Key, ...] = tuple((place, self._kind_of(job)) for place, job in enumerate(jobs))
        slot = pool.take(keys)
        running = Countdown(len(jobs), lambda: pool.give(slot))
        try:
            lines = [self._line(slot, key, set(keys)) for key in keys]
        except BaseException:
            pool.give(slot)
            raise
        return tuple(line.start(job, running.step) for line, job in zip(lines, jobs, strict=True))

    def alone(self) -> AbstractContextManager[None]:
        """Return a context in which this thread has all slots; see `Sandbox.alone`."""
        return self._open_pool().alone()

    def canary(self) -> str:
        """Run an empty job; return what is amiss with it, or an empty string."""
        began = time.perf_counter()
        outcome = self.run(_CANARY)
        took = time.perf_counter() - began
        if outcome.status != "ok":
            return f"it ended as {outcome.status}: {outcome.reason}"
        if took > _SLOW_SECONDS and took > _SLOW_TIMES * self._baseline:
            return f"it took {took:.2f} s, and usually takes {self._baseline:.3f} s"
        return ""

    def close(self) -> None:
        """End all lines; those in use, once their jobs have ended."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def __enter__(self) -> PooledSandbox:
        self.open()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _open_pool(self) -> SlotPool:
        with self._lock:
            if self._pool is None:
                self._pool = SlotPool(self.slots or _cores())
            return self._pool

    def _line(self, slot: Slot, key: Key, in_use: set[Key]) -> Line:
        kind = key[1]
        assert isinstance(kind, Kind)
        return slot.line(key, lambda: self._proved(self._open_line(kind)), in_use)

    def _proved(self, line: Line) -> Line:
        """Return a new line that has run a job, and remember how long that takes."""
        best = float("inf")
        for _ in range(2):
            began = time.perf_counter()
            outcome = line.start(_CANARY, lambda: None).finish()
            best = min(best, time.perf_counter() - began)
            if outcome.status != "ok":
                line.close()
                raise InfrastructureError(f"a new sandbox does not work: {_told(outcome)}")
        self._baseline = max(self._baseline, best)
        return line

    def _check_job(self, job: Job) -> None:
        """Refuse what no sandbox can run: mistakes of a grader, never of a policy."""
        asked = {
            "memory_mb": (job.memory_mb, self.max_memory_mb, "max_memory_mb"),
            "processes": (job.processes, self.max_processes, "max_processes"),
            "disk_mb": (job.disk_mb, self.max_disk_mb, "max_disk_mb"),
            "cpu_seconds": (job.cpu_seconds, self.max_seconds, "max_seconds"),
            "wall_seconds": (job.wall_seconds, self.max_seconds, "max_seconds"),
        }
        for name, (value, most, option) in asked.items():
            if value <= 0 or value > most:
                raise UsageError(
                    f"A job asks for `{name}` {value}, and this sandbox gives more than 0 and at "
                    f"most {most}. Ask for less, or set its option `{option}`."
                )
        for path in (*job.files, *job.collect):
            parts = PurePosixPath(path).parts
            if not path or "\0" in path or path.startswith("/") or ".." in parts:
                raise UsageError(
                    f"A job names the file {path!r}: paths are relative to its working folder, "
                    "and stay below it."
                )
        for name, text in job.env.items():
            if not name or "=" in name or "\0" in name + text:
                raise UsageError(
                    f"A job sets the variable {name!r}, which no environment can hold."
                )
        if job.command and job.preload:
            raise UsageError("A job has a command or a preload, not both.")


def _told(outcome: Outcome) -> str:
    return f"{outcome.status}: {outcome.reason} {outcome.stderr[-500:]}".strip()


def _cores() -> int:
    if sys.version_info >= (3, 13):
        return os.process_cpu_count() or 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

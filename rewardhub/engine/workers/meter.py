"""What one job has used so far, against what it may use."""

from __future__ import annotations

import math
import time
from typing import Literal, NamedTuple

from rewardhub.contracts.limits import Limits
from rewardhub.engine.workers.watch import Process, Processes

_FIRST_LOOK_SECONDS = 0.02
_LOOK_SECONDS = 0.05
_SHORTEST_SECONDS = 0.005
_MOST_PROCESSES = 256
_LOOK_SHARE = 20  # a look may cost 1/20 of the time between looks

_MIB = 2**20


class Breach(NamedTuple):
    """A limit that was exceeded, and how to say it."""

    end: Literal["cpu", "wall", "memory", "died"]
    detail: str


class _Bound(NamedTuple):
    """A limit and where it ends: CPU seconds of the family, and a moment of time.monotonic."""

    cpu_seconds: float
    cpu_end: float
    wall_seconds: float
    wall_end: float


class Meter:
    """Watches the worker with process id ``pid`` over one job.

    A job that answers before the first look costs no look at all.

    Args:
        processes: how to look at processes.
        pid: the worker.
        limits: of the job.
        cpu_seconds: what the worker and its descendants had used before the job.
    """

    def __init__(
        self, processes: Processes, pid: int, limits: Limits, *, cpu_seconds: float
    ) -> None:
        self._processes = processes
        self._pid = pid
        self._memory = math.inf if limits.memory_mb is None else limits.memory_mb * _MIB
        self._memory_peak: int | None = None
        self._cpu_start = cpu_seconds
        self._cpu_now = cpu_seconds
        self.started = time.monotonic()
        self._next_look = self.started + _FIRST_LOOK_SECONDS
        self._bounds: dict[int, _Bound] = {}
        self.narrow(0, limits.cpu_seconds, limits.wall_seconds, cpu_now=cpu_seconds)

    def narrow(self, number: int, cpu: float | None, wall: float | None, *, cpu_now: float) -> None:
        """Add a bound under ``number`` that holds from now on."""
        cpu = math.inf if cpu is None else cpu
        wall = math.inf if wall is None else wall
        end = time.monotonic() + wall
        self._bounds[number] = _Bound(cpu, cpu_now + cpu, wall, end)
        self._next_look = min(self._next_look, end)

    def widen(self, number: int) -> None:
        """Take back the bound ``number``."""
        self._bounds.pop(number, None)

    @property
    def seconds(self) -> float:
        """Wall time so far."""
        return time.monotonic() - self.started

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the job when last heard of."""
        return self._cpu_now - self._cpu_start

    @property
    def memory_mb(self) -> float | None:
        """The most memory seen, in MiB."""
        return None if self._memory_peak is None else self._memory_peak / _MIB

    @property
    def pause(self) -> float:
        """Seconds until the next look is due; 0 or less when it is."""
        return self._next_look - time.monotonic()

    def heard(self, cpu_seconds: float) -> None:
        """Take the worker's own word for the CPU time that it has used in its life."""
        self._cpu_now = max(self._cpu_now, cpu_seconds)

    def look(self) -> Breach | None:
        """Look at the worker and its descendants; return a limit that they exceed."""
        begun = time.monotonic()
        worker = self._processes.read(self._pid)
        if worker is None or not worker.alive:
            return Breach("died", "")
        family = [worker, *self._processes.descendants(self._pid)]
        if len(family) > _MOST_PROCESSES:
            # Said at once: to measure and to kill them gets harder by the millisecond.
            return Breach("memory", f"started more than {_MOST_PROCESSES} processes")
        self.heard(sum(process.cpu_seconds for process in family))
        memory = self._measure(family)
        self._plan(begun, memory)
        if memory > self._memory:
            return Breach("memory", f"used more than {self._memory // _MIB:,} MB of memory")
        return self._exceeded(begun)

    def _measure(self, family: list[Process]) -> int:
        memory = sum(process.memory_bytes for process in family)
        if memory > self._memory and len(family) > 1:
            # Processes that were forked share most of their pages.
            memory = self._processes.memory_of(family)
        self._memory_peak = max(self._memory_peak or 0, memory)
        return memory

    def _exceeded(self, now: float) -> Breach | None:
        for bound in self._bounds.values():
            if self._cpu_now > bound.cpu_end:
                return Breach("cpu", f"used more than {bound.cpu_seconds:g} s of CPU time")
            if now > bound.wall_end:
                return Breach("wall", f"took longer than {bound.wall_seconds:g} s")
        return None

    def _plan(self, begun: float, memory: int) -> None:
        now = time.monotonic()
        left = min(
            min(bound.cpu_end - self._cpu_now, bound.wall_end - now)
            for bound in self._bounds.values()
        )
        # Memory can grow by some gigabytes a second.
        usual = _SHORTEST_SECONDS if memory > self._memory / 2 else _LOOK_SECONDS
        wanted = max(_SHORTEST_SECONDS, min(usual, left))
        self._next_look = now + max(wanted, _LOOK_SHARE * (now - begun))

"""One job's exchange of frames with its worker, up to the end of the job."""

from __future__ import annotations

import math
import struct
import threading
from typing import NamedTuple

from rewardhub.contracts.limits import Limits
from rewardhub.engine.workers.frames import (
    MEMORY_LIMIT,
    NARROWING,
    NUMBER,
    OUTCOME,
    SERIAL,
    SMALL,
    FrameError,
    Kind,
)
from rewardhub.engine.workers.launch import Worker
from rewardhub.engine.workers.meter import Meter
from rewardhub.engine.workers.result import End
from rewardhub.engine.workers.watch import Processes

_MIB = 2**20
_ENDS: dict[int, End] = {Kind.REPLY: "reply", Kind.RAISED: "raised", Kind.EXHAUSTED: "memory"}


class Ending(NamedTuple):
    """How a job ended.

    Attributes:
        end: as in `Result`.
        detail: as in `Result`; empty for a death, which the worker's exit explains.
        payload: the reply.
        children: whether the worker still has child processes.
    """

    end: End
    detail: str = ""
    payload: bytes = b""
    children: bool = False


class Exchange:
    """Sends one job and hears the worker out, with an eye on the limits.

    Args:
        worker: an idle worker.
        processes: how to look at it.
        limits: of the job.
        serial: number of the job, which the reply must carry.
        stopping: when set, the job is given up at the next look.
    """

    def __init__(
        self,
        worker: Worker,
        processes: Processes,
        limits: Limits,
        serial: int,
        stopping: threading.Event,
    ) -> None:
        self._worker = worker
        self._limits = limits
        self._serial = serial
        self._stopping = stopping
        self.progress = ""
        self.meter = Meter(processes, worker.pid, limits, cpu_seconds=worker.cpu_seconds)

    def run(self, payload: bytes) -> Ending:
        """Return how the job ended; a worker that did not answer still has to be ended."""
        channel = self._worker.channel
        try:
            if not self._send(payload):
                return Ending("wall", f"took longer than {self._limits.wall_seconds:g} s")
            while True:
                channel.set_timeout(max(1, math.ceil(self.meter.pause * 1000)) / 1000)
                try:
                    kind, body = channel.receive()
                except TimeoutError:
                    ending = None
                else:
                    ending = self._heard(kind, body)
                ending = ending or self._look()
                if ending is not None:
                    return ending
        except (FrameError, struct.error) as error:
            return Ending("died", f"sent the pool what is no answer ({error})")
        except (EOFError, OSError):
            return Ending("died")

    def _send(self, payload: bytes) -> bool:
        """Send the job; return False if the worker does not take it within the wall limit."""
        worker = self._worker
        if len(payload) > SMALL:
            worker.channel.set_timeout(self._limits.wall_seconds)
        try:
            if worker.memory_mb != self._limits.memory_mb:
                worker.memory_mb = self._limits.memory_mb
                size = (worker.memory_mb or 0) * _MIB
                worker.channel.send(Kind.MEMORY, MEMORY_LIMIT.pack(size))
            worker.channel.send(Kind.JOB, SERIAL.pack(self._serial), payload)
        except TimeoutError:
            return False
        return True

    def _heard(self, kind: int, body: bytes) -> Ending | None:
        if kind in _ENDS:
            return self._ended(kind, body)
        if kind == Kind.NARROW:
            number, cpu, wall, cpu_now = NARROWING.unpack(body)
            self.meter.narrow(number, cpu, wall, cpu_now=cpu_now)
        elif kind == Kind.WIDEN:
            self.meter.widen(*NUMBER.unpack(body))
        elif kind == Kind.PROGRESS:
            self.progress = body.decode("utf-8", "replace")
        else:
            raise FrameError(f"a frame of kind {kind}")
        return None

    def _ended(self, kind: int, body: bytes) -> Ending:
        serial, cpu_seconds, children = OUTCOME.unpack_from(body)
        if serial != self._serial:
            raise FrameError("the answer to another job")
        self.meter.heard(cpu_seconds)
        self._worker.cpu_seconds = cpu_seconds
        rest = body[OUTCOME.size :]
        end = _ENDS[kind]
        if end == "reply":
            return Ending(end, payload=rest, children=children)
        detail = rest.decode("utf-8", "replace")
        if end == "memory":
            detail = f"was refused the memory that it asked for\n{detail}"
        return Ending(end, detail, children=children)

    def _look(self) -> Ending | None:
        if self.meter.pause > 0:
            return None
        if self._stopping.is_set():
            return Ending("closed", "the pool was closed while it ran")
        self._worker.output.trim()
        breach = self.meter.look()
        return None if breach is None else Ending(breach.end, breach.detail)

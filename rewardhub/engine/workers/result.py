"""What became of a job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewardhub.errors import RewardhubError

End = Literal["reply", "raised", "cpu", "wall", "memory", "died", "survivors", "closed"]


class WorkerStartError(RewardhubError):
    """No worker process could be started: its target, a plugin or the machine is at fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a job ended, and what it used.

    Attributes:
        end: ``reply`` (the handler returned), ``raised`` (it let an exception out), ``cpu``,
            ``wall``, ``memory`` (it went over that limit), ``died`` (its process ended, or gave
            up the channel to the pool), ``survivors`` (it left processes behind) or ``closed``
            (the pool was closed first).
        payload: what the handler returned; also there with ``survivors``, else empty.
        detail: what happened, for people; the traceback where the end is ``raised``.
        progress: the last note that the handler gave.
        seconds: wall time of the job.
        cpu_seconds: CPU time of the worker and its descendants during the job.
        memory_mb: the most resident memory that was seen, in MiB; None if the job was over
            before anybody looked.
        stderr: the last 4 KiB that the job wrote to standard output or error.
        canary_seconds: after ``wall``, what the canary took; None if there was none, or the
            canary found no worker to run on.
        slow_machine: whether the canary was far slower than when the pool started, or could
            not run at all.
    """

    end: End
    payload: bytes = b""
    detail: str = ""
    progress: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    memory_mb: float | None = None
    stderr: str = ""
    canary_seconds: float | None = None
    slow_machine: bool = False

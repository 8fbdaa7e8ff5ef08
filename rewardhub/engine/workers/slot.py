"""One place of the pool: a worker process, and the exchange of frames with it."""

from __future__ import annotations

import struct
import threading
import time
from dataclasses import replace
from typing import NamedTuple

from rewardhub.contracts.limits import Limits
from rewardhub.engine.workers import watch
from rewardhub.engine.workers.child import CANARY_ANSWER
from rewardhub.engine.workers.frames import (
    MEMORY_LIMIT,
    NARROWING,
    NUMBER,
    OUTCOME,
    READINESS,
    SERIAL,
    FrameError,
    Kind,
)
from rewardhub.engine.workers.launch import Launcher, Worker
from rewardhub.engine.workers.meter import Breach, Meter
from rewardhub.engine.workers.result import End, Result, WorkerStartError

_TICK_SECONDS = 0.05
_EXIT_SECONDS = 0.5
_STOP_SECONDS = 1.0
_CANARY_SECONDS = 10.0
_SETTLE_SECONDS = 0.1
_SLOW = 5.0


class Reference:
    """How fast the canary was when the pool started."""

    def __init__(self) -> None:
        self.seconds: float | None = None

    def learn(self, seconds: float) -> None:
        """Keep the fastest canary of the first workers."""
        self.seconds = seconds if self.seconds is None else min(seconds, self.seconds)

    def is_slow(self, seconds: float) -> bool:
        """Return whether a canary took more than five times as long as at the start."""
        return self.seconds is not None and seconds > _SLOW * self.seconds


class _Ending(NamedTuple):
    end: End
    detail: str = ""
    payload: bytes = b""
    children: bool = False

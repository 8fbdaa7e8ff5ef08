"""Waiting for a turn at a resource is nobody's fault: no clock runs meanwhile."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Protocol


class Clock(Protocol):
    """The wall-clock limit of work that is going on; may be held and let go on from any thread."""

    def hold(self) -> None:
        """Stop the clock, until as many `go_on` as `hold` were called."""

    def go_on(self) -> None:
        """Let the clock go on."""


CLOCK: contextvars.ContextVar[Clock | None] = contextvars.ContextVar("clock", default=None)
"""The clock of the grading that runs here, set by the engine."""


@contextmanager
def waiting() -> Generator[None]:
    """Hold the clock of the grading that runs here, on the loop or in a thread, while inside.

    A resource that makes its callers queue does so inside: however long the queue is, no grading
    runs out of time in it.
    """
    clock = CLOCK.get()
    if clock is None:
        yield
        return
    clock.hold()
    try:
        yield
    finally:
        clock.go_on()


class Countdown:
    """Calls ``last`` after ``count`` steps, from whatever thread the last one comes.

    For a turn that several share, such as programs on one slot: it ends when all of them have.
    """

    def __init__(self, count: int, last: Callable[[], None]) -> None:
        self._left = count
        self._last = last
        self._lock = threading.Lock()

    def step(self) -> None:
        """One more is done."""
        with self._lock:
            self._left -= 1
            done = self._left == 0
        if done:
            self._last()

"""Each resource has its own concurrency, rate and budget, whoever uses it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from rewardhub.contracts import Outcome as ProgramOutcome
from rewardhub.contracts import Program, Resource, waiting
from rewardhub.contracts.waiting import Countdown
from rewardhub.errors import InfrastructureError
from rewardhub.spec.model import ResourceEntry

_CALLS = ("start", "run", "arun", "ask", "forward")


class Meter:
    """Counts the calls of one resource and holds them to its limits. Thread safe.

    Args:
        entry: with ``max_concurrency`` (calls at a time), ``max_per_minute`` and ``max_calls``
            (in the whole run); None means no limit.
    """

    def __init__(self, entry: ResourceEntry) -> None:
        self._entry = entry
        self._lock = threading.Lock()
        self._slots = (
            threading.BoundedSemaphore(entry.max_concurrency) if entry.max_concurrency else None
        )
        self._next = 0.0
        self.calls = 0

    def admit(self) -> float:
        """Count one call; return how many seconds it has to wait for the rate.

        Raises:
            InfrastructureError: if the budget of calls is used up.
        """
        entry = self._entry
        with self._lock:
            if entry.max_calls is not None and self.calls >= entry.max_calls:
                raise InfrastructureError(
                    f"the budget of `{entry.name}` is used up: max_calls is {entry.max_calls}"
                )
            self.calls += 1
            if entry.max_per_minute is None:
                return 0.0
            now = time.monotonic()
            start = max(now, self._next)
            self._next = start + 60.0 / entry.max_per_minute
            return start - now

    def run(self, call: Callable[[], Any]) -> Any:
        """Return ``call()`` once its turn has come."""
        self._take()
        try:
            return call()
        finally:
            self._let_go()

    def start(self, call: Callable[[], tuple[Program, ...]]) -> tuple[Program, ...]:
        """Return the programs of ``call()`` once their turn has come; it ends when all have."""
        self._take()
        try:
            programs = call()
        except BaseException:
            self._let_go()
            raise
        running = Countdown(len(programs), self._let_go)
        return tuple(_Counted(program, running.step) for program in programs)

    def _take(self) -> None:
        with waiting():
            time.sleep(self.admit())
            if self._slots is not None:
                self._slots.acquire()

    async def arun(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Return ``await call()`` once its turn has come."""
        with waiting():
            await asyncio.sleep(self.admit())
            while self._slots is not None and not self._slots.acquire(blocking=False):
                await asyncio.sleep(0.005)
        try:
            return await call()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        if self._slots is not None:
            self._slots.release()


class _Counted(Program):
    """A program whose turn lasts until it has ended."""

    def __init__(self, inner: Program, ended: Callable[[], None]) -> None:
        self._inner = inner
        self._ended: Callable[[], None] | None = ended

    def send(self, message: bytes) -> None:
        self._inner.send(message)

    def receive(self) -> bytes:
        return self._inner.receive()

    def finish(self) -> ProgramOutcome:
        return self._end(self._inner.finish)

    def kill(self) -> ProgramOutcome:
        return self._end(self._inner.kill)

    def _end(self, end: Callable[[], ProgramOutcome]) -> ProgramOutcome:
        try:
            return end()
        finally:
            ended, self._ended = self._ended, None
            if ended is not None:
                ended()


def metered(entry: ResourceEntry) -> Resource:
    """Return the resource of ``entry``, held to its limits; itself where there are none."""
    if entry.max_concurrency is None and entry.max_per_minute is None and entry.max_calls is None:
        return entry.resource
    kind = type(entry.resource)
    meter = Meter(entry)
    members: dict[str, Any] = {
        name: _metered_call(name, meter) for name in _CALLS if hasattr(kind, name)
    }
    members["__init__"] = lambda self, inner: setattr(self, "_inner", inner)
    members["__getattr__"] = lambda self, name: getattr(self._inner, name)
    members["meter"] = meter
    proxy: Any = type(f"Metered{kind.__name__}", (), members)
    return proxy(entry.resource)  # type: ignore[no-any-return]


def _metered_call(name: str, meter: Meter) -> Callable[..., Any]:
    if name in {"arun", "ask"}:

        async def acall(self: Any, *args: Any, **kwargs: Any) -> Any:
            return await meter.arun(lambda: getattr(self._inner, name)(*args, **kwargs))

        return acall

    take_turn = meter.start if name == "start" else meter.run

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return take_turn(lambda: getattr(self._inner, name)(*args, **kwargs))

    return call

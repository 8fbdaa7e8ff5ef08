"""The wall-clock limit of work that waits on others: threads and coroutines.

The clock stands still while the work waits for its turn at a resource: a queue before a judge is
nobody's fault, however long it is.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar, cast

from rewardhub.contracts.waiting import CLOCK
from rewardhub.errors import LimitError

P = ParamSpec("P")
T = TypeVar("T")


class _Clock:
    """A running `asyncio.Timeout` that can be held."""

    def __init__(self, limit: asyncio.Timeout) -> None:
        self._loop = asyncio.get_running_loop()
        self._limit = limit
        self._holders = 0
        self._left: float | None = None

    def hold(self) -> None:
        self._call(self._hold)

    def go_on(self) -> None:
        self._call(self._go_on)

    def _call(self, method: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(method)

    def _hold(self) -> None:
        self._holders += 1
        when = self._limit.when()
        if when is not None:
            self._left = when - self._loop.time()
            self._reschedule(None)

    def _go_on(self) -> None:
        self._holders -= 1
        if not self._holders and self._left is not None:
            self._reschedule(self._loop.time() + self._left)

    def _reschedule(self, when: float | None) -> None:
        with suppress(RuntimeError):  # the work is over, or out of time already
            self._limit.reschedule(when)


async def patiently(work: Awaitable[T], seconds: float | None) -> T:
    """Return what ``work`` comes to.

    Raises:
        LimitError: after ``seconds`` of wall time, without what it spent `waiting`; None: never.
    """
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            token = CLOCK.set(_Clock(limit))
            try:
                return await work
            finally:
                CLOCK.reset(token)
    except TimeoutError:
        if not limit.expired():
            raise
        raise LimitError("wall", f"took longer than {seconds:g} s") from None


async def in_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Return ``function(...)``, run in a thread of its own.

    The thread is a daemon: one that never ends keeps nobody from leaving.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(cast("T", value))

    def work() -> None:
        value: T | None = None
        broken: BaseException | None = None
        try:
            value = context.run(function, *args, **kwargs)
        except BaseException as error:  # noqa: BLE001  # raised where the work is awaited
            broken = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, value, broken)

    threading.Thread(target=work, name="rewardhub-grader", daemon=True).start()
    return await future

"""The connection to an endpoint: one client for each event loop, closed with it."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openai import AsyncOpenAI

CLOSE_SECONDS = 5.0
"""How long `Connection.close` waits for a loop that runs in another thread."""


class Connection:
    """Makes a client on the loop that asks, and closes it with the loop or by `close`.

    A client holds sockets, which belong to its loop. An async generator holds the client, so that
    whoever ends a loop properly (`asyncio.run`, the engine) closes it, too.

    Args:
        make: makes a client.
    """

    def __init__(self, make: Callable[[], AsyncOpenAI]) -> None:
        self._make = make
        self._held: weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, tuple[AsyncGenerator[AsyncOpenAI], AsyncOpenAI]
        ] = weakref.WeakKeyDictionary()

    async def client(self) -> AsyncOpenAI:
        """Return the client of the running loop."""
        loop = asyncio.get_running_loop()
        held = self._held.get(loop)
        if held is None:
            client = self._make()
            holder = _hold(client)
            # Nothing is awaited before this, so no other task makes a second client.
            self._held[loop] = held = (holder, client)
            await anext(holder)
        return held[1]

    def close(self) -> None:
        """Close the clients of all loops that still run."""
        for loop, (holder, _) in list(self._held.items()):
            if loop.is_closed():
                continue
            try:
                here = asyncio.get_running_loop() is loop
            except RuntimeError:
                here = False
            if here:
                _closing.add(task := loop.create_task(holder.aclose()))
                task.add_done_callback(_closing.discard)
            elif loop.is_running():
                with suppress(TimeoutError):
                    asyncio.run_coroutine_threadsafe(_close(holder), loop).result(CLOSE_SECONDS)
        self._held.clear()


_closing: set[asyncio.Task[None]] = set()
"""A loop holds its tasks weakly."""


async def _hold(client: AsyncOpenAI) -> AsyncGenerator[AsyncOpenAI]:
    try:
        yield client
    finally:
        await client.close()


async def _close(holder: AsyncGenerator[AsyncOpenAI]) -> None:
    await holder.aclose()

"""Clients live as long as their loop, and no longer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from rewardhub import ChatEndpoint
from rewardhub.builtin.endpoints.connection import Connection
from rewardhub.testing import OpenAIServer

MESSAGES = [{"role": "user", "content": "?"}]


class Client:
    """Stands for a client of the SDK."""

    def __init__(self) -> None:
        self.closed_on: Any = None

    async def close(self) -> None:
        self.closed_on = asyncio.get_running_loop()


@pytest.fixture
def made() -> list[Client]:
    return []


@pytest.fixture
def connection(made: list[Client]) -> Connection:
    def make() -> Any:
        made.append(Client())
        return made[-1]

    return Connection(make)


def test_a_loop_has_one_client(connection: Connection, made: list[Client]) -> None:
    async def many() -> list[Any]:
        return await asyncio.gather(*(connection.client() for _ in range(20)))

    assert len(set(map(id, asyncio.run(many())))) == len(made) == 1


def test_a_client_is_closed_with_its_loop(connection: Connection, made: list[Client]) -> None:
    async def leave() -> asyncio.AbstractEventLoop:
        await connection.client()
        return asyncio.get_running_loop()

    loops = [asyncio.run(leave()) for _ in range(2)]
    assert [client.closed_on for client in made] == loops
    connection.close()


def test_is_closed_from_another_thread(connection: Connection, made: list[Client]) -> None:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(connection.client(), loop).result(10)
    connection.close()
    assert made[0].closed_on is loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


def test_is_closed_on_its_own_loop(connection: Connection, made: list[Client]) -> None:
    async def use_and_close() -> None:
        await connection.client()
        connection.close()
        await asyncio.sleep(0.01)

    asyncio.run(use_and_close())
    assert made[0].closed_on is not None


def test_an_endpoint_is_used_on_one_loop_after_the_other(
    openai_server: Callable[..., OpenAIServer],
) -> None:
    endpoint = ChatEndpoint(model="test-model", base_url=openai_server("Yes").url)
    assert [asyncio.run(endpoint.complete(MESSAGES)).text for _ in range(3)] == ["Yes"] * 3
    endpoint.close()

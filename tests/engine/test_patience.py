"""The wall-clock limit of threads and coroutines, which stands still while they wait their turn."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from rewardhub.contracts import waiting
from rewardhub.engine.patience import in_thread, patiently
from rewardhub.errors import LimitError


def test_gives_back_what_the_work_comes_to() -> None:
    async def work() -> int:
        return 3

    assert asyncio.run(patiently(work(), 60)) == 3
    assert asyncio.run(patiently(work(), None)) == 3


def test_ends_work_that_takes_too_long() -> None:
    with pytest.raises(LimitError, match="longer than 0.01 s") as caught:
        asyncio.run(patiently(asyncio.sleep(600), 0.01))
    assert caught.value.kind == "wall"


def test_a_timeout_of_the_work_itself_is_no_limit() -> None:
    async def work() -> None:
        raise TimeoutError("the endpoint")

    with pytest.raises(TimeoutError, match="the endpoint"):
        asyncio.run(patiently(work(), 60))


def test_the_clock_stands_still_in_a_waiting() -> None:
    async def work() -> str:
        with waiting():
            await asyncio.sleep(0.7)
        return "done"

    assert asyncio.run(patiently(work(), 0.5)) == "done"


def test_the_clock_goes_on_after_a_waiting() -> None:
    async def work() -> None:
        with waiting():
            await asyncio.sleep(0.01)
        await asyncio.sleep(600)

    with pytest.raises(LimitError):
        asyncio.run(patiently(work(), 0.05))


def test_the_clock_stands_still_until_the_last_turn_of_several_is_over() -> None:
    async def wait(seconds: float) -> None:
        with waiting():
            await asyncio.sleep(seconds)

    async def work() -> str:
        await asyncio.gather(wait(0.01), wait(0.7))
        return "done"

    assert asyncio.run(patiently(work(), 0.5)) == "done"


def test_the_clock_stands_still_in_a_turn_of_a_thread() -> None:
    def work() -> str:
        with waiting():
            time.sleep(0.7)
        return "done"

    assert asyncio.run(patiently(in_thread(work), 0.5)) == "done"


def test_a_turn_outside_of_all_work_holds_nothing() -> None:
    with waiting():
        pass


@pytest.mark.parametrize("error", [ValueError("a bug"), LimitError("memory", "ran out")])
def test_what_a_thread_raises_is_raised_where_it_is_awaited(error: Exception) -> None:
    def work() -> None:
        raise error

    with pytest.raises(type(error), match=str(error)):
        asyncio.run(in_thread(work))


def test_a_thread_that_is_given_up_disturbs_nobody() -> None:
    released = threading.Event()
    with pytest.raises(LimitError):
        asyncio.run(patiently(in_thread(released.wait, 600), 0.01))
    waiting = [each for each in threading.enumerate() if each.name == "rewardhub-grader"]
    assert all(each.daemon for each in waiting)
    released.set()
    for thread in waiting:
        thread.join()

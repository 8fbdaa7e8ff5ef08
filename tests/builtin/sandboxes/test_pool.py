"""Slots: whose turn it is, who is alone, and which lines stay warm."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rewardhub.builtin.sandboxes.line import Line
from rewardhub.builtin.sandboxes.pool import MAX_JOBS, Key, Slot, SlotPool
from rewardhub.contracts import waiting
from rewardhub.contracts.waiting import CLOCK
from rewardhub.errors import InfrastructureError

KEY: Key = (0, "plain")


def fake_line() -> Any:
    line = SimpleNamespace(worn="", jobs=0, closed=False)
    line.close = lambda: setattr(line, "closed", True)
    return line


def kept(slot: Slot, key: Key) -> Any:
    return slot.line(key, lambda: cast("Line", fake_line()), set())


def in_thread(call: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=call)
    thread.start()
    return thread


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.001)


def test_a_line_is_kept_warm() -> None:
    slot = Slot()
    assert kept(slot, KEY) is kept(slot, KEY)
    assert kept(slot, (1, "plain")) is not kept(slot, KEY)


@pytest.mark.parametrize("change", [{"worn": "it broke"}, {"jobs": MAX_JOBS}])
def test_a_line_that_is_worn_or_old_is_replaced(change: dict[str, Any]) -> None:
    slot = Slot()
    first = kept(slot, KEY)
    vars(first).update(change)
    assert kept(slot, KEY) is not first
    assert first.closed


def test_the_line_that_was_used_longest_ago_makes_room() -> None:
    slot = Slot()
    keys: list[Key] = [(0, number) for number in range(20)]
    lines = [kept(slot, key) for key in keys]
    assert lines[0].closed
    assert not lines[-1].closed
    assert len(slot.lines) < len(keys)


def test_lines_of_one_start_do_not_push_each_other_out() -> None:
    slot = Slot()
    keys: set[Key] = {(place, "plain") for place in range(20)}
    for key in keys:
        slot.line(key, lambda: cast("Line", fake_line()), keys)
    assert not any(cast("Any", line).closed for line in slot.lines.values())


def test_a_line_that_cannot_be_made_is_not_kept() -> None:
    slot = Slot()

    def fail() -> Line:
        raise InfrastructureError("no room")

    with pytest.raises(InfrastructureError, match="no room"):
        slot.line(KEY, fail, set())
    assert not slot.lines


def test_the_slot_that_is_warm_is_taken() -> None:
    pool = SlotPool(3)
    slots = [pool.take((KEY,)) for _ in range(3)]
    warm = slots[1]
    kept(warm, KEY)
    for slot in slots:
        pool.give(slot)
    assert pool.take((KEY,)) is warm


def test_turns_come_in_order() -> None:
    pool = SlotPool(1)
    slot = pool.take((KEY,))
    order: list[int] = []

    def wait_and_note(number: int) -> None:
        taken = pool.take((KEY,))
        order.append(number)
        pool.give(taken)

    threads: list[threading.Thread] = []
    for number in range(5):
        threads.append(in_thread(lambda number=number: wait_and_note(number)))
        until(lambda: len(pool._queue) == len(threads))
    pool.give(slot)
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]


def test_who_is_alone_waits_for_the_others_and_then_keeps_them_out() -> None:
    pool = SlotPool(2)
    busy = pool.take((KEY,))
    log: list[str] = []
    is_alone, may_end = threading.Event(), threading.Event()

    def alone() -> None:
        with pool.alone(), pool.alone():
            log.append("alone")
            pool.give(pool.take((KEY,)))
            is_alone.set()
            may_end.wait(30)
            log.append("leaves")

    def other() -> None:
        slot = pool.take((KEY,))
        log.append("other")
        pool.give(slot)

    first = in_thread(alone)
    until(lambda: len(pool._queue) == 1)
    assert not log
    pool.give(busy)
    assert is_alone.wait(30)
    second = in_thread(other)
    until(lambda: len(pool._queue) == 1)
    may_end.set()
    first.join()
    second.join()
    assert log == ["alone", "leaves", "other"]


def test_the_clock_of_a_grading_is_held_while_it_waits() -> None:
    told: list[str] = []

    class Clock:
        def hold(self) -> None:
            told.append("held")

        def go_on(self) -> None:
            told.append("on")

    pool = SlotPool(1)
    slot = pool.take((KEY,))

    def grade() -> None:
        CLOCK.set(Clock())
        pool.give(pool.take((KEY,)))

    thread = in_thread(grade)
    until(lambda: told == ["held"])
    pool.give(slot)
    thread.join()
    assert told == ["held", "on"]
    with waiting():
        pass


def test_closing_ends_lines_and_tells_who_waits() -> None:
    pool = SlotPool(1)
    slot = pool.take((KEY,))
    line = kept(slot, KEY)
    told: list[BaseException] = []

    def wait() -> None:
        try:
            pool.take((KEY,))
        except InfrastructureError as error:
            told.append(error)

    thread = in_thread(wait)
    until(lambda: len(pool._queue) == 1)
    pool.close()
    thread.join()
    assert "was closed" in str(told[0])
    assert not line.closed  # its job still runs
    pool.give(slot)
    assert line.closed

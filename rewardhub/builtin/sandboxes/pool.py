"""SlotPool: how many jobs run at a time, whose turn it is, and which lines are warm."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager

from rewardhub.builtin.sandboxes.line import Line
from rewardhub.contracts.waiting import waiting
from rewardhub.errors import InfrastructureError

Key = tuple[int, Hashable]
"""Which line a job needs: its place among those that are started together, and its kind."""

MAX_JOBS = 500
"""After so many jobs a line is replaced."""

_LINES_PER_SLOT = 8


class Slot:
    """One turn at a time: the lines that serve it."""

    def __init__(self) -> None:
        self.lines: OrderedDict[Key, Line] = OrderedDict()

    def line(self, key: Key, make: Callable[[], Line], in_use: set[Key]) -> Line:
        """Return the line for ``key``, warm or new.

        Raises:
            InfrastructureError: if none can be made.
        """
        line = self.lines.pop(key, None)
        if line is not None and (line.worn or line.jobs >= MAX_JOBS):
            line.close()
            line = None
        if line is None:
            line = make()
        self.lines[key] = line
        for other in [each for each in self.lines if each not in in_use | {key}]:
            if len(self.lines) <= _LINES_PER_SLOT:
                break
            self.lines.pop(other).close()
        return line

    def close(self) -> None:
        """End all lines."""
        while self.lines:
            self.lines.popitem()[1].close()


class SlotPool:
    """Gives out slots in the order in which they are asked for; used from any thread.

    Args:
        size: how many there are.
    """

    def __init__(self, size: int) -> None:
        self._free = [Slot() for _ in range(size)]
        self._size = size
        self._changed = threading.Condition()
        self._queue: deque[object] = deque()
        self._owner = 0
        self._depth = 0
        self._is_closed = False

    def take(self, keys: tuple[Key, ...]) -> Slot:
        """Return a slot, if possible one with warm lines for ``keys``, when its turn has come.

        Raises:
            InfrastructureError: if the sandbox is closed meanwhile.
        """
        with self._turn(lambda: bool(self._free)):
            best = max(self._free, key=lambda slot: sum(key in slot.lines for key in keys))
            self._free.remove(best)
            return best

    def give(self, slot: Slot) -> None:
        """Give a slot back."""
        with self._changed:
            self._free.append(slot)
            closed = self._is_closed
            self._changed.notify_all()
        if closed:
            slot.close()

    @contextmanager
    def alone(self) -> Generator[None]:
        """Keep all slots from other threads; this thread may take one, and come in again."""
        me = threading.get_ident()
        if self._owner != me:
            with self._turn(lambda: len(self._free) == self._size):
                self._owner = me
        self._depth += 1
        try:
            yield
        finally:
            with self._changed:
                self._depth -= 1
                if not self._depth:
                    self._owner = 0
                self._changed.notify_all()

    def close(self) -> None:
        """End all lines; those in use when their slot is given back."""
        with self._changed:
            self._is_closed = True
            slots = list(self._free)
            self._changed.notify_all()
        for slot in slots:
            slot.close()

    @contextmanager
    def _turn(self, is_free: Callable[[], bool]) -> Generator[None]:
        """Wait until it is this thread's turn and ``is_free``; hold the lock inside."""
        me, ticket = threading.get_ident(), object()
        with self._changed:
            if self._owner != me:
                self._queue.append(ticket)
            try:
                if not self._may_go(ticket, me, is_free):
                    with waiting():
                        self._changed.wait_for(lambda: self._may_go(ticket, me, is_free))
                if self._is_closed:
                    raise InfrastructureError("the sandbox was closed while a job waited for it")
                yield
            finally:
                if self._owner != me or ticket in self._queue:
                    self._queue.remove(ticket)
                self._changed.notify_all()

    def _may_go(self, ticket: object, me: int, is_free: Callable[[], bool]) -> bool:
        if self._is_closed:
            return True
        if self._owner:
            return self._owner == me and is_free()
        return self._queue[0] is ticket and is_free()

"""What a process writes, read while it runs: the beginning and the end, within a time."""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable

_HEAD, _TAIL = 128 << 10, 64 << 10
_PAUSE = 0.05


class Captured:
    """Bytes from one descriptor: the first and the last of them, and how many there were."""

    def __init__(self) -> None:
        self.total = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        """Take in what was read."""
        self.total += len(data)
        room = _HEAD - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room < len(data) else b""
        if len(self._tail) > 2 * _TAIL:
            del self._tail[:-_TAIL]

    @property
    def text(self) -> str:
        """What was written, with a mark where something was left out."""
        tail = self._tail[-_TAIL:]
        left_out = self.total - len(self._head) - len(tail)
        mark = f"\n[... {left_out} bytes left out ...]\n".encode() if left_out > 0 else b""
        return bytes(self._head + mark + tail).decode(errors="replace")


def read_until(
    descriptors: dict[int, Captured],
    over: Callable[[], bool],
    deadline: float,
    bell: int | None = None,
) -> bool:
    """Read until ``over``, or until nobody can write any more; return whether time was enough.

    Args:
        descriptors: what is read, and where it goes.
        over: asked now and then, and whenever something was read.
        deadline: on the monotonic clock.
        bell: a descriptor that is not read; as soon as it can be, ``over`` is asked.
    """
    with selectors.DefaultSelector() as selector:
        for descriptor in descriptors:
            os.set_blocking(descriptor, False)
            selector.register(descriptor, selectors.EVENT_READ)
        if bell is not None:
            selector.register(bell, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            for key, _ in selector.select(min(left, _PAUSE)):
                if key.fd != bell and not _read(key.fd, descriptors[key.fd]):
                    selector.unregister(key.fd)
            if over():
                break
    return True


def drain(descriptors: dict[int, Captured], most: int = 64 << 20) -> None:
    """Read what is there already; nobody is waited for."""
    for descriptor, captured in descriptors.items():
        os.set_blocking(descriptor, False)
        end = captured.total + most
        while captured.total < end and _read(descriptor, captured, waiting=False):
            pass


def _read(descriptor: int, captured: Captured, *, waiting: bool = True) -> bool:
    """Take in a block; return whether more may come."""
    try:
        data = os.read(descriptor, 1 << 16)
    except BlockingIOError:
        return waiting
    captured.add(data)
    return bool(data)

"""Processes below this one: counted, and ended with whatever they started."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Collection

_SET_CHILD_SUBREAPER = 36
_ROUNDS = 100


def adopt() -> None:
    """Become the parent of whatever loses its own below this process."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_all(keep: Collection[int] = ()) -> int:
    """End the processes below this one, and return how many still ran.

    Args:
        keep: processes that stay; what they started does not.
    """
    ended: set[int] = set()
    for _ in range(_ROUNDS):
        below = [each for each in _below(os.getpid()) if each not in keep]
        if not below:
            break
        for process in below:
            if _state(process) != "Z":
                ended.add(process)
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.waitpid(process, os.WNOHANG)
        time.sleep(0.001)
    return len(ended)


def _below(top: int) -> list[int]:
    """Return the processes below ``top``, children first."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit() and (fields := _fields(int(name))):
            children.setdefault(int(fields[1]), []).append(int(name))
    found: list[int] = []
    waiting = [top]
    for process in waiting:
        found += children.get(process, [])
        waiting += children.get(process, [])
    return found


def _fields(process: int) -> list[str]:
    """Return the fields of its ``stat`` from the state on; empty if it is gone."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:  # noqa: PTH123
            return file.read().decode(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _state(process: int) -> str:
    return (_fields(process) or ["Z"])[0]

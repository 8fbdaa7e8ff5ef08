"""Measure all processes of a job from outside, where no control group does."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_MEBIBYTE = 1 << 20
_TICK = 1 / os.sysconf("SC_CLK_TCK")


def family_of(pid: int) -> list[int]:
    """Return a process and all that descend from it."""
    found, waiting = [pid], [pid]
    while waiting:
        parent = waiting.pop()
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{parent}/task"):  # noqa: PTH208
                text = Path(f"/proc/{parent}/task/{task}/children").read_text()
                children = [int(each) for each in text.split()]
                found += children
                waiting += children
    return found


def cpu_seconds_of(pid: int) -> float:
    """Return the CPU time of a process, and of its children, dead and alive."""
    total = 0
    for member in family_of(pid):
        with contextlib.suppress(OSError, IndexError):
            fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15]))
    return total * _TICK


def memory_mb_of(pid: int, *, enough: float, shared_mb: float) -> float:
    """Return the memory of a process and its descendants, in MiB, what they share counted once.

    Args:
        pid: the first process.
        enough: a size below which nothing has to be exact.
        shared_mb: what each process shares with the one that forked it, where it can't be told.
    """
    family = family_of(pid)
    rough = sum(map(_resident_mb, family))
    if rough <= enough:
        return rough
    return sum(_own_mb(member, shared_mb) for member in family)


def _resident_mb(pid: int) -> float:
    with contextlib.suppress(OSError, IndexError):
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / _MEBIBYTE
    return 0.0


def _own_mb(pid: int, shared_mb: float) -> float:
    with contextlib.suppress(OSError, ValueError):
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        return _kilobytes(text, "Pss:") / 1024
    with contextlib.suppress(OSError, ValueError):
        text = Path(f"/proc/{pid}/status").read_text()
        size = (_kilobytes(text, "RssAnon:") + _kilobytes(text, "RssShmem:")) / 1024
        return max(0.0, size - shared_mb)
    return 0.0


def _kilobytes(text: str, key: str) -> int:
    """Return the size on the line that begins with ``key``; ValueError if there is none."""
    return int(text[text.index(f"\n{key}") :].split()[1])

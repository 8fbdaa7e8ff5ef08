"""The control group of a container from inside: it measures; the daemon has set its limits."""

from __future__ import annotations

import os
import time
from pathlib import Path

from rewardhub.builtin.sandboxes.inside.cgroup import value_of

_MEBIBYTE = 1 << 20
_MOST = 1 << 50
"""A limit above this many bytes is none."""

_TOP = Path("/sys/fs/cgroup")
_FILES = {
    1: {
        "limit": "memory/memory.limit_in_bytes",
        "used": "memory/memory.usage_in_bytes",
        "peak": "memory/memory.max_usage_in_bytes",
        "kills": "memory/memory.oom_control",
        "cpu": "cpuacct/cpuacct.usage",
    },
    2: {
        "limit": "memory.max",
        "used": "memory.current",
        "peak": "memory.peak",
        "kills": "memory.events",
        "cpu": "cpu.stat",
    },
}


class ContainerGroup:
    """Measures one job after the other in the control group that the container is in.

    Attributes:
        version: of the interface, 1 or 2.
    """

    def __init__(self, version: int) -> None:
        self.version = version
        self._files = {
            name: os.open(_TOP / path, os.O_RDONLY | os.O_CLOEXEC)
            for name, path in _FILES[version].items()
            if name != "peak" or (_TOP / path).exists()  # since Linux 5.19
        }
        if not 0 < _number(self._read("limit")) < _MOST:
            raise OSError("the daemon did not bound the memory of this container")
        self.begin(0, 0)

    @classmethod
    def find(cls) -> ContainerGroup:
        """Return the group.

        Raises:
            OSError: if this container does not see one that bounds its memory.
        """
        return cls(2 if (_TOP / "memory.max").exists() else 1)

    def enter(self, pid: int) -> None:
        """Do nothing: all processes of the container are in."""

    def begin(self, memory_mb: int, processes: int) -> None:  # noqa: ARG002  # as the daemon set it
        """Begin to measure a job."""
        self._cpu_at_start = self._cpu()
        self._kills_at_start = self._kills()
        self._used_at_start = _number(self._read("used"))
        self._peak_at_start = self._peak()

    def cpu_seconds(self) -> float:
        """Return the CPU time of the job so far, that of all its processes."""
        return max(0.0, self._cpu() - self._cpu_at_start)

    def peak_mb(self) -> float:
        """Return the most memory that was in use at a time, in MiB.

        0 if an earlier job used more: the group remembers the highest mark alone.
        """
        peak = self._peak()
        return (peak - self._used_at_start) / _MEBIBYTE if peak > self._peak_at_start else 0.0

    def oom_kills(self) -> int:
        """Return how many processes of the job were killed for want of memory."""
        return self._kills() - self._kills_at_start

    def remove(self) -> None:
        """Let go of it; the daemon removes it."""
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()

    def _cpu(self) -> float:
        """Return the CPU time of the container, but for that of this process."""
        text = self._read("cpu")
        whole = _number(text) / 1e9 if self.version == 1 else value_of(text, "usage_usec") / 1e6
        return whole - time.process_time()

    def _kills(self) -> int:
        return value_of(self._read("kills"), "oom_kill")

    def _peak(self) -> int:
        return _number(self._read("peak")) if "peak" in self._files else 0

    def _read(self, name: str) -> str:
        return os.pread(self._files[name], 4096, 0).decode()


def _number(text: str) -> int:
    """Return the number that a file holds; that of no limit is beyond all others."""
    return _MOST if text.strip() == "max" else int(text)

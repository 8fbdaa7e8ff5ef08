"""Looking at processes from outside, and killing them with all their descendants."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

import psutil

KILL = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL


class Process(NamedTuple):
    """One process at one moment.

    Attributes:
        pid: its number.
        cpu_seconds: CPU time that it and the children it has waited for have used.
        memory_bytes: resident memory.
        alive: False for a zombie.
    """

    pid: int
    cpu_seconds: float
    memory_bytes: int
    alive: bool


class Processes(Protocol):
    """The processes of this machine."""

    def read(self, pid: int) -> Process | None:
        """Return the process, or None if there is none of this number."""
        ...

    def descendants(self, pid: int, *, without: Container[int] = ()) -> list[Process]:
        """Return the living descendants of a process, but no families of those ``without``."""
        ...

    def memory_of(self, family: Iterable[Process]) -> int:
        """Return the bytes that processes use together, pages that they share counted once."""
        ...


class LinuxProcesses:
    """Processes as the Linux kernel shows them: proc(5), a few microseconds a file.

    Args:
        root: where proc is mounted. The kernel must list children (CONFIG_PROC_CHILDREN).
    """

    def __init__(self, root: str = "/proc") -> None:
        self._root = root
        self._tick = 1.0 / os.sysconf("SC_CLK_TCK")
        self._page = os.sysconf("SC_PAGE_SIZE")

    def read(self, pid: int) -> Process | None:
        """Return the process, or None if there is none of this number."""
        try:
            line = _content(f"{self._root}/{pid}/stat")
        except OSError:
            return None
        # The name comes second, in parentheses, and may itself hold parentheses and blanks.
        fields = line[line.rindex(b")") + 2 :].split()
        ticks = int(fields[11]) + int(fields[12]) + int(fields[13]) + int(fields[14])
        # A process whose first thread has ended looks like a zombie while its other threads run.
        alive = fields[0] not in (b"Z", b"X") or int(fields[17]) > 1
        return Process(pid, ticks * self._tick, int(fields[21]) * self._page, alive)

    def descendants(self, pid: int, *, without: Container[int] = ()) -> list[Process]:
        """Return the living descendants of a process, but no families of those ``without``."""
        return _descendants(pid, self._children, self.read, without)

    def memory_of(self, family: Iterable[Process]) -> int:
        """Return the bytes that processes use together, pages that they share counted once."""
        return sum(self._proportional(process) for process in family)

    def _children(self, pid: int) -> list[int]:
        children: list[int] = []
        try:
            for thread in os.listdir(f"{self._root}/{pid}/task"):  # noqa: PTH208 - hot path
                listed = _content(f"{self._root}/{pid}/task/{thread}/children")
                children.extend(map(int, listed.split()))
        except OSError:
            # It, or one of its threads, ended meanwhile; its children are somebody else's now.
            pass
        return children

    def _proportional(self, process: Process) -> int:
        try:
            lines = _content(f"{self._root}/{process.pid}/smaps_rollup").splitlines()
        except PermissionError:
            return process.memory_bytes
        except OSError:
            return 0  # it has ended meanwhile
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(b"Pss:"))


class PortableProcesses:
    """Processes as psutil shows them: everywhere, but at the cost of a look at all of them."""

    def read(self, pid: int) -> Process | None:
        """Return the process, or None if there is none of this number."""
        try:
            process = psutil.Process(pid)
            with process.oneshot():
                # user and system, of the process and, where the system says so, of its children
                used = sum(process.cpu_times()[:4])
                alive = process.status() != psutil.STATUS_ZOMBIE
                return Process(pid, used, process.memory_info().rss, alive)
        except psutil.NoSuchProcess:
            return None
        except psutil.AccessDenied:
            # macOS refuses these numbers for zombies.
            return Process(pid, 0.0, 0, alive=False)

    def descendants(self, pid: int, *, without: Container[int] = ()) -> list[Process]:
        """Return the living descendants of a process, but no families of those ``without``."""
        children: dict[int, list[int]] = {}
        for process in psutil.process_iter(["ppid"]):
            children.setdefault(process.info["ppid"], []).append(process.pid)
        return _descendants(pid, lambda parent: children.get(parent, []), self.read, without)

    def memory_of(self, family: Iterable[Process]) -> int:
        """Return the bytes that processes use together; here shared pages count several times."""
        return sum(process.memory_bytes for process in family)


def _descendants(
    pid: int,
    children_of: Callable[[int], list[int]],
    read: Callable[[int], Process | None],
    without: Container[int],
) -> list[Process]:
    found: list[Process] = []
    parents = [pid]
    for parent in parents:
        for child in children_of(parent):
            if child in without:
                continue
            process = read(child)
            if process is not None and process.alive:
                found.append(process)
                parents.append(child)
    return found


def this_machine() -> Processes:
    """Return the fastest way to look at processes that this machine has."""
    own = os.getpid()
    if Path(f"/proc/{own}/task/{own}/children").exists():
        return LinuxProcesses()
    return PortableProcesses()


def describe(processes: Iterable[Process]) -> str:
    """Name processes for people: ``sleep 1000 (pid 4711)``, at most five of them."""
    names: list[str] = []
    for process in processes:
        try:
            command = " ".join(psutil.Process(process.pid).cmdline())
        except psutil.Error:
            command = ""
        names.append(f"{command[:80] or 'a process'} (pid {process.pid})")
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def kill(pids: Iterable[int]) -> None:
    """Kill processes; those that are gone already are no error."""
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, KILL)


def kill_until_none(find: Callable[[], list[int]], *, seconds: float = 5.0) -> bool:
    """Kill what ``find`` names, again and again until it names nothing.

    Returns:
        Whether that took less than ``seconds``.
    """
    deadline = time.monotonic() + seconds
    # Looked at twice: the kernel may leave out children while others are exiting.
    quiet = 0
    while quiet < 2:
        pids = find()
        kill(pids)
        quiet = 0 if pids else quiet + 1
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


def _content(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        content = b""
        # The kernel hands out long lists in several pieces.
        while piece := os.read(descriptor, 1 << 16):
            content += piece
    finally:
        os.close(descriptor)
    return content

"""Control groups: bound and measure all processes of a job together, version 1 and 2."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

_MEBIBYTE = 1 << 20
_PREFIX = "rewardhub-"
_WANTED = ("memory", "pids", "cpu", "cpuacct")
_NO_LIMIT = 1 << 62
_REMOVAL_SECONDS = 5.0


class Cgroup:
    """One control group of ours, in all hierarchies that it needs.

    Attributes:
        version: of the interface, 1 or 2.
    """

    def __init__(self, folders: dict[str, Path], version: int) -> None:
        self.version = version
        self._folders = folders
        self._files: dict[Path, int] = {}
        self._limits: tuple[int, int] | None = None
        self._cpu_at_start = 0.0
        self._kills_at_start = 0
        self._write("memory", "memory.swappiness", "0", needed=False)
        if version == 1:
            self._write("cpu", "cpu.cfs_period_us", "100000", needed=False)
            self._write("cpu", "cpu.cfs_quota_us", "100000", needed=False)
        else:
            self._write("cpu", "cpu.max", "100000 100000", needed=False)
            self._write("memory", "memory.swap.max", "0", needed=False)
            self._write("memory", "memory.oom.group", "0", needed=False)

    @classmethod
    def make(cls) -> Cgroup:
        """Make a control group below the own one, or below the nearest that allows it.

        Raises:
            OSError: if none can be made that bounds memory and processes.
        """
        _remove_stale()
        problem: OSError | None = None
        for version, parents in _places():
            name = f"{_PREFIX}{os.getpid()}-{time.monotonic_ns():x}"
            made: dict[str, Path] = {}
            try:
                for controller, parent in parents.items():
                    made[controller] = _child(parent / name, controller, version)
                return cls(made, version)
            except OSError as error:
                problem = error
                for folder in made.values():
                    with contextlib.suppress(OSError):
                        folder.rmdir()
        raise problem or OSError("no control groups for memory and processes are mounted")

    def enter(self, pid: int) -> None:
        """Move a process in; what it starts from now on is in, too."""
        for folder in set(self._folders.values()):
            (folder / "cgroup.procs").write_text(str(pid))

    def begin(self, memory_mb: int, processes: int) -> None:
        """Set the limits for the next job, and begin to measure it.

        Args:
            memory_mb: for all of its processes, and the files that it keeps in memory.
            processes: processes and threads, beside the one that forks the job.
        """
        if self._limits != (memory_mb, processes):
            self._limit_memory(memory_mb * _MEBIBYTE)
            self._write("pids", "pids.max", str(processes + 1))
            self._limits = memory_mb, processes
        peak = "memory.max_usage_in_bytes" if self.version == 1 else "memory.peak"
        self._write("memory", peak, "0", needed=False)
        self._cpu_at_start = self._cpu()
        self._kills_at_start = self._kills()

    def cpu_seconds(self) -> float:
        """Return the CPU time of the job so far."""
        return self._cpu() - self._cpu_at_start

    def peak_mb(self) -> float:
        """Return the most memory that was in use at a time, in MiB; 0 if it is not known."""
        name = "memory.max_usage_in_bytes" if self.version == 1 else "memory.peak"
        with contextlib.suppress(OSError, ValueError):
            return int(self._read("memory", name)) / _MEBIBYTE
        return 0.0

    def oom_kills(self) -> int:
        """Return how many processes of the job were killed for want of memory."""
        return self._kills() - self._kills_at_start

    def remove(self) -> None:
        """Remove the group, once its processes are gone."""
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()
        deadline = time.monotonic() + _REMOVAL_SECONDS
        for folder in set(self._folders.values()):
            while folder.exists() and time.monotonic() < deadline:
                try:
                    folder.rmdir()
                except OSError:
                    time.sleep(0.005)

    def _limit_memory(self, size: int) -> None:
        if self.version == 2:
            self._write("memory", "memory.max", str(size))
            return
        # The limit with swap is never below the one without: which comes first depends.
        swap = "memory.memsw.limit_in_bytes"
        self._write("memory", swap, str(_NO_LIMIT), needed=False)
        self._write("memory", "memory.limit_in_bytes", str(size))
        self._write("memory", swap, str(size), needed=False)

    def _cpu(self) -> float:
        if self.version == 1:
            return int(self._read("cpuacct", "cpuacct.usage")) / 1e9
        return value_of(self._read("cpu", "cpu.stat"), "usage_usec") / 1e6

    def _kills(self) -> int:
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        return value_of(self._read("memory", name), "oom_kill")

    def _read(self, controller: str, name: str) -> str:
        return os.pread(self._open(controller, name), 4096, 0).decode()

    def _write(self, controller: str, name: str, text: str, *, needed: bool = True) -> None:
        try:
            os.pwrite(self._open(controller, name), text.encode(), 0)
        except OSError:
            if needed:
                raise

    def _open(self, controller: str, name: str) -> int:
        path = self._folders[controller] / name
        if path not in self._files:
            try:
                self._files[path] = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            except PermissionError:
                self._files[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return self._files[path]


def value_of(text: str, key: str) -> int:
    """Return the number after ``key`` in lines of a key and a number."""
    for line in text.splitlines():
        name, _, number = line.partition(" ")
        if name == key:
            return int(number)
    return 0


def _child(folder: Path, controller: str, version: int) -> Path:
    """Make the folder of a group, with the controller at work in it."""
    if not folder.exists():
        if version == 2:
            with contextlib.suppress(OSError):
                (folder.parent / "cgroup.subtree_control").write_text("+memory +pids +cpu")
        folder.mkdir()
    if version == 2 and controller not in (folder / "cgroup.controllers").read_text().split():
        if controller == "memory":
            folder.rmdir()
        raise OSError(f"the controller {controller} is not at work below {folder.parent}")
    return folder


def _places() -> Iterator[tuple[int, dict[str, Path]]]:
    """Yield where a group may be made, best first: version, and a parent for each controller."""
    own = _own_groups()
    mounted = _mounted()
    if {"memory", "pids", "cpu", "cpuacct"} <= mounted.keys():
        yield 1, {name: _inside(*mounted[name], own.get(name, "/")) for name in _WANTED}
    if "" in mounted:
        top = mounted[""][0]
        folder = _inside(*mounted[""], own.get("", "/"))
        while True:
            yield 2, dict.fromkeys(("memory", "pids", "cpu"), folder)
            if folder == top or top not in folder.parents:
                return
            folder = folder.parent


def _inside(place: Path, root: str, group: str) -> Path:
    """Return the folder of ``group`` where the hierarchy is mounted from ``root`` on."""
    relative = os.path.relpath(group, root)
    folder = place if relative.startswith("..") else place / relative
    return folder if folder.is_dir() else place


def _own_groups() -> dict[str, str]:
    """Return the path of the own group for each controller; "" is version 2."""
    groups: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        groups.update(dict.fromkeys(controllers.split(","), path))
    return groups


def _mounted() -> dict[str, tuple[Path, str]]:
    """Return where each controller is mounted, and from which root on; "" is version 2."""
    found: dict[str, tuple[Path, str]] = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        kind, _, options = rest.split(" ", 2)
        root, place = fields.split(" ")[3:5]
        if kind == "cgroup2":
            found.setdefault("", (Path(place), root))
        elif kind == "cgroup":
            for name in options.split(" ")[-1].split(","):
                found.setdefault(name, (Path(place), root))
    return found


def _remove_stale() -> None:
    """Remove the groups of processes that were killed together with their parents."""
    for _, parents in _places():
        for parent in set(parents.values()):
            for folder in parent.glob(f"{_PREFIX}*"):
                owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
                if owner.isdigit() and not Path("/proc", owner).exists():
                    with contextlib.suppress(OSError):
                        folder.rmdir()

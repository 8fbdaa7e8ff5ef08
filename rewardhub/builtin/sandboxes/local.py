"""LocalSandbox: programs on this machine, behind namespaces, without a daemon."""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import random
import socket
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from rewardhub.builtin.sandboxes.base import Kind, PooledSandbox
from rewardhub.builtin.sandboxes.bundle import command, environment
from rewardhub.builtin.sandboxes.image_tree import HostPython, distribution_files
from rewardhub.builtin.sandboxes.inside.wishes import Mode, Setting
from rewardhub.builtin.sandboxes.line import Line
from rewardhub.builtin.sandboxes.probe import Probe, probe, require
from rewardhub.contracts import Preload

log = logging.getLogger(__name__)

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives")
_FIRST_UID, _UIDS, _RANGES = 0x70000000, 0x10000, 0xFF0
_END_SECONDS = 10.0


class WardenProcess:
    """A warden that is a child process, with an empty environment."""

    def __init__(self, python: str, *, hash_seed: str = "0") -> None:
        self._stderr = os.memfd_create("complaint", os.MFD_CLOEXEC)
        ours, theirs = socket.socketpair()
        self.stream = ours
        try:
            self._process = subprocess.Popen(  # noqa: S603  # our own interpreter
                command(python),
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=self._stderr,
                env=environment(hash_seed=hash_seed),
                cwd="/",
                start_new_session=True,
            )
        finally:
            theirs.close()

    def complaint(self) -> str:
        """Return what it wrote to stderr."""
        return os.pread(self._stderr, 1 << 16, 0).decode(errors="replace")

    def end(self) -> None:
        """Close the stream, whereupon it ends all it holds; kill it if it does not."""
        self.stream.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with contextlib.suppress(OSError):
            os.close(self._stderr)


@cache
def host_python() -> HostPython:
    """Return the interpreter that programs run on: that of this process."""
    return HostPython.find()


def setting_for(
    mode: Mode, preload: Preload | None, packages: Iterable[str], *, bounded: bool = True
) -> Setting:
    """Return the setting of a local warden.

    Args:
        mode: how jobs are walled in.
        preload: what is ready before a job starts.
        packages: distributions that programs may import, beside those that ``preload`` requires.
        bounded: whether to try for a control group.
    """
    python = host_python()
    wanted = dict.fromkeys([*packages, *(preload.requires if preload else ())])
    covered = _covered(python)
    shown = {source: source for source in (*_SYSTEM, *_SETTINGS) if Path(source).exists()}
    for folder in _prefixes(python):
        shown.setdefault(folder, folder)
    shown = {place: source for place, source in shown.items() if not _is_within(place, shown)}
    for source, place in _packages(python, wanted):
        shown[place] = source
    return Setting(
        mode=mode,
        shown=tuple((source, place) for place, source in shown.items()),
        covered=covered,
        path=_module_path(python),
        executable=str(python.executable),
        programs=_programs(python),
        preload=(preload.name, preload.source) if preload else None,
        first_uid=_FIRST_UID + random.SystemRandom().randrange(_RANGES) * _UIDS,
        bounded=bounded,
    )


def _covered(python: HostPython) -> tuple[str, ...]:
    """Return the folders of installed packages: what is wanted of them is shown piece by piece."""
    folders = [python.packages]
    for stdlib in python.stdlib:
        folders += [stdlib / "site-packages", stdlib.parent / "python3" / "dist-packages"]
    return tuple(dict.fromkeys(str(each) for each in folders if each.is_dir()))


def _prefixes(python: HostPython) -> list[str]:
    """Return the folders that hold the interpreter, by each name that leads there."""
    given = [python.executable.parent.parent, *python.stdlib]
    return list(dict.fromkeys(str(name) for each in given for name in (each, each.resolve())))


def _is_within(place: str, others: Mapping[str, str]) -> bool:
    return any(parent != place and Path(parent) in Path(place).parents for parent in others)


def _packages(python: HostPython, wanted: Iterable[str]) -> dict[tuple[str, str], None]:
    pieces: dict[tuple[str, str], None] = {}
    for source, place in distribution_files(wanted):
        top = place.parts[0]
        root = Path(str(source)[: -len(str(place))])
        pieces[str(root / top), str(python.packages / top)] = None
    return pieces


def _module_path(python: HostPython) -> tuple[str, ...]:
    stdlib = [str(each) for each in python.stdlib]
    return (*stdlib, *(f"{each}/lib-dynload" for each in stdlib), str(python.packages))


def _programs(python: HostPython) -> str:
    folders = [str(python.executable.parent), "/usr/local/bin", "/usr/bin", "/bin"]
    return ":".join(dict.fromkeys(folders))


class LocalSandbox(PooledSandbox):
    """Runs programs on this machine: in namespaces of their own, with limits that hold.

    Programs see the system's programs and libraries read only, this Python, and the distributions
    that are asked for; no network, no process and no file of anybody else.
    """

    packages: tuple[str, ...] = ()
    """Distributions that programs may import; what they need comes along."""
    minimum: Literal["strong", "basic"] = "strong"
    """Which level this machine must give; with less, nothing runs."""
    allow_unsafe: bool = False
    """Whether programs run with limits alone where this machine gives no level at all."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What verdicts depend on: the level, the Python, what can be imported."""
        return {
            "sandbox": "local",
            "level": local_probe().level,
            "python": platform.python_version(),
            "packages": list(self.packages),
        }

    def open(self) -> None:
        """Look what this machine gives; nothing starts yet.

        Raises:
            UsageError: if it is less than `minimum`, with what would raise it.
        """
        require(local_probe(), minimum=self.minimum, allow_unsafe=self.allow_unsafe)
        if local_probe().level == "none":
            log.warning(
                "Programs run with limits alone (`allow_unsafe`): they can read and write all "
                "that you can."
            )

    def _open_line(self, kind: Kind) -> Line:
        found = local_probe()
        require(found, minimum=self.minimum, allow_unsafe=self.allow_unsafe)
        return open_line(found.mode, kind, self.packages)


def open_line(mode: Mode, kind: Kind, packages: Iterable[str] = ()) -> Line:
    """Return a line to a new warden on this machine.

    Raises:
        InfrastructureError: if this machine does not allow it.
    """
    setting = setting_for(mode, kind.preload, packages)
    return Line(WardenProcess(str(host_python().executable), hash_seed=kind.hash_seed), setting)


@cache
def local_probe() -> Probe:
    """Return what this machine gives the local sandbox; it is tried once for each process."""
    return probe(lambda mode: open_line(mode, Kind()))

"""Build what a job sees: a file system of read-only pieces of this machine, and limits."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterable
from pathlib import Path

from rewardhub.builtin.sandboxes.inside import linux
from rewardhub.builtin.sandboxes.inside.wishes import Order, Setting

WORK = "/work"
_QUIET = linux.MS_NOSUID | linux.MS_NODEV
_DEVICES = ("null", "zero", "full", "random", "urandom")
_FOLDERS = ("proc", "tmp", "work", "dev/shm", "etc", "var/tmp", "run")
_LINKS = {
    "dev/fd": "/proc/self/fd",
    "dev/stdin": "/proc/self/fd/0",
    "dev/stdout": "/proc/self/fd/1",
    "dev/stderr": "/proc/self/fd/2",
}
_USERS = "root:x:0:0:root:/tmp:/bin/sh\nsandbox:x:1000:1000:sandbox:/tmp:/bin/sh\n"
_GROUPS = "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n"
_HOSTS = "127.0.0.1 localhost sandbox\n"
_MOUNTABLE = ("/tmp", "/mnt", "/run", "/var", "/usr")  # noqa: S108  # covered, never written
_MAX_FILES = 8192
_MEBIBYTE = 1 << 20
_STACK_MB = 64
_DESCRIPTORS = 256


def enter_root(setting: Setting) -> None:
    """Make a file system of what ``setting`` shows, and enter it; needs a mount namespace.

    Raises:
        OSError: if this machine does not allow it.
    """
    linux.mount("", "/", "", linux.MS_REC | linux.MS_PRIVATE)
    # Opened first: the new root may lie over them.
    shown = [(os.open(source, os.O_PATH), source, place) for source, place in setting.shown]
    devices = [(os.open(f"/dev/{name}", os.O_PATH), name) for name in _DEVICES]
    root = next(each for each in _MOUNTABLE if Path(each).is_dir())
    linux.mount("tmpfs", root, "tmpfs", _QUIET, "size=8m,nr_inodes=16384,mode=755")
    for folder in _FOLDERS:
        Path(root, folder).mkdir(parents=True, exist_ok=True)
    covered = setting.covered
    plain = [each for each in shown if not _is_below(each[2], covered)]
    within = [each for each in shown if _is_below(each[2], covered)]
    _show(root, plain)
    for cover in covered:
        place = root + cover
        if Path(place).is_dir():
            linux.mount("tmpfs", place, "tmpfs", _QUIET, "size=4m,mode=755")
    _show(root, within)
    for cover in covered:
        if Path(root + cover).is_dir():
            linux.mount(
                "", root + cover, "", linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | _QUIET
            )
    for descriptor, name in devices:
        _bind(descriptor, f"{root}/dev/{name}")
        os.close(descriptor)
    _furnish(root)
    linux.mount("proc", f"{root}/proc", "proc", _QUIET | linux.MS_NOEXEC)
    linux.pivot_root(root)
    linux.mount("", "/", "", linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | _QUIET)
    mount_folders(16)


def mount_folders(disk_mb: int, *, owner: int = 0) -> None:
    """Mount empty folders to write to: working folder, /tmp and shared memory."""
    data = f"size={disk_mb}m,nr_inodes={_MAX_FILES}"
    own = f"{data},mode=700,uid={owner},gid={owner}"
    linux.mount("tmpfs", WORK, "tmpfs", _QUIET, own)
    for folder in ("/tmp", "/dev/shm"):  # noqa: S108  # made here, empty
        linux.mount("tmpfs", folder, "tmpfs", _QUIET, f"{data},mode=1777")


def mount_proc() -> None:
    """Mount /proc for the processes of this namespace."""
    linux.mount("proc", "/proc", "proc", _QUIET | linux.MS_NOEXEC)


def set_limits(order: Order, base_mb: int, *, others: int) -> None:
    """Set the limits of this process, and of all that it starts.

    Args:
        order: what the job may use.
        base_mb: address space that it has from the start.
        others: processes of the same user that are not of the job; -1 sets no limit on processes.
    """
    seconds = int(order.cpu_seconds) + 2  # the warden is exact; this is for when it is late
    limits = {
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: order.disk_mb * _MEBIBYTE,
        resource.RLIMIT_NOFILE: _DESCRIPTORS,
        resource.RLIMIT_STACK: _STACK_MB * _MEBIBYTE,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_MEMLOCK: 64 << 10,
        # With 1, a crash is not even handed to a program of the host; with 0 it would be.
        resource.RLIMIT_CORE: 1,
    }
    if others >= 0:
        limits[resource.RLIMIT_NPROC] = order.processes + others
    if not order.bounded:
        limits[resource.RLIMIT_AS] = (order.memory_mb + base_mb) * _MEBIBYTE
    for kind, limit in limits.items():
        _, hard = resource.getrlimit(kind)
        value = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (value, value))


def die_first() -> None:
    """Be the first to be killed when memory runs out."""
    with contextlib.suppress(OSError):
        descriptor = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(descriptor, b"1000")
        os.close(descriptor)


def _is_below(place: str, folders: Iterable[str]) -> bool:
    return any(Path(folder) in Path(place).parents for folder in folders)


def _show(root: str, shown: Iterable[tuple[int, str, str]]) -> None:
    """Bind what is shown, read only; a link is shown as a link."""
    for descriptor, source, place in shown:
        if Path(source).is_symlink() and source == place:
            _link(root + place, str(Path(source).readlink()))
        elif not Path(root + place).is_symlink():
            target = root + place
            _bind(descriptor, target)
            linux.freeze_mount(target)
        os.close(descriptor)


def _link(place: str, to: str) -> None:
    Path(place).parent.mkdir(parents=True, exist_ok=True)
    if not os.path.lexists(place):
        Path(place).symlink_to(to)


def _bind(descriptor: int, target: str) -> None:
    is_folder = Path(f"/proc/self/fd/{descriptor}").is_dir()
    place = Path(target)
    if is_folder:
        place.mkdir(parents=True, exist_ok=True)
    elif not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    linux.mount(f"/proc/self/fd/{descriptor}", target, "", linux.MS_BIND | linux.MS_REC)


def _furnish(root: str) -> None:
    for name, to in _LINKS.items():
        _link(f"{root}/{name}", to)
    for name, text in (("passwd", _USERS), ("group", _GROUPS), ("hosts", _HOSTS)):
        path = Path(root, "etc", name)
        if not path.exists():
            path.write_text(text, encoding="utf-8")

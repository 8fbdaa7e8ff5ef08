"""One job: from the fork to the program that runs."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import time
import traceback
from typing import NoReturn

from rewardhub.builtin.sandboxes.inside import calls, landlock, linux, program, walls
from rewardhub.builtin.sandboxes.inside.payload import Payload
from rewardhub.builtin.sandboxes.inside.wishes import NAMESPACES, Order, Setting

CHANNEL = 3
"""The descriptor of a job's channel; the zygote keeps it free for that."""

_HIGH = 200
_ALL = 1024
_NO_USER = 1000
_USER_OF_MODE = {"root": _NO_USER, "user": 0}


def become_job(
    setting: Setting,
    order: Order,
    descriptors: list[int],
    control: socket.socket,
    *,
    call_filter: linux.Filter | None,
    base_mb: int,
    streams: program.Streams,
) -> NoReturn:
    """Turn this process, a fresh fork of the zygote, into the job, and run it to its end.

    Args:
        setting: how it is walled in.
        order: its limits.
        descriptors: payload, stdin, stdout, stderr, channel.
        control: tells the warden how far it is; closed before anything of the job runs.
        call_filter: the filter of system calls, where it is the same for all jobs.
        base_mb: the address space of the zygote.
        streams: stdin, stdout and stderr, as the zygote has made them.
    """
    try:
        payload = _arrange(descriptors)
        folder = _wall_in(setting, order, control, base_mb)
        control.send(b"S" + struct.pack("d", time.monotonic()))
    except BaseException:  # noqa: BLE001  # told to the warden
        control.send(b"E" + traceback.format_exc().encode(errors="replace")[-4000:])
        os._exit(1)
    try:
        content = Payload.read(payload)
        os.closerange(CHANNEL + 1, _ALL)
        content.write_files()
    except Exception as error:  # noqa: BLE001  # a name that is no name, a disk that is full
        program.give_up(f"the files of the job could not be written: {error}", 125)
    own = _own(order) | dict(content.env)
    if call_filter is not None:
        call_filter.install()
    elif setting.mode != "bare":
        filter_for(setting).install()
    if content.command:
        program.execute(content.command, {**os.environ, **own})
    program.run_source(content.source, own, folder, streams)


def _arrange(descriptors: list[int]) -> int:
    """Put the descriptors where a program expects them; return that of the payload."""
    payload = fcntl.fcntl(descriptors[0], fcntl.F_DUPFD_CLOEXEC, _HIGH)
    for source, target in zip(descriptors[1:], (0, 1, 2, CHANNEL), strict=True):
        os.dup2(source, target, inheritable=True)
    os.closerange(CHANNEL + 1, 64)
    return payload


def _wall_in(setting: Setting, order: Order, control: socket.socket, base_mb: int) -> str:
    """Leave this process nothing but what a job may have; return its working folder.

    The filter of system calls comes last, just before the program.
    """
    os.setsid()
    folder = walls.WORK
    user = _USER_OF_MODE.get(setting.mode, order.uid)
    if setting.mode in NAMESPACES:
        walls.mount_proc()
        walls.mount_folders(order.disk_mb, owner=user)
    elif setting.mode != "container":
        folder = f"{order.folder}/work"
    os.chdir(folder)
    if order.collect and setting.mode != "container":
        here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        socket.send_fds(control, [b"D"], [here])
        os.close(here)
    walls.die_first()
    walls.set_limits(order, base_mb, others=_others_of(setting))
    _drop_rights(setting, user)
    if setting.mode == "landlock":
        landlock.restrict([source for source, _ in setting.shown], [order.folder])
    return folder


def _others_of(setting: Setting) -> int:
    """Return how many processes of the job's user are not of the job; -1 if it can't be bounded."""
    if setting.mode == "user":
        return 1  # the zygote
    if setting.mode in {"root", "container"}:
        return 0
    if os.getuid() == 0:
        return -1
    mine = [name for name in os.listdir("/proc") if name.isdigit() and _is_mine(name)]  # noqa: PTH208
    return sum(map(_threads, mine))


def _is_mine(process: str) -> bool:
    try:
        return os.stat(f"/proc/{process}").st_uid == os.getuid()  # noqa: PTH116
    except OSError:
        return False


def _threads(process: str) -> int:
    try:
        return len(os.listdir(f"/proc/{process}/task"))  # noqa: PTH208
    except OSError:
        return 0


def _drop_rights(setting: Setting, user: int) -> None:
    if setting.mode in {"root", "container"}:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    linux.drop_capabilities()
    linux.allow_own_proc()
    if setting.mode not in NAMESPACES:
        linux.die_with_parent()


def _own(order: Order) -> dict[str, str]:
    """Return the variables that name the job's own folder, where it has one."""
    return dict.fromkeys(("HOME", "TMPDIR"), f"{order.folder}/tmp") if order.folder else {}  # noqa: S108


def filter_for(setting: Setting) -> linux.Filter:
    """Return the filter of system calls for a job; in the mode ``landlock``, of this process."""
    if setting.mode != "landlock":
        return linux.Filter(calls.call_filter())
    # No wall but this one stands before the sockets of other programs, or before the processes
    # of the same user.
    is_scoped = landlock.version() >= landlock.SCOPES_SIGNALS
    only = None if is_scoped else os.getpid()
    return linux.Filter(calls.call_filter(sockets=False, signals_only_to=only))

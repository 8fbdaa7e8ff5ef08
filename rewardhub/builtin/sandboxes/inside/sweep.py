"""Remove all that a job left, where jobs share one container and each has a user of its own.

Runs as root with the capabilities SETUID, SETGID and KILL, in a space of process numbers of its
own. Uses the standard library only.
"""

# A name in bytes, or a tree that is deeper than a path may be long, is no Path.
# ruff: noqa: PTH104, PTH106, PTH108, PTH101, PTH112, PTH123, PTH208

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import stat
import time
from collections.abc import Callable, Iterator

FOLDERS = (b"/work", b"/tmp", b"/dev/shm", b"/dev/mqueue")
"""Where a job can leave something."""

_GUARD = 65533
"""A user that no job ever is: who sweeps as this one cannot be signalled by a job."""

_USERS = range(1 << 20, 1 << 30)
_FEW_USERS = range(1 << 10, 60_000)
_PATIENCE_SECONDS = 5.0
_IPC_RMID = 0
_LISTS = {"shm": "shmctl", "sem": "semctl", "msg": "msgctl"}


def fresh_users() -> Iterator[int]:
    """Yield the users that jobs are, one after the other, from a random one on.

    Limits on processes are counted for each user over all containers, so that two of these should
    not meet. A daemon that maps users has fewer of them.

    Raises:
        OSError: if there are too few.
    """
    known = sum(int(line.split()[2]) for line in _lines("/proc/self/uid_map"))
    users = _USERS if known > _USERS.stop else _FEW_USERS
    if known <= _GUARD:
        raise OSError(f"the daemon maps {known} users into this container, and 65,536 are needed")
    at = int.from_bytes(os.urandom(4), "little") % len(users)
    while True:
        yield users[at]
        at = (at + 1) % len(users)


def sweep(uid: int, trusted: set[int]) -> list[str]:
    """Kill all processes of a user and remove its files and its shared memory.

    Called once the first process of the job has been waited for: the others are waited for here.

    Args:
        uid: the user of the job.
        trusted: the processes that stay: the caller, and those that serve it.

    Returns:
        What is left all the same, in words: then the container is used no more.
    """
    end_processes(uid, trusted)
    left = [f"process {number}" for number in _others(trusted)]
    become_owner(uid)
    try:
        for folder in FOLDERS:
            _empty(folder)
    except OSError as error:
        left.append(str(error))
    finally:
        become_owner(0)
    for kind in _LISTS:
        if _shared(kind):
            _as_user(uid, _remove_shared)
            left += [f"shared {kind} {number}" for number in _shared(kind)]
    return left


def become_owner(uid: int) -> None:
    """Let this thread open, change and remove files as a user; it stays root in all else."""
    libc = ctypes.CDLL(None)
    libc.setfsuid(uid)
    if libc.setfsuid(-1 & 0xFFFFFFFF) != uid:  # an invalid number changes nothing, and tells
        raise PermissionError(f"cannot open files as user {uid}")


def _others(trusted: set[int]) -> list[int]:
    """Return the processes that live beside the trusted ones."""
    numbers = {int(name) for name in os.listdir("/proc") if name.isdigit()}
    return [number for number in numbers - trusted if not _has_ended(number)]


def _has_ended(number: int) -> bool:
    """Say whether a process is over; one that is ours to wait for counts no longer then."""
    try:
        if os.waitpid(number, os.WNOHANG)[0]:
            return True
    except ChildProcessError:
        pass
    try:
        with open(f"/proc/{number}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in {b"Z", b"X"}
    except OSError:
        return True


def end_processes(uid: int, trusted: set[int]) -> None:
    """Kill all processes of a user but the trusted ones, and wait until they are gone."""
    """Kill all processes of a user, and wait for them; gives up after five seconds."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while (others := _others(trusted)) and time.monotonic() < deadline:
        try:
            _as_user(uid, lambda: os.kill(-1, signal.SIGKILL))
        except BlockingIOError:  # they are so many that there is no room for one of ours
            for number in others:
                _kill(number)
        time.sleep(0.001)


def _kill(number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(number, signal.SIGKILL)


def _as_user(uid: int, act: Callable[[], None]) -> None:
    """Call ``act`` in a process that may do what the user may, and that the user cannot touch."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setgroups([])
        os.setresgid(_GUARD, uid, _GUARD)
        os.setresuid(_GUARD, uid, _GUARD)
        act()
    except OSError:
        pass  # nobody left to signal; the caller looks at what is left
    finally:
        os._exit(0)


def _empty(folder: bytes) -> None:
    """Remove all in a folder without descending: a tree may be deeper than any path is long."""
    fresh = 0
    while names := [name for name in _names(folder) if _is_removed(folder + b"/" + name)]:
        for name in names:
            path = folder + b"/" + name
            for inner in _names(path):
                if _is_removed(path + b"/" + inner):
                    fresh += 1
                    os.rename(path + b"/" + inner, folder + b"/.swept-%d" % fresh)
            os.rmdir(path)


def _names(folder: bytes) -> list[bytes]:
    return os.listdir(folder) if os.path.isdir(folder) else []


def _is_removed(path: bytes) -> bool:
    """Remove what is no folder; make a folder one that can be emptied, and say that it is one."""
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        os.unlink(path)
        return False
    os.chmod(path, 0o700)
    return True


def _shared(kind: str) -> list[int]:
    return [int(line.split()[1]) for line in _lines(f"/proc/sysvipc/{kind}")[1:]]


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii") as file:
            return file.readlines()
    except OSError:
        return []


def _remove_shared() -> None:
    libc = ctypes.CDLL(None)
    for kind, control in _LISTS.items():
        for number in _shared(kind):
            if kind == "sem":
                libc.semctl(number, 0, _IPC_RMID)
            else:
                getattr(libc, control)(number, _IPC_RMID, None)

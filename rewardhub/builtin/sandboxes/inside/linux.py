"""The system calls of Linux that the standard library has no functions for."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18

_SIGCHLD = 17
_MNT_DETACH = 2
_AT_RECURSIVE, _AT_EMPTY_PATH = 0x8000, 0x1000
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP = 1, 4, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 36, 38, 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION = 0x20080522

NUMBERS: dict[str, dict[str, int]] = {
    "x86_64": {"clone": 56, "pivot_root": 155, "capset": 126, "mount_setattr": 442},
    "aarch64": {"clone": 220, "pivot_root": 41, "capset": 91, "mount_setattr": 442},
}
"""The numbers of the system calls below, for each machine that they are known for."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc_with_gil = ctypes.PyDLL(None, use_errno=True)


def number_of(name: str) -> int:
    """Return the number of a system call.

    Raises:
        OSError: ENOSYS, if it is not known for this machine.
    """
    try:
        return NUMBERS[platform.machine()][name]
    except KeyError:
        raise OSError(errno.ENOSYS, f"{name} on {platform.machine()}") from None


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def _prctl(option: int, argument: int, what: str) -> None:
    zero = ctypes.c_ulong(0)
    _checked(_libc.prctl(option, ctypes.c_ulong(argument), zero, zero, zero), what)


def syscall(number: int, *arguments: object) -> int:
    """Make a system call, and return its result; raises OSError with the code that it left."""
    return _checked(_libc.syscall(ctypes.c_long(number), *arguments), f"system call {number}")


def unshare(flags: int) -> None:
    """Leave the namespaces that ``flags`` names for new ones."""
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def fork_into(flags: int) -> int:
    """Fork, the child in new namespaces; return as `os.fork` does.

    One clone is 3 ms faster than unshare and two forks. It passes by the handlers that C libraries
    have registered for a fork, so it is only for processes with one thread.
    """
    ctypes.pythonapi.PyOS_BeforeFork()
    zero = ctypes.c_ulong(0)
    pid: int = _libc_with_gil.syscall(
        ctypes.c_long(number_of("clone")), ctypes.c_ulong(flags | _SIGCHLD), zero, zero, zero, zero
    )
    code = ctypes.get_errno()
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
        return 0
    ctypes.pythonapi.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(code, f"clone: {os.strerror(code)}")
    return pid


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Mount, as mount(2)."""
    _checked(
        _libc.mount(
            source.encode() or None,
            target.encode(),
            kind.encode() or None,
            ctypes.c_ulong(flags),
            data.encode() or None,
        ),
        f"mount {kind or source} at {target}",
    )


def freeze_mount(target: str, *, devices: bool = False) -> None:
    """Let nobody write below ``target``, also where other file systems are mounted there.

    Raises:
        OSError: ENOSYS before Linux 5.12.
    """
    forbidden = 0x1 | 0x2 | (0 if devices else 0x4)  # read only, no set-user-id, no devices
    attributes = struct.pack("QQQQ", forbidden, 0, 0, 0)
    syscall(
        number_of("mount_setattr"),
        ctypes.c_int(-100),
        ctypes.c_char_p(target.encode()),
        ctypes.c_uint(_AT_RECURSIVE),
        ctypes.c_char_p(attributes),
        ctypes.c_size_t(len(attributes)),
    )


def pivot_root(root: str) -> None:
    """Make ``root`` the root of this mount namespace, and let go of the old one."""
    os.chdir(root)
    # Both names may be the same folder: the old root then lies over the new one, until detached.
    dot = ctypes.c_char_p(b".")
    syscall(number_of("pivot_root"), dot, dot)
    _checked(_libc.umount2(b".", _MNT_DETACH), "umount of the old root")
    os.chdir("/")


def set_host_name(name: str) -> None:
    """Set the name of this machine, in its own UTS namespace."""
    _checked(_libc.sethostname(name.encode(), len(name)), "sethostname")


def die_with_parent() -> None:
    """Be killed when the parent dies; forgotten when user or capabilities change."""
    _prctl(_PR_SET_PDEATHSIG, 9, "PR_SET_PDEATHSIG")


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent dies."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, "PR_SET_CHILD_SUBREAPER")


def allow_own_proc() -> None:
    """Let this process read its own files in /proc again, after its user has changed."""
    _prctl(_PR_SET_DUMPABLE, 1, "PR_SET_DUMPABLE")


def drop_bounding() -> None:
    """Let no program that is executed later gain any capability."""
    capability = 0
    while _libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) == 0:
        capability += 1
    if not capability:
        raise OSError(ctypes.get_errno(), "the bounding set could not be dropped")


def drop_capabilities() -> None:
    """Give up every capability, and all ways to gain one."""
    _libc.prctl(_PR_CAP_AMBIENT, ctypes.c_ulong(_PR_CAP_AMBIENT_CLEAR_ALL), 0, 0, 0)
    header = struct.pack("Ii", _CAPABILITY_VERSION, 0)
    syscall(number_of("capset"), ctypes.c_char_p(header), ctypes.c_char_p(bytes(24)))
    forbid_new_privileges()


def forbid_new_privileges() -> None:
    """Let no program that is executed later have more rights than this process."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, "PR_SET_NO_NEW_PRIVS")


class Filter:
    """A BPF program that filters system calls, laid out as the kernel reads it."""

    class _Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    def __init__(self, instructions: Iterable[tuple[int, int, int, int]]) -> None:
        code = b"".join(struct.pack("HBBI", *each) for each in instructions)
        self._code = ctypes.create_string_buffer(code, len(code))
        self._program = self._Program(len(code) // 8, ctypes.cast(self._code, ctypes.c_void_p))

    def install(self) -> None:
        """Filter the system calls of this process, and of all that it starts."""
        zero = ctypes.c_ulong(0)
        program = ctypes.byref(self._program)
        _checked(_libc.prctl(22, ctypes.c_ulong(2), program, zero, zero), "seccomp")

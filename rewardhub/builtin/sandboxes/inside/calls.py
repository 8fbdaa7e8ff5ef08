"""Which system calls a job may make: a filter in the language of seccomp.

What is refused is of use to attacks, and of none to the programs that are graded.
"""

from __future__ import annotations

import errno
import platform
from collections.abc import Sequence

Instruction = tuple[int, int, int, int]

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE = 0, 4
_NEW_NAMESPACES = 0x7E020000
_AF_UNIX = 1
_FEW = 4
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def _table(text: str) -> dict[str, int]:
    """Return the numbers of system calls from "name number" pairs between commas."""
    pairs = (pair.split() for pair in text.split(","))
    return {name: int(number) for name, number in pairs}


_EVERYWHERE = _table("""
    pidfd_getfd 438, process_madvise 440, io_uring_setup 425, io_uring_enter 426,
    io_uring_register 427, open_tree 428, move_mount 429, fsopen 430, fsconfig 431,
    fsmount 432, fspick 433, mount_setattr 442, quotactl_fd 443, memfd_secret 447,
    set_mempolicy_home_node 450, statmount 457, listmount 458, open_tree_attr 467,
    pidfd_send_signal 424, clone3 435
""")
_NUMBERS = {
    "x86_64": _EVERYWHERE
    | _table("""
    ptrace 101, process_vm_readv 310, process_vm_writev 311, kcmp 312, mount 165,
    umount2 166, pivot_root 155, chroot 161, unshare 272, setns 308, bpf 321,
    perf_event_open 298, userfaultfd 323, add_key 248, request_key 249, keyctl 250,
    fanotify_init 300, fanotify_mark 301, open_by_handle_at 304, name_to_handle_at 303,
    vmsplice 278, init_module 175, finit_module 313, delete_module 176, create_module 174,
    get_kernel_syms 177, query_module 178, kexec_load 246, kexec_file_load 320, reboot 169,
    swapon 167, swapoff 168, acct 163, syslog 103, quotactl 179, sethostname 170,
    setdomainname 171, iopl 172, ioperm 173, modify_ldt 154, nfsservctl 180, uselib 134,
    ustat 136, sysfs 139, _sysctl 156, vhangup 153, personality 135, lookup_dcookie 212,
    settimeofday 164, clock_settime 227, clock_adjtime 305, adjtimex 159, migrate_pages 256,
    move_pages 279, mbind 237, set_mempolicy 238, clone 56, ioctl 16, socket 41, kill 62,
    tkill 200, tgkill 234, rt_sigqueueinfo 129, rt_tgsigqueueinfo 297
    """),
    "aarch64": _EVERYWHERE
    | _table("""
    ptrace 117, process_vm_readv 270, process_vm_writev 271, kcmp 272, mount 40, umount2 39,
    pivot_root 41, chroot 51, unshare 97, setns 268, bpf 280, perf_event_open 241,
    userfaultfd 282, add_key 217, request_key 218, keyctl 219, fanotify_init 262,
    fanotify_mark 263, open_by_handle_at 265, name_to_handle_at 264, vmsplice 75,
    init_module 105, finit_module 273, delete_module 106, kexec_load 104,
    kexec_file_load 294, reboot 142, swapon 224, swapoff 225, acct 89, syslog 116,
    quotactl 60, sethostname 161, setdomainname 162, nfsservctl 42, vhangup 58,
    personality 92, lookup_dcookie 18, settimeofday 170, clock_settime 112,
    clock_adjtime 266, adjtimex 171, migrate_pages 238, move_pages 239, mbind 235,
    set_mempolicy 237, clone 220, ioctl 29, socket 198, kill 129, tkill 130, tgkill 131,
    rt_sigqueueinfo 138, rt_tgsigqueueinfo 240
    """),
}
_CONDITIONAL = ("clone", "clone3", "ioctl", "socket")
_SIGNALS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal")


def refused_names() -> list[str]:
    """Return the calls that are refused whatever their arguments, on any kind of machine."""
    known = set[str]().union(*_NUMBERS.values())
    return sorted(known.difference(_CONDITIONAL, _SIGNALS))


def call_filter(*, sockets: bool = True, signals_only_to: int | None = None) -> list[Instruction]:
    """Return the filter for this kind of machine.

    Args:
        sockets: whether sockets of the family AF_UNIX may be made; others never may. Pairs of
            connected sockets always may.
        signals_only_to: the process that signals may be sent to, beside the sender's group; None
            leaves signals to other walls.

    Raises:
        OSError: ENOSYS, if the numbers of the calls are not known for this machine.
    """
    if platform.machine() not in _NUMBERS:
        raise OSError(errno.ENOSYS, f"there is no filter of system calls for {platform.machine()}")
    numbers = _NUMBERS[platform.machine()]
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _AUDIT[platform.machine()]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if platform.machine() == "x86_64":  # the x32 calls have numbers of their own
        program += [(_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _ERRNO | errno.EPERM)]
    # The flags of clone3 lie in memory, where no filter sees them; the C library falls back.
    program += _refuse(numbers["clone3"], errno.ENOSYS)
    program += _refuse_if(numbers["clone"], 0, (_ANY_BIT, 0, 1, _NEW_NAMESPACES), errno.EPERM)
    for request in (_TIOCSTI, _TIOCLINUX):
        program += _refuse_if(numbers["ioctl"], 1, (_EQUAL, 0, 1, request), errno.EPERM)
    if sockets:
        program += _refuse_if(numbers["socket"], 0, (_EQUAL, 1, 0, _AF_UNIX), errno.EAFNOSUPPORT)
    else:
        program += _refuse(numbers["socket"], errno.EAFNOSUPPORT)
    if signals_only_to is not None:
        program += _refuse(numbers["pidfd_send_signal"], errno.EPERM)
        for name in _SIGNALS[:-1]:
            program += _only_to(numbers[name], signals_only_to)
    never = sorted(
        number
        for name, number in numbers.items()
        if name not in _CONDITIONAL and name not in _SIGNALS
    )
    return program + _refuse_all(never, errno.EPERM)


def _refuse_all(numbers: Sequence[int], error: int) -> list[Instruction]:
    """Return the last part: it refuses the calls with these numbers, sorted, and allows all others.

    It halves the numbers until few are left. The kernel follows a new filter through for each of
    its calls, so the way to an answer is what a filter costs.
    """
    if len(numbers) > _FEW:
        middle = len(numbers) // 2
        below = _refuse_all(numbers[:middle], error)
        return [
            (_AT_LEAST, len(below), 0, numbers[middle]),
            *below,
            *_refuse_all(numbers[middle:], error),
        ]
    return [
        *((_EQUAL, len(numbers) - place, 0, number) for place, number in enumerate(numbers)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERRNO | error),
    ]


def _refuse(number: int, error: int) -> list[Instruction]:
    return [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | error)]


def _refuse_if(number: int, argument: int, test: Instruction, error: int) -> list[Instruction]:
    """Return the part that refuses a call if the lower half of an argument passes ``test``.

    ``test`` goes on to the next instruction if the call is to be refused, and skips it otherwise.
    """
    return [
        (_EQUAL, 0, 4, number),
        (_LOAD, 0, 0, 16 + 8 * argument),
        test,
        (_RETURN, 0, 0, _ERRNO | error),
        (_LOAD, 0, 0, _NUMBER),
    ]


def _only_to(number: int, process: int) -> list[Instruction]:
    """Return the part that refuses a signal unless it is for ``process`` or the own group."""
    return [
        (_EQUAL, 0, 5, number),
        (_LOAD, 0, 0, 16),
        (_EQUAL, 2, 0, process),
        (_EQUAL, 1, 0, 0),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_LOAD, 0, 0, _NUMBER),
    ]

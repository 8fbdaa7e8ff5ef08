"""Close the file system to this process by Landlock, where there are no namespaces.

Source: Documentation/userspace-api/landlock.rst of the Linux kernel.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from rewardhub.builtin.sandboxes.inside import linux

SCOPES_SIGNALS = 6
"""From this version on, signals and abstract sockets lead nowhere outside."""

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_MAKE_CHAR, _MAKE_BLOCK, _TRUNCATE, _IOCTL_DEV = 1 << 6, 1 << 11, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_RIGHTS = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF, 5: 0xFFFF}
"""All rights that a version knows; those after the last know the same."""

_TCP = 3
_SCOPES = 3
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def version() -> int:
    """Return the version of Landlock that the kernel has; 0 if none."""
    try:
        return linux.syscall(
            _CREATE, ctypes.c_void_p(None), ctypes.c_size_t(0), ctypes.c_uint(_ASK_VERSION)
        )
    except OSError:
        return 0


def restrict(readable: Iterable[str], writable: Iterable[str]) -> None:
    """Leave this process, which can gain no rights, only what lies below some paths.

    Args:
        readable: what may be read and executed.
        writable: folders in which all may be done.

    Raises:
        OSError: if the kernel does not have it.
    """
    known = version()
    rights = _RIGHTS.get(min(known, max(_RIGHTS)), 0)
    attributes = struct.pack("QQQ", rights, _TCP, _SCOPES)
    size = 8 if known < 4 else 16 if known < SCOPES_SIGNALS else 24
    ruleset = linux.syscall(
        _CREATE, ctypes.c_char_p(attributes), ctypes.c_size_t(size), ctypes.c_uint(0)
    )
    for path in readable:
        _allow(ruleset, path, _EXECUTE | _READ_FILE | _READ_DIR)
    for path in _DEVICES:
        _allow(ruleset, path, rights & (_READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV))
    for path in writable:
        _allow(ruleset, path, rights & ~(_MAKE_CHAR | _MAKE_BLOCK))
    linux.syscall(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint(0))
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, place)
        linux.syscall(
            _ADD_RULE,
            ctypes.c_int(ruleset),
            ctypes.c_int(_PATH_BENEATH),
            ctypes.c_char_p(rule),
            ctypes.c_uint(0),
        )
    finally:
        os.close(place)

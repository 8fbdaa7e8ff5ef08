"""The seccomp profile of the containers: the filter of the local sandbox, for the Docker Engine.

It is the first of two: each job installs the filter itself besides.
"""

from __future__ import annotations

import errno
import json

from rewardhub.builtin.sandboxes.inside.calls import refused_names

_NEW_NAMESPACES = (
    0x00020000,  # CLONE_NEWNS
    0x02000000,  # CLONE_NEWCGROUP
    0x04000000,  # CLONE_NEWUTS
    0x08000000,  # CLONE_NEWIPC
    0x10000000,  # CLONE_NEWUSER
    0x20000000,  # CLONE_NEWPID
    0x40000000,  # CLONE_NEWNET
)
_AF_UNIX = 1
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C


def seccomp_profile() -> str:
    """Return the profile as JSON, in the form that the Docker Engine reads.

    Names that a daemon does not know, for its kernel or library is older, it passes over.
    """
    refused = [_deny(*refused_names())]
    refused += [_deny("clone", args=[_masked(flag)]) for flag in _NEW_NAMESPACES]
    # The flags of clone3 lie in memory, where no filter sees them; the C library falls back.
    refused.append(_deny("clone3", error=errno.ENOSYS))
    unix_only: dict[str, object] = {"index": 0, "value": _AF_UNIX, "op": "SCMP_CMP_NE"}
    refused.append(_deny("socket", error=errno.EAFNOSUPPORT, args=[unix_only]))
    refused += [
        _deny("ioctl", args=[{"index": 1, "value": request, "op": "SCMP_CMP_EQ"}])
        for request in (_TIOCSTI, _TIOCLINUX)
    ]
    return json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": refused})


def _deny(
    *names: str, error: int = errno.EPERM, args: list[dict[str, object]] | None = None
) -> dict[str, object]:
    rule: dict[str, object] = {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": error}
    return {**rule, "args": args} if args else rule


def _masked(flag: int) -> dict[str, object]:
    return {"index": 0, "value": flag, "valueTwo": flag, "op": "SCMP_CMP_MASKED_EQ"}

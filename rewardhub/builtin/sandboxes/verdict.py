"""What the warden tells of a job, as an Outcome."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping
from typing import Any

from rewardhub.contracts import Outcome
from rewardhub.contracts.sandbox import Limit, OutcomeStatus

_ENDINGS: Mapping[str, tuple[OutcomeStatus, Limit, str]] = {
    "wall": ("timeout", "wall", "ran longer than its limit of wall time"),
    "cpu": ("timeout", "cpu", "used more CPU time than its limit"),
    "output": ("output_limit", "", "wrote more output than its limit"),
    "memory": ("oom", "", "used more memory than its limit"),
    "message": ("killed", "", "sent a message that is longer than the channel carries"),
    "asked": ("killed", "", "was ended by the grader"),
}


def outcome_of(content: bytes) -> tuple[Outcome, str]:
    """Return the Outcome that an OUTCOME frame tells, and why its line is worn, if it is."""
    head = 4 + int.from_bytes(content[:4], "little")
    told: Mapping[str, Any] = json.loads(content[4:head])
    blobs = _Blobs(content, head)
    out, err = (blobs.next(size) for size in told["sizes"])
    files = {path: blobs.next(size) for path, size in told["files"]}
    code = os.waitstatus_to_exitcode(told["status"])
    status, limit, reason = _status(told, code, err)
    outcome = Outcome(
        status=status,
        limit=limit,
        exit_code=code if code >= 0 and status in {"ok", "nonzero"} else None,
        stdout=out.decode(errors="replace"),
        stderr=err.decode(errors="replace"),
        output_total=told["total"],
        files=files,
        seconds=told["seconds"],
        cpu_seconds=told["cpu"],
        memory_mb=told["memory_mb"],
        reason=reason,
        tampered=tuple(f"left behind: {each}" for each in told["left"]),
    )
    worn = f"the job left {', '.join(told['left'])}" if told["left"] else told["trouble"]
    return outcome, worn


class _Blobs:
    """Pieces of a frame, one after the other."""

    def __init__(self, content: bytes, start: int) -> None:
        self._content = content
        self._start = start

    def next(self, size: int) -> bytes:
        piece = self._content[self._start : self._start + size]
        self._start += size
        return piece


def _status(told: Mapping[str, Any], code: int, err: bytes) -> tuple[OutcomeStatus, Limit, str]:
    if told["trouble"]:
        return "sandbox_error", "", f"the job could not be set up: {told['trouble']}"
    if told["ending"]:
        return _ENDINGS[told["ending"]]
    if code == 0:
        return "ok", "", ""
    if told["oom"] or (not told["bounded"] and _says_memory(err)):
        return "oom", "", "ran out of memory"
    if code > 0:
        return "nonzero", "", f"ended with exit code {code}"
    if -code == signal.SIGKILL and told["cpu"] >= told["cpu_limit"]:
        return _ENDINGS["cpu"]
    return "killed", "", f"was killed by {_name_of(-code)}"


def _says_memory(err: bytes) -> bool:
    """Whether Python ended for want of address space, which bounds it where no group does."""
    last = err.rstrip().rpartition(b"\n")[2]
    return last.startswith((b"MemoryError", b"numpy._core._exceptions._ArrayMemoryError"))


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

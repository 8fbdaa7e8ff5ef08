"""What ties a process to the one that started it, as far as the operating system offers it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path

LOST = 70
"""The exit status of a worker that nobody listens to any more."""

EXHAUSTED = 71
"""The exit status of a worker without the memory to hear a job or to say how it ended."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends (Linux: prctl(2))."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """Be killed as soon as the process ``parent``, which started this one, ends (Linux)."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if sys.platform != "win32" and os.getppid() != parent:
        os._exit(LOST)


def go_first() -> None:
    """Let the kernel end this process before all others when the machine is out of memory."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)

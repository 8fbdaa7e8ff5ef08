"""Exit codes: what a shell script can tell about how a command ended."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended.

    Attributes:
        OK: done; of a run: every trajectory got a reward.
        INCOMPLETE: done, and something is amiss with the data: unscored rewards, bad rows, tasks
            with problems. With ``--strict`` the run ended at the first bad row.
        WRONG: the command, a file or the spec was wrong; nothing was run.
        BROKEN: rewardhub itself broke (EX_SOFTWARE of sysexits.h).
        INTERRUPTED: by Ctrl-C (128 + SIGINT). The same command goes on from there.
        PIPE: who read the output stopped reading (128 + SIGPIPE).
        TERMINATED: by SIGTERM (128 + 15). The same command goes on from there.
    """

    OK = 0
    INCOMPLETE = 1
    WRONG = 2
    BROKEN = 70
    INTERRUPTED = 130
    PIPE = 141
    TERMINATED = 143

"""Shell commands, one after the other: folder, variables and functions last, processes do not."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from typing import Any

from rewardhub_policies.environments.inside import children
from rewardhub_policies.environments.inside.capture import Captured, drain, read_until

_SAVED = 9  # `sh` can write to descriptors of one digit only
_MOST_SAVED = 96 << 10
_BASH = (
    'eval "$2" 2>/dev/null; set --  "$1"; '
    f'trap \'{{ printf "%s\\0" "$PWD"; declare -p; declare -f; }} >&{_SAVED} 2>/dev/null\' EXIT; '
    'eval "$1"'
)
_SH = (
    'eval "$2" 2>/dev/null; set -- "$1"; '
    f'trap \'{{ printf "%s\\0" "$PWD"; export -p; }} >&{_SAVED} 2>/dev/null\' EXIT; '
    'eval "$1"'
)


class Shell:
    """Runs commands as one session would.

    Attributes:
        folder: where the next command starts.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self.folder = os.getcwd()  # noqa: PTH109
        self._environment = environment
        self._saved = ""
        self._null = os.open(os.devnull, os.O_RDWR)
        os.dup2(self._null, _SAVED, inheritable=False)  # so that it is nobody else's
        bash = shutil.which("bash", path=environment.get("PATH"))
        self._start = [bash, "--noprofile", "--norc", "-c", _BASH] if bash else ["sh", "-c", _SH]

    def run(self, command: str, seconds: float, keep: tuple[int, ...] = ()) -> dict[str, Any]:
        """Run a command; return its output, its exit code, and what was ended with it."""
        folder = self.folder if os.path.isdir(self.folder) else os.getcwd()  # noqa: PTH109, PTH112
        reading, writing = os.pipe()
        saved, saving = os.pipe()
        os.dup2(saving, _SAVED)
        os.close(saving)
        try:
            process = subprocess.Popen(  # noqa: S603  # what this is for
                [*self._start, "shell", command, self._saved],
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                cwd=folder,
                env=self._environment,
                pass_fds=(_SAVED,),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            os.close(reading)
            os.close(saved)
            return {"error": f"the command could not be started: {error}"}
        finally:
            os.close(writing)
            os.dup2(self._null, _SAVED, inheritable=False)
        return self._watch(process, reading, saved, seconds, keep)

    def _watch(
        self,
        process: subprocess.Popen[bytes],
        reading: int,
        saved: int,
        seconds: float,
        keep: tuple[int, ...],
    ) -> dict[str, Any]:
        output, state = Captured(), Captured()
        descriptors = {reading: output, saved: state}
        deadline = time.monotonic() + seconds
        in_time = read_until(descriptors, lambda: process.poll() is not None, deadline)
        if in_time:  # it may have closed its output and gone on
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
        running = process.poll() is None
        if running:
            process.kill()
            process.wait()
        background = children.end_all(keep)
        drain(descriptors)
        os.close(reading)
        os.close(saved)
        self._save(state)
        return {
            "output": output.text,
            "exit_code": None if running else process.returncode,
            "timed_out": running,
            "background": background,
        }

    def _save(self, state: Captured) -> None:
        folder, found, variables = state.text.partition("\0")
        if not found:  # it ended without its trap: by a signal, or by `exec`
            return
        self.folder = folder
        if state.total <= _MOST_SAVED:
            self._saved = variables

"""A Python session in a process of its own: names last from one piece of code to the next."""

from __future__ import annotations

import ast
import contextlib
import os
import select
import signal
import struct
import sys
import time
import traceback
from typing import Any, NoReturn

from rewardhub_policies.environments.inside import children
from rewardhub_policies.environments.inside.capture import Captured, drain, read_until

_LENGTH = struct.Struct("<I")
_NAME = "<session>"


class Interpreter:
    """The session, seen from outside of its process.

    Attributes:
        process: its process; 0 while there is none.
    """

    def __init__(self, forbidden: int) -> None:
        self.process = 0
        self._forbidden = forbidden
        self._ask = self._answer = self._output = -1

    def run(self, code: str, seconds: float) -> dict[str, Any]:
        """Run code; return what was written, and how it ended."""
        if not self.process:
            self._begin()
        text = code.encode(errors="backslashreplace")
        output = Captured()
        deadline = time.monotonic() + seconds
        try:
            _write(self._ask, _LENGTH.pack(len(text)) + text)
        except OSError:
            return {"output": "", "exit_code": self._end(), "ended": True}
        in_time = read_until(
            {self._output: output}, self._has_answered, deadline, bell=self._answer
        )
        answer = os.read(self._answer, 1) if in_time and self._has_answered() else b""
        children.end_all((self.process,))
        drain({self._output: output})
        if answer:
            return {"output": output.text, "failed": answer == b"!"}
        code_of_end = self._end()
        return {
            "output": output.text,
            "exit_code": code_of_end,
            "timed_out": not in_time,
            "ended": in_time,
        }

    def _has_answered(self) -> bool:
        return bool(select.select([self._answer], [], [], 0)[0])

    def _begin(self) -> None:
        code_out, code_in = os.pipe()
        answer_out, answer_in = os.pipe()
        output_out, output_in = os.pipe()
        process = os.fork()
        if process == 0:
            for descriptor in (code_in, answer_out, output_out, self._forbidden):
                os.close(descriptor)
            _serve(code_out, answer_in, output_in)
        for descriptor in (code_out, answer_in, output_in):
            os.close(descriptor)
        self.process = process
        self._ask, self._answer, self._output = code_in, answer_out, output_out

    def _end(self) -> int | None:
        """End the session; return its exit code, None where a signal ended it."""
        with contextlib.suppress(OSError):
            os.kill(self.process, signal.SIGKILL)
        status = 0
        with contextlib.suppress(OSError):
            _, status = os.waitpid(self.process, 0)
        for descriptor in (self._ask, self._answer, self._output):
            os.close(descriptor)
        self.process = 0
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _serve(code_out: int, answer_in: int, output_in: int) -> NoReturn:
    """Be the session: run what comes in until nothing does."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output_in, 1)
    os.dup2(output_in, 2)
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    sys.stderr = open(  # noqa: SIM115
        2, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False
    )
    names: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
    while True:
        head = os.read(code_out, _LENGTH.size)
        if len(head) < _LENGTH.size:
            os._exit(0)
        left, parts = _LENGTH.unpack(head)[0], b""
        while len(parts) < left:
            parts += os.read(code_out, left - len(parts))
        worked = _run(parts.decode(errors="replace"), names)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os.write(answer_in, b"." if worked else b"!")


def _run(code: str, names: dict[str, Any]) -> bool:
    """Run code as a session does: the value of a last expression is shown."""
    try:
        tree = ast.parse(code, _NAME)
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr):
            exec(compile(ast.Module(tree.body[:-1], []), _NAME, "exec"), names)  # noqa: S102
            value = eval(compile(ast.Expression(last.value), _NAME, "eval"), names)  # noqa: S307
            if value is not None:
                sys.stdout.write(f"{value!r}\n")
        else:
            exec(compile(tree, _NAME, "exec"), names)  # noqa: S102
    except BaseException as error:  # noqa: BLE001  # whatever the code raises is shown
        trace = error.__traceback__.tb_next if error.__traceback__ else None
        with contextlib.suppress(Exception):
            traceback.print_exception(error.with_traceback(trace))
        return False
    return True

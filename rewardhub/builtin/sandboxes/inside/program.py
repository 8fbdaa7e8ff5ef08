"""Run what a job is: a command, or source as Python would run it."""

from __future__ import annotations

import atexit
import builtins
import io
import linecache
import os
import sys
import threading
import traceback
import types
from collections.abc import Mapping, Sequence
from typing import NoReturn

NAME = "main.py"
"""What the source of a job is called in tracebacks."""


def give_up(message: str, code: int) -> NoReturn:
    """Say on stderr why the program does not run, and end with an exit code as a shell does."""
    os.write(2, f"{message}\n".encode(errors="replace"))
    os._exit(code)


def execute(command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Become the command; 127 if there is none of that name, 126 if it can't be run."""
    try:
        os.execvpe(command[0], list(command), dict(environment))  # noqa: S606  # no shell is meant
    except (FileNotFoundError, NotADirectoryError) as error:
        give_up(f"{command[0]}: {error.strerror}", 127)
    except (OSError, ValueError) as error:
        give_up(f"{command[0]}: {error}", 126)


Streams = tuple[io.TextIOWrapper, io.TextIOWrapper, io.TextIOWrapper]


def make_streams() -> Streams:
    """Return stdin, stdout and stderr of descriptors 0, 1 and 2, which are files and pipes.

    They are used once there are others behind the descriptors, of the same kind.
    """
    return _open(0, "r", "strict"), _open(1, "w", "strict"), _open(2, "w", "backslashreplace")


def run_source(
    source: str, environment: Mapping[str, str], folder: str, streams: Streams
) -> NoReturn:
    """Run source as ``__main__``, and end this process as the interpreter would.

    Args:
        source: the text.
        environment: variables that are added to those of the zygote.
        folder: the working folder.
        streams: stdin, stdout and stderr.
    """
    try:
        _make_own(environment, folder, streams)
        main = types.ModuleType("__main__")
        vars(main).update(__builtins__=builtins, __file__=f"{folder}/{NAME}")
        sys.modules["__main__"] = main
        code = _run(source, vars(main))
    except BaseException:  # noqa: BLE001  # nothing of the zygote runs on in a job
        code = 1
    try:
        code = _finish(code)
    finally:
        os._exit(code or (1 if sys.exc_info()[0] else 0))


def _make_own(environment: Mapping[str, str], folder: str, streams: Streams) -> None:
    """Give the process variables, streams and paths as those of a fresh interpreter."""
    if environment:
        os.environ.update(environment)
    sys.argv[:] = [NAME]
    sys.path.insert(0, folder)
    sys.stdin, sys.stdout, sys.stderr = streams
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = streams  # type: ignore[misc]


def _open(descriptor: int, mode: str, errors: str) -> io.TextIOWrapper:
    stream = open(  # noqa: SIM115  # as long as the process
        descriptor, mode, encoding="utf-8", errors=errors, closefd=False
    )
    assert isinstance(stream, io.TextIOWrapper)
    if descriptor == 2:
        stream.reconfigure(line_buffering=True)
    return stream


def _run(source: str, names: dict[str, object]) -> int:
    """Run the source; return the exit code."""
    try:
        exec(compile(source, NAME, "exec", dont_inherit=True), names)  # noqa: S102  # what it is for
    except SystemExit as error:
        return _code_of(error)
    except BaseException as error:  # noqa: BLE001  # shown, as the interpreter does
        _show(error, source)
        return 1
    return 0


def _show(error: BaseException, source: str) -> None:
    """Print an exception as the interpreter does, which would look for the source on disk."""
    linecache.cache[NAME] = (len(source), None, source.splitlines(keepends=True), NAME)
    trace = error.__traceback__.tb_next if error.__traceback__ else None
    error = error.with_traceback(trace)
    if sys.excepthook is sys.__excepthook__:
        traceback.print_exception(error)
    else:
        sys.excepthook(type(error), error, trace)


def _code_of(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    sys.stderr.write(f"{error.code}\n")
    return 1


def _finish(code: int) -> int:
    """Wait for threads, call what was registered for the end, flush; return the exit code."""
    threading._shutdown()  # type: ignore[attr-defined]  # as the interpreter does, at its end
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        return code or 120
    return code

"""The worker process: calls the target once, then answers one job after the other."""

from __future__ import annotations

import contextlib
import errno
import importlib
import itertools
import math
import os
import socket
import sys
import time
import traceback
from collections.abc import Callable, Generator
from typing import Any, NoReturn

from rewardhub.engine.workers import ties
from rewardhub.engine.workers.frames import (
    MEMORY_LIMIT,
    NARROWING,
    NUMBER,
    OUTCOME,
    READINESS,
    SERIAL,
    Channel,
    FrameError,
    Kind,
)

CANARY_ROUNDS = 300_000
CANARY_ANSWER = pow(48271, CANARY_ROUNDS, 2**31 - 1)

# Untouched pages cost nothing, so a worker may map more than it may use. But one allocation far
# over the limit is refused at once, even while the pool is too busy to look.
_MAPPED_PER_USED = 4

_TRACEBACK_CHARACTERS = 20_000
_LINUX_ALL_CHILDREN = 0x40000000  # __WALL: also those that clone(2) made without a signal

Handler = Callable[[bytes], bytes]


class Control:
    """What a handler may say to the pool while it works. Usable from any thread."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._numbers = itertools.count(1)

    @contextlib.contextmanager
    def limit(
        self, *, cpu_seconds: float | None = None, wall_seconds: float | None = None
    ) -> Generator[None, None, None]:
        """Narrow the limits of the job for the calls inside; None leaves one as it is.

        The pool watches over it: whoever exceeds it is killed, whatever it is doing.
        """
        number = next(self._numbers)
        limits = [math.inf if one is None else one for one in (cpu_seconds, wall_seconds)]
        self._channel.send(Kind.NARROW, NARROWING.pack(number, *limits, _cpu_seconds()))
        try:
            yield
        finally:
            self._channel.send(Kind.WIDEN, NUMBER.pack(number))

    def progress(self, note: str) -> None:
        """Tell the pool what the handler is at; the last note is in the job's Result."""
        self._channel.send(Kind.PROGRESS, note.encode("utf-8", "replace"))


def main(start: dict[str, Any]) -> NoReturn:
    """Run a worker that was started by its own command (see `launch.DirectLauncher`)."""
    ties.die_with(start["parent"])
    if sys.platform == "win32":
        import base64

        connection = socket.fromshare(base64.b64decode(start["socket"]))
    else:
        connection = socket.socket(fileno=start["socket"])
    serve(connection)


def serve(connection: socket.socket) -> NoReturn:
    """Answer the pool until it says stop or is gone; then end this process."""
    status = ties.LOST
    try:
        ties.adopt_orphans()
        ties.go_first()
        _Server(Channel(connection)).run()
        status = 0
    except (EOFError, FrameError, OSError) as error:
        # The job closed the channel, or the pool is gone: nobody is left to tell.
        sys.stderr.write(f"worker: {error}\n")
    except MemoryError:
        status = ties.EXHAUSTED
    except BaseException:  # noqa: BLE001 - the last that is heard of it
        traceback.print_exc()
    finally:
        os._exit(status)


class _Server:
    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._own = os.getpid()

    def run(self) -> None:
        kind, body = self._channel.receive()
        target, _, manifest = body.partition(b"\n")
        try:
            handler = _load(target.decode())(manifest, Control(self._channel))
        except BaseException:  # noqa: BLE001 - raised in the pool
            self._channel.send(Kind.REFUSED, body=_traceback())
            return
        self._leave_if_forked()
        self._channel.send(Kind.READY, READINESS.pack(_cpu_seconds(), _has_children()))
        while kind != Kind.STOP:
            kind, body = self._channel.receive()
            if kind == Kind.JOB:
                self._do(handler, body)
            elif kind == Kind.MEMORY:
                _limit_memory(*MEMORY_LIMIT.unpack(body))
            elif kind == Kind.CANARY:
                self._channel.send(Kind.CANARY, NUMBER.pack(canary()))
        close = getattr(handler, "close", None)
        if close is not None:
            close()

    def _do(self, handler: Handler, body: bytes) -> None:
        (serial,) = SERIAL.unpack_from(body)
        kind, reply = _call(handler, body[SERIAL.size :])
        self._leave_if_forked()
        outcome = OUTCOME.pack(serial, _cpu_seconds(), _has_children())
        try:
            self._channel.send(kind, outcome, reply)
        except FrameError as error:
            self._channel.send(Kind.RAISED, outcome, f"the reply is too large: {error}".encode())

    def _leave_if_forked(self) -> None:
        """End a process that the target or handler forked and let come back: one may answer."""
        if os.getpid() != self._own:
            os._exit(ties.LOST)


def _load(target: str) -> Callable[[bytes, Control], Handler]:
    module, _, function = target.partition(":")
    loaded: Callable[[bytes, Control], Handler] = getattr(importlib.import_module(module), function)
    return loaded


def _call(handler: Handler, payload: bytes) -> tuple[Kind, bytes]:
    try:
        reply = handler(payload)
        if type(reply) is not bytes:
            raise TypeError(f"the handler returned {type(reply).__name__}, not bytes")
    except MemoryError:
        return Kind.EXHAUSTED, _traceback()
    except BaseException:  # noqa: BLE001 - told to the pool
        return Kind.RAISED, _traceback()
    return Kind.REPLY, reply


def _traceback() -> bytes:
    return traceback.format_exc()[-_TRACEBACK_CHARACTERS:].encode("utf-8", "replace")


def canary() -> int:
    """Return CANARY_ANSWER after some 20 ms of plain computation."""
    value = 1
    for _ in range(CANARY_ROUNDS):
        value = value * 48271 % 2147483647
    return value


if sys.platform == "win32":

    def _cpu_seconds() -> float:
        return time.process_time()

    def _has_children() -> bool:
        # Unknown here: let the pool look.
        return True

    def _limit_memory(size: int) -> None:
        """Do nothing: the pool's look at the memory is all there is here."""

else:
    import resource

    _CHILDREN = os.WNOHANG | (_LINUX_ALL_CHILDREN if sys.platform == "linux" else 0)
    # The job may put something else in their place.
    _waitpid, _getrusage = os.waitpid, resource.getrusage

    def _cpu_seconds() -> float:
        own = _getrusage(resource.RUSAGE_SELF)
        children = _getrusage(resource.RUSAGE_CHILDREN)
        return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime

    def _has_children() -> bool:
        """Forget the children that have ended; return whether any is left."""
        try:
            while _waitpid(-1, _CHILDREN)[0]:
                pass
        except ChildProcessError:
            return False
        except OSError as error:
            return error.errno != errno.ECHILD
        return True

    def _limit_memory(size: int) -> None:
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = size * _MAPPED_PER_USED if size else most
        if most != resource.RLIM_INFINITY:
            wanted = min(wanted, most)
        # Not every system lets this be set; the pool's look at the memory is what counts.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_DATA, (wanted, most))

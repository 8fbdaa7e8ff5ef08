"""The frames that a pool and its workers exchange: one byte of kind, four of length, a body."""

from __future__ import annotations

import socket
import struct
import threading
from enum import IntEnum

LARGEST = 256 * 2**20
"""The most bytes that one body may have."""

SMALL = 1 << 16
"""Frames up to about this size fit the buffer of an idle socket: sending them takes no time."""

_HEADER = struct.Struct("!BI")


class Kind(IntEnum):
    """What a frame says. The pool sends the first five, the worker the others."""

    START = 1  # target, newline, manifest
    MEMORY = 2  # MEMORY_LIMIT: the most memory that the next jobs may use
    JOB = 3  # SERIAL, payload
    CANARY = 4  # nothing; answered by a CANARY with NUMBER
    STOP = 5  # nothing
    READY = 11  # READINESS
    REFUSED = 12  # traceback
    REPLY = 13  # OUTCOME, reply
    RAISED = 14  # OUTCOME, traceback
    EXHAUSTED = 15  # OUTCOME, traceback of a MemoryError
    NARROW = 16  # NARROWING
    WIDEN = 17  # NUMBER
    PROGRESS = 18  # note


NUMBER = struct.Struct("!Q")
SERIAL = NUMBER
MEMORY_LIMIT = NUMBER  # bytes; 0 for no limit
READINESS = struct.Struct("!d?")  # CPU seconds so far; whether it has child processes
OUTCOME = struct.Struct("!Qd?")  # serial of the job; then as READINESS
NARROWING = struct.Struct("!Qddd")  # number; CPU and wall limit (inf for none); CPU seconds so far


class FrameError(Exception):
    """Bytes that are no frame, or a frame that is too large."""


class Channel:
    """Frames over a connected stream socket. Any thread may send; one thread receives."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._head = bytearray(_HEADER.size)
        self._head_size = 0
        self._body: bytearray | None = None  # of the frame that is coming in
        self._body_size = 0
        self._sending = threading.Lock()
        self._timeout: float | None = None

    def set_timeout(self, seconds: float | None) -> None:
        """Let `send` and `receive` raise TimeoutError after ``seconds``."""
        if seconds != self._timeout:
            self._timeout = seconds
            self._connection.settimeout(seconds)

    def send(self, kind: Kind, prefix: bytes = b"", body: bytes = b"") -> None:
        """Send one frame, whose body is ``prefix`` and ``body`` together.

        Raises:
            FrameError: if it is too large; nothing was sent then.
            TimeoutError: a part may have been sent: the channel can only be closed then.
            OSError: if the other side is gone.
        """
        length = len(prefix) + len(body)
        if length > LARGEST:
            raise FrameError(f"{length:,} bytes are more than the {LARGEST:,} that fit a frame")
        head = _HEADER.pack(kind, length) + prefix
        with self._sending:
            if length < SMALL:
                self._connection.sendall(head + body)
            else:
                self._connection.sendall(head)
                self._connection.sendall(body)

    def receive(self) -> tuple[int, bytes]:
        """Return kind and body of the next frame.

        Raises:
            FrameError: if what came is no frame.
            TimeoutError: if it did not come in time; what came of it is kept for the next call.
            EOFError: if the other side is gone.
        """
        while True:
            if self._body is None:
                self._head_size += self._read(memoryview(self._head)[self._head_size :])
                if self._head_size < _HEADER.size:
                    continue
                length: int = _HEADER.unpack(self._head)[1]
                if length > LARGEST:
                    raise FrameError(f"a frame of {length:,} bytes was announced")
                self._body, self._body_size = bytearray(length), 0
            if self._body_size == len(self._body):
                body = bytes(self._body)
                self._body, self._head_size = None, 0
                return self._head[0], body
            self._body_size += self._read(memoryview(self._body)[self._body_size :])

    def _read(self, into: memoryview) -> int:
        """Read what is there, at most what fits; return how many bytes that were."""
        try:
            size = self._connection.recv_into(into)
        except TimeoutError:
            raise
        except OSError as error:
            raise EOFError(str(error)) from error
        if not size:
            raise EOFError("the other side closed the channel")
        return size

    def close(self) -> None:
        """Close the socket."""
        self._connection.close()

"""The stream of bytes to and from a process in a container, over an attached socket."""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import Protocol

_HEADER = struct.Struct(">BxxxI")
_STDOUT, _STDERR = 1, 2
_COMPLAINT_BYTES = 4096


class Closeable(Protocol):
    """What can be closed."""

    def close(self) -> None:
        """Let go of what it holds."""


class AttachedStream:
    """What is sent goes to the stdin of a container, and its stdout is what arrives.

    The daemon packs output into frames of eight bytes of header (stream, three zeros, length,
    big-endian) and content; source: Docker Engine API, ContainerAttach. What the container writes
    to stderr is no part of the stream: the end of it is kept as its ``complaint``.

    Args:
        connection: the attached socket, before the container was started.
        holder: what else keeps the connection open, and is closed with it.
    """

    def __init__(self, connection: socket.socket, holder: Closeable | None = None) -> None:
        self._connection = connection
        self._holder = holder
        self._raw = bytearray()
        self._ready = bytearray()
        self._complaint = bytearray()

    @property
    def complaint(self) -> str:
        """The end of what arrived from stderr."""
        return self._complaint.decode(errors="replace").strip()

    def fileno(self) -> int:
        """Return the descriptor of the socket."""
        return self._connection.fileno()

    def settimeout(self, seconds: float | None) -> None:
        """Let `recv` and `sendall` raise TimeoutError after so many seconds; None waits on."""
        self._connection.settimeout(seconds)

    def sendall(self, data: bytes | bytearray | memoryview) -> None:
        """Send all of ``data``.

        Raises:
            OSError: if the connection is gone.
        """
        self._connection.sendall(data)

    def recv(self, size: int) -> bytes:
        """Return the next bytes of stdout, at most ``size``; none at its end.

        Nothing is lost by a time-out: the next call goes on where it was.

        Raises:
            OSError: if the connection is gone, or what arrives is no output of a container.
        """
        while not self._ready:
            chunk = self._connection.recv(1 << 16)
            if not chunk:
                return b""
            self._raw += chunk
            self._unpack()
        taken = bytes(self._ready[:size])
        del self._ready[:size]
        return taken

    def close(self) -> None:
        """Let go of the connection: the daemon closes the stdin of the container."""
        with contextlib.suppress(OSError):  # it is gone already
            self._connection.shutdown(socket.SHUT_RDWR)
        if self._holder is not None:
            self._holder.close()
        self._connection.close()

    def _unpack(self) -> None:
        """Move the content of each whole or begun frame to where it belongs."""
        raw = self._raw
        while len(raw) >= _HEADER.size:
            kind, length = _HEADER.unpack_from(raw)
            if kind not in {_STDOUT, _STDERR} or any(raw[1:4]):
                raise ConnectionError("the daemon sent what is no frame of output")
            if len(raw) < _HEADER.size + length:
                return
            content = raw[_HEADER.size : _HEADER.size + length]
            del raw[: _HEADER.size + length]
            if kind == _STDOUT:
                self._ready += content
            else:
                self._complaint = (self._complaint + content)[-_COMPLAINT_BYTES:]

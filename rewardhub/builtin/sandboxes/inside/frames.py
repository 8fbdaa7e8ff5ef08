"""Frames over a stream of bytes: a byte that says what it is, a length, the content."""

from __future__ import annotations

import struct
from collections.abc import Iterator

CONFIGURE, START, MESSAGE, CLOSE_CHANNEL, KILL = 1, 2, 3, 4, 5
"""What the host says; MESSAGE goes both ways."""

READY, OUTCOME, ERROR = 6, 7, 8
"""What the warden says. After an ERROR it is of no more use."""

MAX_MESSAGE = 1 << 20
"""The longest message that a job may send over its channel, in bytes."""

_HEADER = struct.Struct("<BI")


def pack(kind: int, *parts: bytes) -> bytes:
    """Return one frame that holds ``parts`` one after the other."""
    return b"".join((_HEADER.pack(kind, sum(map(len, parts))), *parts))


class FrameReader:
    """Cuts what arrives into frames."""

    def __init__(self) -> None:
        self._raw = bytearray()

    def __len__(self) -> int:
        return len(self._raw)

    def feed(self, data: bytes) -> None:
        """Add what arrived."""
        self._raw += data

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """Yield the frames that are whole, as kind and content."""
        while (frame := self.next_frame()) is not None:
            yield frame

    def next_frame(self) -> tuple[int, bytes] | None:
        """Return the next whole frame, or None if there is none yet."""
        if len(self._raw) < _HEADER.size:
            return None
        kind, length = _HEADER.unpack_from(self._raw)
        end = _HEADER.size + length
        if len(self._raw) < end:
            return None
        content = bytes(self._raw[_HEADER.size : end])
        del self._raw[:end]
        return kind, content


class TooLongError(Exception):
    """A message that is longer than a channel carries."""


class MessageReader:
    """Cuts what a job wrote to its channel into messages: four bytes of length, then content."""

    def __init__(self) -> None:
        self._raw = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Add what arrived, and yield the messages that are whole.

        Raises:
            TooLongError: as soon as one is announced that is longer than `MAX_MESSAGE`.
        """
        self._raw += data
        while len(self._raw) >= 4:
            length = int.from_bytes(self._raw[:4], "little")
            if length > MAX_MESSAGE:
                raise TooLongError(length)
            if len(self._raw) < 4 + length:
                return
            message = bytes(self._raw[4 : 4 + length])
            del self._raw[: 4 + length]
            yield message

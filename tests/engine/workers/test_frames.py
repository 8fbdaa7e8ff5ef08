from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import pytest

from rewardhub.engine.workers import frames
from rewardhub.engine.workers.frames import Channel, FrameError, Kind


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, Channel]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = Channel(theirs)
        channel.set_timeout(10.0)
        yield ours, channel


def test_receives_frames_as_they_were_sent(pair: tuple[socket.socket, Channel]) -> None:
    ours, channel = pair
    sender = Channel(ours)
    sender.send(Kind.JOB, b"ab", b"cd")
    sender.send(Kind.STOP)
    assert [channel.receive(), channel.receive()] == [(Kind.JOB, b"abcd"), (Kind.STOP, b"")]


def test_keeps_half_a_frame_for_later(pair: tuple[socket.socket, Channel]) -> None:
    ours, channel = pair
    channel.set_timeout(0.01)
    frame = struct.pack("!BI", Kind.REPLY, 4) + b"abcd"
    for byte in frame[:-1]:
        ours.sendall(bytes([byte]))
        with pytest.raises(TimeoutError):
            channel.receive()
    ours.sendall(frame[-1:])
    assert channel.receive() == (Kind.REPLY, b"abcd")


def test_refuses_to_send_a_frame_that_is_too_large(
    pair: tuple[socket.socket, Channel], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, channel = pair
    monkeypatch.setattr(frames, "LARGEST", 10)
    with pytest.raises(FrameError, match="11 bytes are more than the 10"):
        channel.send(Kind.REPLY, b"12345", b"678901")
    channel.send(Kind.REPLY, b"12345", b"67890")
    assert Channel(ours).receive() == (Kind.REPLY, b"1234567890")


def test_refuses_an_announced_frame_that_is_too_large(
    pair: tuple[socket.socket, Channel],
) -> None:
    ours, channel = pair
    ours.sendall(struct.pack("!BI", Kind.REPLY, frames.LARGEST + 1))
    with pytest.raises(FrameError, match="268,435,457 bytes"):
        channel.receive()


def test_says_that_the_other_side_is_gone(pair: tuple[socket.socket, Channel]) -> None:
    ours, channel = pair
    ours.sendall(b"half")
    ours.close()
    with pytest.raises(EOFError):
        channel.receive()

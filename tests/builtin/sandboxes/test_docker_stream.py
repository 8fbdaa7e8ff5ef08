import socket
import struct
from collections.abc import Iterator

import pytest

from rewardhub.builtin.sandboxes.docker_stream import AttachedStream


def frame(kind: int, content: bytes) -> bytes:
    return struct.pack(">BxxxI", kind, len(content)) + content


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, AttachedStream]]:
    daemon, ours = socket.socketpair()
    with daemon, ours:
        yield daemon, AttachedStream(ours)


def test_joins_the_frames_of_stdout(ends: tuple[socket.socket, AttachedStream]) -> None:
    daemon, stream = ends
    daemon.sendall(frame(1, b"one ") + frame(1, b"two"))
    assert stream.recv(100) == b"one two"


def test_gives_no_more_than_was_asked_for(ends: tuple[socket.socket, AttachedStream]) -> None:
    daemon, stream = ends
    daemon.sendall(frame(1, b"abcdef"))
    assert [stream.recv(4), stream.recv(4)] == [b"abcd", b"ef"]


def test_keeps_stderr_out_of_the_stream(ends: tuple[socket.socket, AttachedStream]) -> None:
    daemon, stream = ends
    daemon.sendall(frame(2, b"Traceback: no\n") + frame(1, b"data"))
    assert stream.recv(100) == b"data"
    assert stream.complaint == "Traceback: no"


def test_keeps_the_end_of_a_flood_of_stderr(ends: tuple[socket.socket, AttachedStream]) -> None:
    daemon, stream = ends
    daemon.sendall(b"".join(frame(2, bytes([65 + number]) * 1000) for number in range(10)))
    daemon.sendall(frame(1, b"x"))
    assert stream.recv(1) == b"x"
    assert len(stream.complaint) == 4096
    assert stream.complaint.endswith("J" * 1000)


def test_goes_on_after_a_time_out_in_the_middle_of_a_frame(
    ends: tuple[socket.socket, AttachedStream],
) -> None:
    daemon, stream = ends
    whole = frame(1, b"abcdef")
    daemon.sendall(whole[:10])
    stream.settimeout(0.01)
    with pytest.raises(TimeoutError):
        stream.recv(100)
    daemon.sendall(whole[10:])
    assert stream.recv(100) == b"abcdef"


def test_ends_when_the_connection_does(ends: tuple[socket.socket, AttachedStream]) -> None:
    daemon, stream = ends
    daemon.sendall(frame(1, b"last"))
    daemon.shutdown(socket.SHUT_WR)
    assert [stream.recv(100), stream.recv(100)] == [b"last", b""]


@pytest.mark.parametrize("garbage", [b"HTTP/1.1 500 no", frame(3, b"x"), frame(0, b"x")])
def test_refuses_what_is_no_frame(
    ends: tuple[socket.socket, AttachedStream], garbage: bytes
) -> None:
    daemon, stream = ends
    daemon.sendall(garbage)
    with pytest.raises(ConnectionError, match="no frame"):
        stream.recv(100)


def test_sends_stdin_as_it_is(ends: tuple[socket.socket, AttachedStream]) -> None:
    daemon, stream = ends
    stream.sendall(b"\x00raw\xff")
    assert daemon.recv(100) == b"\x00raw\xff"

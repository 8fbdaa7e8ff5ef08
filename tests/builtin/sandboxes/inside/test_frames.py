"""Frames and messages, cut anywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.builtin.sandboxes.inside.frames import (
    MAX_MESSAGE,
    FrameReader,
    MessageReader,
    TooLongError,
    pack,
)
from rewardhub.builtin.sandboxes.inside.payload import Payload

FRAMES = st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=50)), max_size=8)


@given(FRAMES, st.integers(1, 20))
def test_frames_arrive_as_they_were_packed_however_they_are_cut(
    frames: list[tuple[int, bytes]], size: int
) -> None:
    stream = b"".join(pack(kind, content[:3], content[3:]) for kind, content in frames)
    reader, got = FrameReader(), list[tuple[int, bytes]]()
    for start in range(0, len(stream), size):
        reader.feed(stream[start : start + size])
        got += reader.frames()
    assert got == frames


@given(st.lists(st.binary(max_size=50), max_size=8), st.integers(1, 20))
def test_messages_arrive_however_they_are_cut(messages: list[bytes], size: int) -> None:
    stream = b"".join(len(each).to_bytes(4, "little") + each for each in messages)
    reader, got = MessageReader(), list[bytes]()
    for start in range(0, len(stream), size):
        got += reader.feed(stream[start : start + size])
    assert got == messages


def test_a_message_that_says_it_is_too_long_is_not_waited_for() -> None:
    reader = MessageReader()
    assert list(reader.feed((MAX_MESSAGE).to_bytes(4, "little"))) == []
    with pytest.raises(TooLongError):
        list(MessageReader().feed((MAX_MESSAGE + 1).to_bytes(4, "little")))


@given(
    st.text(),
    st.lists(st.text(), max_size=3),
    st.dictionaries(st.text(), st.text(), max_size=3),
    st.dictionaries(st.text(), st.binary(), max_size=3),
)
def test_a_payload_is_read_as_it_was_packed(
    source: str, command: list[str], env: dict[str, str], files: dict[str, bytes]
) -> None:
    import os

    payload = Payload(source=source, command=command, env=env, files=files)
    descriptor = os.memfd_create("payload")
    try:
        os.write(descriptor, payload.pack())
        assert Payload.read(descriptor) == payload
    finally:
        os.close(descriptor)

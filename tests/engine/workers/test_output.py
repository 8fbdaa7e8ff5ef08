from __future__ import annotations

from collections.abc import Iterator

import pytest

from rewardhub.engine.workers import output as output_module
from rewardhub.engine.workers.output import Output


@pytest.fixture
def output() -> Iterator[Output]:
    output = Output()
    yield output
    output.close()


def test_gives_what_was_written_once(output: Output) -> None:
    output.written.write(b"first")
    assert [output.take(), output.take()] == ["first", ""]
    output.written.write(b"second")
    assert output.take() == "second"


def test_gives_the_last_of_much(output: Output) -> None:
    output.written.write(b"x" * 5000 + b"end")
    assert output.take() == "x" * 4093 + "end"


def test_keeps_the_file_small_and_the_last_words(
    output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_module, "_LARGEST", 10_000)
    output.written.write(b"x" * 20_000)
    output.trim()
    output.written.write(b"end")
    assert output.written.seek(0, 2) == 3
    assert output.take() == "x" * 4093 + "end"


def test_keeps_the_file_small_over_many_jobs(
    output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_module, "_LARGEST", 10_000)
    for _ in range(20):
        output.written.write(b"x" * 1000)
        assert len(output.take()) == 1000
    assert output.written.seek(0, 2) <= 10_000


def test_gives_bytes_that_are_no_text(output: Output) -> None:
    output.written.write(b"\xff\xfe")
    assert output.take() == "\ufffd\ufffd"

import gzip
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rewardhub.builtin.formats import cutting
from rewardhub.builtin.formats.cutting import cut, head_of
from rewardhub.builtin.formats.opening import zstd_module
from rewardhub.errors import UsageError

LINES = b'{"a": 1}\n{"a": 2}\n{"a": 3}\n'


@pytest.fixture
def write(tmp_path: Path) -> Callable[[bytes], Path]:
    def write_file(data: bytes) -> Path:
        path = tmp_path / "rows"
        path.write_bytes(data)
        return path

    return write_file


def zstd(data: bytes) -> bytes:
    try:
        packed: bytes = zstd_module().compress(data)
    except UsageError as missing:
        pytest.skip(str(missing))
    return packed


def numbers(path: Path) -> list[int]:
    return [row.number for row in cut(path)]


def test_numbers_rows_from_one(write: Callable[[bytes], Path]) -> None:
    assert [(row.number, row.data.strip()) for row in cut(write(LINES))] == [
        (1, b'{"a": 1}'),
        (2, b'{"a": 2}'),
        (3, b'{"a": 3}'),
    ]


def test_recognises_gzip_by_its_first_bytes(write: Callable[[bytes], Path]) -> None:
    assert numbers(write(gzip.compress(LINES))) == [1, 2, 3]


def test_recognises_zstd_by_its_first_bytes(write: Callable[[bytes], Path]) -> None:
    assert numbers(write(zstd(LINES))) == [1, 2, 3]


def test_reads_archives_that_were_appended_to_each_other(write: Callable[[bytes], Path]) -> None:
    assert numbers(write(gzip.compress(LINES) + gzip.compress(LINES))) == [1, 2, 3, 4, 5, 6]
    assert numbers(write(zstd(LINES) + zstd(LINES))) == [1, 2, 3, 4, 5, 6]


def test_counts_blank_lines_and_leaves_them_out(write: Callable[[bytes], Path]) -> None:
    assert numbers(write(b'\n{"a": 1}\n \t\n\r\n{"a": 2}')) == [2, 5]


def test_splits_on_newlines_only(write: Callable[[bytes], Path]) -> None:
    line = '{"a": "one\u2028two\x0bthree\x85four"}'.encode()
    assert [row.data for row in cut(write(line))] == [line]


def test_tolerates_carriage_returns_and_a_byte_order_mark(write: Callable[[bytes], Path]) -> None:
    rows = list(cut(write(b'\xef\xbb\xbf{"a": 1}\r\n{"a": 2}\r\n')))
    assert [row.data.strip() for row in rows] == [b'{"a": 1}', b'{"a": 2}']


def test_tells_the_size_of_a_row_that_is_too_long_and_goes_on(
    write: Callable[[bytes], Path],
) -> None:
    path = write(b'{"a": 1}\n"' + b"x" * 50_000_000 + b'"\n{"a": 3}\n')
    before, long, after = cut(path)
    assert (before.error, after.error, after.number) == (None, None, 3)
    assert long.data == b""
    assert long.error == "the row has 50,000,003 bytes, and at most 16,777,216 are read"


def test_never_asks_for_more_of_a_line_than_the_limit(
    write: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "MAX_ROW_BYTES", 10)
    rows = list(cut(write(b"0123456789\n" + b"x" * 10 + b"\n" + b"y" * 9 + b"\nz\n")))
    assert [row.error is None for row in rows] == [False, False, True, True]


def test_reports_a_long_last_line_without_a_newline(
    write: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "MAX_ROW_BYTES", 10)
    (row,) = cut(write(b"x" * 200_000))
    assert row.error == "the row has 200,000 bytes, and at most 10 are read"


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_reads_the_rows_before_the_place_where_a_file_breaks_off(
    write: Callable[[bytes], Path], pack: Callable[[bytes], bytes]
) -> None:
    noise = random.Random(7)
    lines = [b'{"a": "%032x"}\n' % noise.getrandbits(128) for _ in range(20_000)]
    packed = pack(b"".join(lines))
    *rows, last = cut(write(packed[: len(packed) // 2]))
    assert [row.data for row in rows] == lines[: len(rows)]
    assert len(rows) > 5_000
    assert last.number == len(rows) + 1
    assert last.error is not None
    assert "ends in the middle" in last.error


def test_reports_damage_inside_an_archive(write: Callable[[bytes], Path]) -> None:
    packed = bytearray(gzip.compress(LINES))
    packed[-6] ^= 0xFF
    *_, last = cut(write(bytes(packed)))
    assert last.error is not None
    assert "cannot be read any further" in last.error


def test_shows_the_head_of_a_file_that_breaks_off(write: Callable[[bytes], Path]) -> None:
    assert head_of(write(gzip.compress(LINES)[:-9])).startswith(b'{"a": 1}')


def test_refuses_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        cut(tmp_path / "none.jsonl")


def test_refuses_what_is_no_regular_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a regular file"):
        cut(tmp_path)


def test_names_the_extra_that_zstd_needs(
    write: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(zstd(LINES))
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    with pytest.raises(UsageError, match=r"pip install 'rewardhub-core\[zstd\]'"):
        cut(path)

"""Cutting files into rows: lines of JSON, or rows of Parquet turned into JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from rewardhub.builtin.formats.opening import BrokenFileError, ByteStream, open_bytes
from rewardhub.builtin.formats.parquet import MAGIC, parquet_rows
from rewardhub.contracts import RawRow

MAX_ROW_BYTES = 16 * 1024 * 1024
"""A longer row is an error, and is never held in memory whole."""

HEAD_BYTES = 64 * 1024

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def head_of(path: Path) -> bytes:
    """Return the first bytes of a file, uncompressed: up to 64 KiB. Raises as `cut`."""
    try:
        with open_bytes(path) as stream:
            return stream.read1(HEAD_BYTES)  # unlike read, gives what stands before a broken end
    except BrokenFileError:
        return b""


def cut(path: Path) -> Iterator[RawRow]:
    """Yield the rows of a file of JSON lines (plain, gzip, zstd) or of a Parquet file, as JSON.

    What is wrong with one row is told in its ``error``. Where the file is broken off, the rows
    before that place are read, and then comes one row with the error.

    Raises:
        UsageError: if the file is missing, if an extra that it needs is not installed, or if it
            is Parquet without a readable footer.
    """
    if head_of(path).startswith(MAGIC):
        return _parquet(path)
    return _lines(path)


def _lines(path: Path) -> Iterator[RawRow]:
    r"""Yield lines, split on ``\n`` only; blank ones are counted and left out."""
    number = 0
    try:
        with open_bytes(path) as stream:
            readline = stream.readline
            while line := readline(MAX_ROW_BYTES + 1):
                number += 1
                if len(line) > MAX_ROW_BYTES:
                    yield RawRow(number, b"", _too_long(_rest_of_line(stream, line)))
                    continue
                if number == 1:
                    line = line.removeprefix(_BYTE_ORDER_MARK)
                if not line.isspace():
                    yield RawRow(number, line)
    except BrokenFileError as error:
        yield RawRow(number + 1, b"", str(error))


def _rest_of_line(stream: ByteStream, piece: bytes) -> int:
    """Read to the end of the line that begins with ``piece``; return how long it is."""
    size = 0
    while piece:
        size += len(piece)
        if piece.endswith(b"\n"):
            break
        piece = stream.readline(HEAD_BYTES)
    return size


def _too_long(size: int) -> str:
    return f"the row has {size:,} bytes, and at most {MAX_ROW_BYTES:,} are read"


def _parquet(path: Path) -> Iterator[RawRow]:
    """Yield Parquet rows as JSON objects.

    Binary values become base64, dates ISO 8601; NaN and infinity, which JSON lacks, become null.
    """
    number = 0
    try:
        for number, values in enumerate(parquet_rows(path), start=1):
            yield _as_json(number, values)
    except BrokenFileError as error:
        yield RawRow(number + 1, b"", str(error))


def _as_json(number: int, values: dict[str, Any] | UnicodeDecodeError) -> RawRow:
    if isinstance(values, UnicodeDecodeError):
        return RawRow(number, b"", f"a text of the row is not UTF-8: {values}")
    data = to_json(values, bytes_mode="base64", inf_nan_mode="null")
    if len(data) > MAX_ROW_BYTES:
        return RawRow(number, b"", _too_long(len(data)))
    return RawRow(number, data)

"""Opening files: what is compressed is seen by its first bytes, never by its name."""

from __future__ import annotations

import gzip
import importlib
import sys
import zlib
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from io import BufferedReader, FileIO, RawIOBase
from pathlib import Path
from typing import Any, TypeAlias

from rewardhub.errors import UsageError

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_BUFFER_BYTES = 1 << 18

ByteStream: TypeAlias = "BufferedReader[Any]"


class BrokenFileError(Exception):
    """The rest of a file cannot be read; what came before it was fine."""


@contextmanager
def open_bytes(path: Path) -> Generator[ByteStream, None, None]:
    """Open ``path`` for reading, uncompressed where it is gzip or zstd.

    Raises:
        UsageError: if it is no regular file, or zstd support is missing. A pipe is refused, for
            files are read more than once (recognised, read, resumed).
        BrokenFileError: while reading, where the file breaks off or is damaged.
    """
    with ExitStack() as stack:
        stream: ByteStream = stack.enter_context(_open_regular(path))
        magic = stream.read(4)
        stream.seek(0)
        packed: Any = None
        broken: tuple[type[Exception], ...] = (OSError, zlib.error)
        if magic.startswith(_GZIP_MAGIC):
            packed = gzip.GzipFile(fileobj=stream)
        elif magic == _ZSTD_MAGIC:
            packed = zstd_module().ZstdFile(stream)
            broken = (OSError, zstd_module().ZstdError)
        if packed is not None:
            stream = BufferedReader(_Unpacked(stack.enter_context(packed)), _BUFFER_BYTES)
        try:
            yield stream
        except EOFError:
            raise BrokenFileError(
                "the file ends in the middle of its compressed data: was it copied whole?"
            ) from None
        except broken as error:
            raise BrokenFileError(f"the file cannot be read any further: {error}") from None


def _open_regular(path: Path) -> ByteStream:
    if not path.is_file():
        state = "is not a regular file: save it to one first" if path.exists() else "does not exist"
        raise UsageError(f"`{path}` {state}.")
    try:
        return BufferedReader(FileIO(path), _BUFFER_BYTES)
    except OSError as error:
        raise UsageError(f"`{path}` cannot be read: {error.strerror}.") from None


class _Unpacked(RawIOBase):
    """Hands on what a compressed file can give at once.

    Filling a larger buffer from it in one call would lose, where the file breaks off, all that
    stands in the buffer before that place.
    """

    def __init__(self, packed: Any) -> None:
        self._packed = packed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data: bytes = self._packed.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def zstd_module() -> Any:
    """Return the standard library's ``compression.zstd``, or its backport before Python 3.14.

    Raises:
        UsageError: if the backport is not installed.
    """
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    return _extra(name, "zstd")


def parquet_modules() -> tuple[Any, Any]:
    """Return the modules ``pyarrow``, with ``pyarrow.compute``, and ``pyarrow.parquet``.

    Raises:
        UsageError: if pyarrow is not installed.
    """
    _extra("pyarrow.compute", "parquet")
    return _extra("pyarrow", "parquet"), _extra("pyarrow.parquet", "parquet")


def _extra(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise UsageError(
            f"This file format needs an extra: `pip install 'rewardhub-core[{extra}]'`."
        ) from None

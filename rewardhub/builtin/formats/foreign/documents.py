"""Cutting JSON documents into rows: arrays, objects that span lines, lines.

The cutter looks for brackets and quotes only and leaves the rest to whoever parses a row: so the
NaN that Python programs write into JSON does no harm, and a broken row spoils no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic_core import from_json

from rewardhub.builtin.formats.cutting import MAX_ROW_BYTES, cut, head_of
from rewardhub.builtin.formats.opening import BrokenFileError, ByteStream, open_bytes
from rewardhub.contracts import RawRow

_CHUNK_BYTES = 1 << 16
_QUOTE = ord('"')
_NO_SPACE = re.compile(rb"[^ \t\r\n]")
# A whole text, a bracket, or the quote that begins a text whose end has not been read yet.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[{}\[\]]|"', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,\]}\[{]+")


class BrokenDocumentError(Exception):
    """The document does not go on as JSON does; what came before it was fine."""


def cut_documents(path: Path) -> Iterator[RawRow]:
    """Yield the rows of a file: the elements of a JSON array, objects that span lines, or lines.

    What it is, is seen by its first bytes; Parquet and compressed files are read, too. Holds one
    row in memory.

    Raises:
        UsageError: as `cut`.
    """
    head = head_of(path).removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"["):
        return _numbered(path, in_array=True)
    return _numbered(path, in_array=False) if _spans_lines(head) else cut(path)


def _spans_lines(head: bytes) -> bool:
    """Whether ``head`` begins with an object that goes on behind the end of its line."""
    line, _, rest = head.partition(b"\n")
    following = rest.lstrip()
    if not line.startswith(b"{") or not following or following.startswith(b"{"):
        return False  # an object on the next line means lines, the first of them broken perhaps
    try:
        from_json(line)
    except ValueError:
        return True
    return False


def _numbered(path: Path, *, in_array: bool) -> Iterator[RawRow]:
    number = 0
    try:
        with open_bytes(path) as stream:
            cutter = JsonCutter(stream)
            values = cutter.elements() if in_array else cutter.documents()
            for number, value in enumerate(values, start=1):
                yield RawRow(number, value) if value is not None else too_long(number)
    except (BrokenFileError, BrokenDocumentError) as error:
        yield RawRow(number + 1, b"", str(error))


def too_long(number: int) -> RawRow:
    """Return the row that stands for one over the limit."""
    return RawRow(number, b"", f"the row has more than {MAX_ROW_BYTES:,} bytes, and is not read")


class JsonCutter:
    """Reads a stream of JSON value by value; a value over the limit is skipped, and is None."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._buffer = stream.read1(_CHUNK_BYTES).removeprefix(b"\xef\xbb\xbf")
        self._at = 0

    def documents(self) -> Iterator[bytes | None]:
        """Yield the values that stand one after the other."""
        while self._next():
            yield self.value()

    def elements(self) -> Iterator[bytes | None]:
        """Yield the elements of the array that begins here.

        Raises:
            BrokenDocumentError: where it is no array any more, or ends before its end.
        """
        self._expect(b"[")
        if self._next() == b"]":
            self._at += 1
            return
        while True:
            yield self.value()
            if self._expect(b",", b"]") == b"]":
                return

    def members(self, *streamed: str) -> Iterator[tuple[str, bytes | None]]:
        """Yield names and values of the object that begins here; of ``streamed``, the elements.

        Raises:
            BrokenDocumentError: where it is no object any more, or ends before its end.
        """
        self._expect(b"{")
        if self._next() == b"}":
            self._at += 1
            return
        while True:
            name = (self.value() or b"").decode(errors="replace").strip('"')
            self._expect(b":")
            if name in streamed and self._next() == b"[":
                yield from ((name, element) for element in self.elements())
            else:
                yield name, self.value()
            if self._expect(b",", b"}") == b"}":
                return

    def value(self) -> bytes | None:
        """Return the value that begins here, or None if it is over the limit.

        Raises:
            BrokenDocumentError: if none begins here, or the file ends first.
        """
        first = self._next()
        if first in (b"{", b"[", b'"'):
            return self._nested()
        found = _SCALAR.match(self._buffer, self._at)
        while found is not None and found.end() == len(self._buffer) and self._more():
            found = _SCALAR.match(self._buffer, self._at)
        if found is None:
            raise self._broken("a value", first)
        self._at = found.end()
        return found.group()

    def _nested(self) -> bytes | None:
        depth, scanned, is_long = 0, self._at, False
        while True:
            stop = len(self._buffer)
            for found in _TOKEN.finditer(self._buffer, scanned):
                kind = self._buffer[found.start()]
                if kind == _QUOTE and found.end() - found.start() == 1:
                    stop = found.start()
                    break
                depth += (kind in b"{[") - (kind in b"}]")
                if depth == 0:
                    piece = self._buffer[self._at : found.end()]
                    self._at = found.end()
                    return None if is_long or len(piece) > MAX_ROW_BYTES else piece
            if len(self._buffer) - self._at > MAX_ROW_BYTES:
                if stop == self._at:
                    raise BrokenDocumentError(
                        f"a text of more than {MAX_ROW_BYTES:,} bytes stands here; the rest of "
                        "the file is not read"
                    )
                is_long = True
                self._at = stop
            scanned = stop - self._at
            if not self._more():
                raise self._broken("the end of a value", b"")

    def _next(self) -> bytes:
        """Return the next byte that is no white space, without taking it; empty at the end."""
        while True:
            if found := _NO_SPACE.search(self._buffer, self._at):
                self._at = found.start()
                return found.group()
            self._at = len(self._buffer)
            if not self._more():
                return b""

    def _expect(self, *wanted: bytes) -> bytes:
        found = self._next()
        if found not in wanted:
            names = " or ".join(f"`{each.decode()}`" for each in wanted)
            raise self._broken(names, found)
        self._at += 1
        return found

    def _more(self) -> bool:
        """Read on, at least as much as waits: so a long value is searched a few times only."""
        waiting = self._buffer[self._at :]
        self._buffer, self._at = waiting, 0
        size = max(_CHUNK_BYTES, len(waiting))
        while size > 0 and (piece := self._stream.read1(size)):
            self._buffer += piece
            size -= len(piece)
        return len(self._buffer) > len(waiting)

    def _broken(self, wanted: str, found: bytes) -> BrokenDocumentError:
        what = f"`{found.decode(errors='replace')}`" if found else "the end of the file"
        return BrokenDocumentError(f"the document breaks off: {what} stands where {wanted} belongs")

"""What a worker writes to its standard output and error."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

_TAIL = 4096
_LARGEST = 16 << 20


class Output:
    """A file that a worker writes its standard output and error to."""

    def __init__(self) -> None:
        descriptor, name = tempfile.mkstemp(prefix="rewardhub-worker-")
        self._path = Path(name)
        self._file = os.fdopen(descriptor, "r+b", buffering=0)
        self.written = self._path.open("ab", buffering=0)
        if sys.platform != "win32":
            self._path.unlink()
        self._start = 0
        self._kept = b""

    def trim(self) -> None:
        """Keep the file small, whatever the worker writes."""
        size = self._size()
        if size > _LARGEST:
            # What is written at this very moment is lost.
            self._kept = self._tail(size)
            self._file.truncate(0)
            self._start = 0

    def take(self) -> str:
        """Return the last 4 KiB that were written since this was last called."""
        size = self._size()
        if size == self._start and not self._kept:
            return ""
        tail, self._kept = self._tail(size), b""
        self._start = size
        self.trim()
        return tail.decode("utf-8", "replace")

    def close(self) -> None:
        """Close and remove the file."""
        self._file.close()
        self.written.close()
        if sys.platform == "win32":
            with suppress(OSError):
                self._path.unlink()

    def _size(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def _tail(self, size: int) -> bytes:
        start = max(self._start, size - _TAIL)
        self._file.seek(start)
        return (self._kept + self._file.read(size - start))[-_TAIL:]

"""What a worker writes to its standard output and error."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

TAIL_BYTES = 4096
_LARGEST = 1 << 20


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

    def mark(self) -> None:
        """Forget what was written so far."""
        self._kept = b""
        self._start = self._size()
        self.trim()

    def trim(self) -> None:
        """Keep the file small, whatever the worker writes."""
        if self._size() > _LARGEST:
            self._kept = self._tail()
            self._file.truncate(0)
            self._start = 0

    def text(self) -> str:
        """Return the last 4 KiB written since the mark."""
        return self._tail().decode("utf-8", "replace")

    def close(self) -> None:
        """Close and remove the file."""
        self._file.close()
        self.written.close()
        if sys.platform == "win32":
            with suppress(OSError):
                self._path.unlink()

    def _size(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def _tail(self) -> bytes:
        size = self._size()
        if size == self._start and not self._kept:
            return b""
        start = max(self._start, size - TAIL_BYTES)
        self._file.seek(start)
        return (self._kept + self._file.read(size - start))[-TAIL_BYTES:]

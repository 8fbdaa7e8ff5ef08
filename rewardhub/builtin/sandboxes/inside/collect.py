"""Bring back files that a job left, once all its processes are dead: nothing moves any more."""

# Paths are relative to open folders, so that no link of a job leads anywhere.

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

MAX_FILES = 10_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a FIFO that took a file's place must not block.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_DEPTH = 64


class Collected:
    """Files as they are read, up to a size altogether.

    Attributes:
        files: path -> content, in order.
        skipped: what was not taken, in words.
    """

    def __init__(self, folder: int, max_bytes: int) -> None:
        self.files: dict[str, bytes] = {}
        self.skipped: list[str] = []
        self._folder = folder
        self._left = max_bytes

    def take(self, path: str) -> None:
        """Take the file, or all files below the folder, at ``path`` below the working folder."""
        parts = [part for part in path.split("/") if part not in {"", "."}]
        folder = os.dup(self._folder)
        try:
            for part in parts[:-1]:
                inner = os.open(part, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = inner
            self._take_entry(folder, parts[-1] if parts else ".", "/".join(parts), 0)
        except OSError:
            return  # it is not there, or a link stands in its way: then it was not left
        finally:
            os.close(folder)

    def _take_entry(self, folder: int, name: str, path: str, depth: int) -> None:
        mode = os.lstat(name, dir_fd=folder).st_mode
        if stat.S_ISDIR(mode):
            if depth >= _MAX_DEPTH:
                self.skipped.append(f"{path}: too deep")
                return
            inner = os.open(name, _FOLDER, dir_fd=folder)
            try:
                for each in sorted(_names(inner)):
                    self._take_entry(inner, each, f"{path}/{each}".lstrip("/"), depth + 1)
            finally:
                os.close(inner)
        elif stat.S_ISREG(mode):
            self._take_file(folder, name, path)
        else:
            self.skipped.append(f"{path}: not a file")

    def _take_file(self, folder: int, name: str, path: str) -> None:
        if len(self.files) >= MAX_FILES:
            self.skipped.append(f"{path}: one file too many")
            return
        try:
            path.encode()
            descriptor = os.open(name, _FILE, dir_fd=folder)
        except (OSError, UnicodeError) as error:
            self.skipped.append(f"{path!a}: {type(error).__name__}")
            return
        try:
            size = os.fstat(descriptor).st_size
            if size > self._left:
                self.skipped.append(f"{path}: {size} bytes are too many")
                return
            self.files[path] = b"".join(_blocks(descriptor, size))
            self._left -= size
        finally:
            os.close(descriptor)


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for _, entry in zip(range(MAX_FILES), entries, strict=False)]


def _blocks(descriptor: int, size: int) -> Iterator[bytes]:
    while size > 0 and (block := os.read(descriptor, min(size, 1 << 20))):
        yield block
        size -= len(block)

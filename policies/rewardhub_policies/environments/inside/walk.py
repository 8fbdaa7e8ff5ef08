"""What is in the working folder: a hash of each file, and what changed since the last look."""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
import hashlib
import os
import stat
from typing import Any

_MOST_FILES = 5000
_MOST_TEXT, _MOST_TEXTS = 32 << 10, 4 << 20
_MOST_DIFF, _MOST_DIFFS = 2000, 20_000
_MOST_CHANGES = 200
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Folder:
    """A folder that is looked at again and again; unchanged files are not read again.

    Args:
        top: its path.
        ignored: patterns of paths that do not count; ``*`` stands for slashes, too.
    """

    def __init__(self, top: str, ignored: list[str]) -> None:
        self._top = top
        self._ignored = ignored
        self._known: dict[str, tuple[tuple[int, ...], str]] = {}
        self._texts: dict[str, str] = {}
        self._room = _MOST_TEXTS

    def look(self) -> dict[str, Any]:
        """Return ``files`` (path -> hash, or link), and ``changes`` (path -> diff, or a word)."""
        before = {path: mark for path, (_, mark) in self._known.items()}
        old_texts = self._texts
        self._texts, self._room = {}, _MOST_TEXTS
        found: dict[str, tuple[tuple[int, ...], str]] = {}
        left_out = 0
        for path in self._paths():
            if len(found) >= _MOST_FILES:
                left_out += 1
            elif mark := self._mark(path, old_texts):
                found[path] = mark
        self._known = found
        now = {path: mark for path, (_, mark) in found.items()}
        changes = _changes(before, now, old_texts, self._texts)
        return {"files": now, "changes": changes} | ({"left_out": left_out} if left_out else {})

    def _paths(self) -> list[str]:
        found: list[str] = []
        for folder, below, names in os.walk(self._top):
            below.sort()
            here = os.path.relpath(folder, self._top)
            links = [name for name in below if os.path.islink(os.path.join(folder, name))]  # noqa: PTH114, PTH118
            for name in sorted([*names, *links]):
                path = os.path.normpath(f"{here}/{name}")
                if not any(fnmatch.fnmatchcase(path, pattern) for pattern in self._ignored):
                    found.append(path)
        return found

    def _mark(self, path: str, old_texts: dict[str, str]) -> tuple[tuple[int, ...], str] | None:
        place = os.path.join(self._top, path)  # noqa: PTH118
        try:
            about = os.lstat(place)
            if stat.S_ISLNK(about.st_mode):
                return (), f"-> {os.readlink(place)}"  # noqa: PTH115
            if not stat.S_ISREG(about.st_mode):
                return (), "special"
            key = (about.st_mtime_ns, about.st_ctime_ns, about.st_size, about.st_ino, about.st_mode)
            known = self._known.get(path)
            if known is not None and known[0] == key:
                if path in old_texts:
                    self._keep(path, old_texts[path])
                return known
            return key, self._hash(path, place, bool(about.st_mode & 0o100))
        except OSError:
            return None  # it went away, or may not be read

    def _hash(self, path: str, place: str, runs: bool) -> str:
        digest = hashlib.blake2b(digest_size=8)
        descriptor = os.open(place, _FLAGS)
        first = b""
        try:
            while block := os.read(descriptor, 1 << 20):
                first = first or block
                digest.update(block)
        finally:
            os.close(descriptor)
        if len(first) <= _MOST_TEXT:
            with contextlib.suppress(UnicodeDecodeError):
                self._keep(path, first.decode())
        return digest.hexdigest() + (" x" if runs else "")

    def _keep(self, path: str, text: str) -> None:
        if len(text) <= self._room:
            self._room -= len(text)
            self._texts[path] = text


def _changes(
    before: dict[str, str], now: dict[str, str], old: dict[str, str], new: dict[str, str]
) -> dict[str, str]:
    """Return path -> ``added``, ``gone`` or ``changed``, and a diff as far as there is room."""
    paths = sorted({*before, *now})
    changed = [path for path in paths if before.get(path) != now.get(path)]
    room = _MOST_DIFFS
    changes: dict[str, str] = {}
    for path in changed[:_MOST_CHANGES]:
        word = "gone" if path not in now else "changed" if path in before else "added"
        has_texts = (path not in before or path in old) and (path not in now or path in new)
        told = _diff(old.get(path, ""), new.get(path, "")) if has_texts and room > 0 else ""
        room -= len(told)
        changes[path] = f"{word}\n{told}" if told else word
    if len(changed) > _MOST_CHANGES:
        changes["..."] = f"{len(changed) - _MOST_CHANGES} more paths changed"
    return changes


def _diff(old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm="")
    text = "\n".join(list(lines)[2:])
    return text if len(text) <= _MOST_DIFF else f"{text[:_MOST_DIFF]}\n[and more]"

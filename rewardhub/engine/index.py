"""What a run must look up about rows, kept on disk so that memory stays flat."""

from __future__ import annotations

import sqlite3
import struct
import threading
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from pydantic import TypeAdapter
from typing_extensions import TypedDict

_ROW_BITS = 40
_INSERT = "INSERT OR IGNORE INTO seen VALUES (?)"
_INSERT_ALL = "INSERT OR IGNORE INTO seen SELECT value FROM json_each(?)"
_CACHE_KIB = 16_000

IN_MEMORY = 1 << 18
"""As many ids are kept in memory at first: looking them up on disk takes five times as long."""


class RowHead(TypedDict):
    """The fields of a ledger line that say which row it is."""

    id: str
    source: int
    row: int


_HEAD = TypeAdapter(RowHead)


def head_of(line: bytes) -> RowHead:
    """Return which row a ledger line is about."""
    return _HEAD.validate_json(line)


class KeyTable:
    """A set of 64-bit numbers that takes 16 to 32 bytes for each; a set of Python's takes 70.

    Open addressing with linear probing in an array that is at most half full. The numbers are
    hashes already, so their lowest bits say where each one belongs.
    """

    def __init__(self) -> None:
        self._slots = array("q", bytes(8 << 12))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[int]:
        return (key for key in self._slots if key)

    def has_none_of(self, keys: Iterable[int]) -> bool:
        """Whether none of the numbers is here."""
        slots = self._slots
        mask = len(slots) - 1
        for key in keys:
            place = key & mask
            while there := slots[place]:
                if there == key:
                    return False
                place = (place + 1) & mask
        return True

    def add(self, keys: Sequence[int]) -> None:
        """Take in numbers that are not here yet, each once. 0 is left out: it marks a free slot."""
        self._count += len(keys)
        while len(self._slots) < 2 * self._count:
            larger = array("q", bytes(16 * len(self._slots)))
            _fill(larger, self)
            self._slots = larger
        _fill(self._slots, keys)


def _fill(slots: array[int], keys: Iterable[int]) -> None:
    mask = len(slots) - 1
    for key in keys:
        place = key & mask
        while slots[place]:
            place = (place + 1) & mask
        slots[place] = key


class RowIndex:
    """Ids that were seen, rows that are done, and where the previous ledger has a row.

    A temporary file of SQLite's own, which is gone when it is closed.
    """

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        settings = ("journal_mode=MEMORY", "synchronous=OFF", "locking_mode=EXCLUSIVE")
        for pragma in (*settings, f"cache_size=-{_CACHE_KIB}"):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.execute("CREATE TABLE seen (id INTEGER PRIMARY KEY)")
        self._database.execute("CREATE TABLE done (row INTEGER PRIMARY KEY)")
        self._database.execute("CREATE TABLE before (row INTEGER PRIMARY KEY, place INTEGER)")
        self._database.execute("CREATE TABLE members (name TEXT PRIMARY KEY, n INTEGER)")
        self._lock = threading.Lock()
        self._seen: KeyTable | None = KeyTable()  # None once they are on disk
        self.any_done = False
        self.has_previous = False
        self._previous: BinaryIO | None = None

    def close(self) -> None:
        """Delete the index."""
        self._database.close()
        if self._previous is not None:
            self._previous.close()

    def new_ids(self, hashes: Sequence[bytes]) -> list[bool]:
        """Note ids by their 8-byte hashes; return for each whether it was new."""
        if self.all_new(b"".join(hashes)):
            return [True] * len(hashes)
        keys = [(int.from_bytes(each, "little", signed=True),) for each in hashes]
        return [self._database.execute(_INSERT, key).rowcount == 1 for key in keys]

    def all_new(self, hashes: bytes) -> bool:
        """Note ids by their hashes, 8 bytes each, if all of them are new; return whether."""
        keys = struct.unpack(f"<{len(hashes) // 8}q", hashes)
        if self._seen is not None:
            all_new = len(set(keys)) == len(keys) and self._seen.has_none_of(keys)
            if all_new:
                self._seen.add(keys)
            if not all_new or len(self._seen) > IN_MEMORY:
                self._move_to_disk(self._seen)
            return all_new
        before = self._database.total_changes
        self._database.execute("BEGIN")
        # One statement for all of them: half the time of one for each.
        self._database.execute(_INSERT_ALL, (str(list(keys)),))
        all_new = self._database.total_changes - before == len(keys)
        self._database.execute("COMMIT" if all_new else "ROLLBACK")
        return all_new

    def _move_to_disk(self, seen: KeyTable) -> None:
        self._database.execute("BEGIN")
        self._database.executemany(_INSERT, ((key,) for key in seen))
        self._database.execute("COMMIT")
        self._seen = None

    def note_done(self, rows: Iterable[tuple[int, int]]) -> None:
        """Note rows (source, row) that the ledger has already."""
        keys = [(source << _ROW_BITS | row,) for source, row in rows]
        self._database.execute("BEGIN")
        self._database.executemany("INSERT OR IGNORE INTO done VALUES (?)", keys)
        self._database.execute("COMMIT")
        self.any_done = self.any_done or bool(keys)

    def is_done(self, source: int, row: int) -> bool:
        """Whether the ledger has this row already."""
        if not self.any_done:
            return False
        key = (source << _ROW_BITS | row,)
        return (
            self._database.execute("SELECT 1 FROM done WHERE row = ?", key).fetchone() is not None
        )

    def count_members(self, names: Iterable[str]) -> None:
        """Count members of groups, each by the name of its group."""
        self._database.execute("BEGIN")
        self._database.executemany(
            "INSERT INTO members VALUES (?, 1) ON CONFLICT DO UPDATE SET n = n + 1",
            ((name,) for name in names),
        )
        self._database.execute("COMMIT")

    def members(self, name: str) -> int | None:
        """Return how many members a group has, if they were counted. From any thread."""
        query = "SELECT n FROM members WHERE name = ?"
        with self._lock:
            found = self._database.execute(query, (name,)).fetchone()
        return found[0] if found else None

    def note_previous(self, ledger: Path, sources: dict[int, int]) -> None:
        """Note where each row of a previous ledger stands.

        Args:
            ledger: the file.
            sources: index of an input file then -> its index now.
        """
        self._previous = ledger.open("rb")
        self.has_previous = True
        place = 0
        self._database.execute("BEGIN")
        for line in self._previous:
            if not line.endswith(b"\n"):
                break  # torn: that run was killed
            head = head_of(line)
            source = sources.get(head["source"])
            if source is not None:
                key = source << _ROW_BITS | head["row"]
                self._database.execute("INSERT OR REPLACE INTO before VALUES (?, ?)", (key, place))
            place += len(line)
        self._database.execute("COMMIT")

    def previous(self, source: int, row: int) -> bytes:
        """Return the line that the previous ledger has for a row, or nothing."""
        if self._previous is None:
            return b""
        key = (source << _ROW_BITS | row,)
        found = self._database.execute("SELECT place FROM before WHERE row = ?", key).fetchone()
        if found is None:
            return b""
        self._previous.seek(found[0])
        return self._previous.readline()

"""A place on disk for rows that are not wanted yet, so that memory stays flat."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Self

_CACHE_KIB = 16_000


class Shelf:
    """Bytes by name, in a temporary file of SQLite's own that is gone when it is closed.

    Names come out in the order in which each was first put, and what was put under one name in
    the order in which it was put there.
    """

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        settings = ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE")
        for pragma in (*settings, f"cache_size=-{_CACHE_KIB}"):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.execute("CREATE TABLE names (place INTEGER PRIMARY KEY, name TEXT UNIQUE)")
        self._database.execute(
            "CREATE TABLE items (id INTEGER PRIMARY KEY, place INTEGER, data BLOB, more BLOB)"
        )
        self._database.execute("CREATE INDEX places ON items (place)")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def put(self, name: str, data: bytes, more: bytes = b"") -> None:
        """Put two pieces of bytes behind what is there under ``name``."""
        self._database.execute("INSERT OR IGNORE INTO names (name) VALUES (?)", (name,))
        self._database.execute(
            "INSERT INTO items (place, data, more) "
            "VALUES ((SELECT place FROM names WHERE name = ?), ?, ?)",
            (name, data, more),
        )

    def get(self, name: str) -> bytes | None:
        """Return what was put first under ``name``, or None."""
        query = (
            "SELECT data FROM items WHERE place = (SELECT place FROM names WHERE name = ?) "
            "ORDER BY id LIMIT 1"
        )
        found = self._database.execute(query, (name,)).fetchone()
        return found[0] if found else None

    def take(self, name: str) -> bytes | None:
        """Return what was put under ``name`` and let go of it, or None."""
        found = self.get(name)
        if found is not None:
            query = "DELETE FROM items WHERE place = (SELECT place FROM names WHERE name = ?)"
            self._database.execute(query, (name,))
            self._database.execute("DELETE FROM names WHERE name = ?", (name,))
        return found

    def names(self) -> Iterator[tuple[str, list[tuple[bytes, bytes]]]]:
        """Yield each name with all that was put under it."""
        for place, name in self._database.execute("SELECT place, name FROM names ORDER BY place"):
            query = "SELECT data, more FROM items WHERE place = ? ORDER BY id"
            yield name, self._database.execute(query, (place,)).fetchall()

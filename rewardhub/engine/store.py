"""What is kept between runs and processes: bytes by key, in one SQLite file for each kind.

A key covers all that a value depends on, so an entry never goes stale; there is nothing to
invalidate. A file may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

BUSY_SECONDS = 30.0
"""How long one process waits for another that is writing."""


def cache_folder() -> Path:
    """Return where caches lie: ``REWARDHUB_CACHE``, else the user's cache folder."""
    if folder := os.environ.get("REWARDHUB_CACHE"):
        return Path(folder)
    import platformdirs

    return Path(platformdirs.user_cache_dir("rewardhub"))


class Store:
    """Bytes by key. Safe with several threads and processes.

    A file that is no database, or is damaged, is set aside with a message, and a new one begun: a
    cache may forget, but it never crashes a run.

    Args:
        path: the file.
        what: what is kept, in the singular: ``score``.
    """

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        self._what = what
        table = f"{what}s"
        self._schema = (
            f"CREATE TABLE IF NOT EXISTS {table} "
            f"(key TEXT PRIMARY KEY, {what} BLOB NOT NULL, made REAL NOT NULL) WITHOUT ROWID"
        )
        self._select = f"SELECT {what} FROM {table} WHERE key = ?"  # noqa: S608  # names are ours
        self._insert = f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)"  # noqa: S608
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._off = False

    def get(self, key: str) -> bytes | None:
        """Return what is kept under ``key``, or None."""
        rows = self._run(self._select, (key,))
        return bytes(rows[0][0]) if rows else None

    def put(self, key: str, value: bytes) -> None:
        """Keep ``value``."""
        self._run(self._insert, (key, value, time.time()))

    def set_aside(self, why: str) -> None:
        """Move the file out of the way; a new one begins."""
        with self._lock:
            self._move(why)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _run(self, statement: str, parameters: tuple[Any, ...]) -> list[Any]:
        if self._off:
            return []
        with self._lock:
            try:
                return self._open().execute(statement, parameters).fetchall()
            except (sqlite3.OperationalError, OSError) as error:
                # Busy, read-only or full: the value is made again instead.
                log.warning("the %s cache %s is not usable: %s", self._what, self.path, error)
                self._off = "locked" not in str(error)
            except sqlite3.DatabaseError as error:
                self._move(str(error))
        return []

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, check_same_thread=False, isolation_level=None
            )
            try:
                _set_up(connection, self._schema)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _move(self, why: str) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None
        aside = self.path.with_suffix(f".broken-{time.time_ns()}")
        try:
            with contextlib.suppress(FileNotFoundError):  # another process was quicker
                self.path.rename(aside)
            for extra in ("-wal", "-shm"):
                self.path.with_name(self.path.name + extra).unlink(missing_ok=True)
        except OSError as error:
            log.warning(
                "the %s cache %s is broken (%s) and stays: %s", self._what, self.path, why, error
            )
            self._off = True
            return
        log.warning(
            "the %s cache is set aside as %s (%s); a new one begins", self._what, aside, why
        )


def _set_up(connection: sqlite3.Connection, schema: str) -> None:
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:
            # SQLite itself does not wait here for another process that begins the same file.
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute(schema)

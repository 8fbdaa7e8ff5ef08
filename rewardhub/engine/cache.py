"""The cache of dear Scores, shared between runs and processes: one SQLite file.

A key covers the grader's identity, what it read, and the identity of its resources, so an entry
never goes stale; there is nothing to invalidate. The cache may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rewardhub.contracts import Resource, values_of
from rewardhub.engine.resources import identities
from rewardhub.errors import RecordError
from rewardhub.records import Score, Trajectory, digest_of, read_score, write_record
from rewardhub.spec.model import Entry

log = logging.getLogger(__name__)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS scores (
    key TEXT PRIMARY KEY, score BLOB NOT NULL, made REAL NOT NULL
) WITHOUT ROWID
"""


BUSY_SECONDS = 30.0
"""How long one process waits for another that is writing."""


def default_path() -> Path:
    """Return where the cache lies: ``REWARDHUB_CACHE``, else the user's cache folder."""
    if folder := os.environ.get("REWARDHUB_CACHE"):
        return Path(folder) / "scores.sqlite"
    import platformdirs

    return Path(platformdirs.user_cache_dir("rewardhub")) / "scores.sqlite"


def is_cacheable(entry: Entry) -> bool:
    """Whether Scores of this entry may be kept: equal input must give an equal Score."""
    return entry.card.deterministic


def key_of(
    entry: Entry, trajectories: tuple[Trajectory, ...], resources: Mapping[str, Resource]
) -> str:
    """Return the key of the entry's Score of ``trajectories`` (one, or a group in order)."""
    return digest_of(
        [
            entry.identity,
            [values_of(entry.card.all_reads, trajectory) for trajectory in trajectories],
            identities(resources),
        ]
    )


class Cache:
    """Scores by key. Safe with several threads and processes.

    A file that is no database, or is damaged, is set aside with a message, and a new one begun:
    a cache may forget, but it never crashes a run and never gives a wrong Score.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = default_path() if path is None else path
        self.hits = 0
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._off = False

    def get(self, key: str) -> Score | None:
        """Return the Score that is kept under ``key``, or None."""
        rows = self._run("SELECT score FROM scores WHERE key = ?", (key,))
        if not rows:
            return None
        try:
            score = read_score(rows[0][0])
        except RecordError:
            self._set_aside("holds what is no Score")
            return None
        self.hits += 1
        return score

    def put(self, key: str, score: Score) -> None:
        """Keep a Score; failed ones are never kept."""
        if score.status == "failed":
            return
        self._run(
            "INSERT OR REPLACE INTO scores VALUES (?, ?, ?)",
            (key, write_record(score), time.time()),
        )

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
                connection = self._open()
                rows = connection.execute(statement, parameters).fetchall()
                connection.commit()
            except (sqlite3.OperationalError, OSError) as error:
                # Busy, read-only or full: the Score is graded instead.
                log.warning("the score cache %s is not usable: %s", self.path, error)
                self._off = "locked" not in str(error)
                return []
            except sqlite3.DatabaseError as error:
                self._move(str(error))
                return []
        return rows

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, check_same_thread=False)
            try:
                _set_up(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _set_aside(self, why: str) -> None:
        with self._lock:
            self._move(why)

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
            log.warning("the score cache %s is broken (%s) and stays: %s", self.path, why, error)
            self._off = True
            return
        log.warning("the score cache is set aside as %s (%s); a new one begins", aside, why)


def _set_up(connection: sqlite3.Connection) -> None:
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
    connection.execute(_SCHEMA)

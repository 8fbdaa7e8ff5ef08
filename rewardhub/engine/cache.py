"""The cache of dear Scores, shared between runs and processes.

A key covers the grader's identity, what it read, and the identity of its resources.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rewardhub.contracts import Resource, values_of
from rewardhub.engine.resources import identities
from rewardhub.engine.store import Store, cache_folder
from rewardhub.errors import RecordError
from rewardhub.records import Score, Trajectory, digest_of, read_score, write_record
from rewardhub.spec.model import Entry


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

    It may forget, but it never crashes a run and never gives a wrong Score.

    Args:
        path: the file; None: ``scores.sqlite`` in the folder of caches.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = cache_folder() / "scores.sqlite" if path is None else path
        self.hits = 0
        self._store = Store(self.path, "score")

    def get(self, key: str) -> Score | None:
        """Return the Score that is kept under ``key``, or None."""
        data = self._store.get(key)
        if data is None:
            return None
        try:
            score = read_score(data)
        except RecordError:
            self._store.set_aside("holds what is no Score")
            return None
        self.hits += 1
        return score

    def put(self, key: str, score: Score) -> None:
        """Keep a Score; failed ones are never kept."""
        if score.status != "failed":
            self._store.put(key, write_record(score))

    def close(self) -> None:
        """Close the file."""
        self._store.close()

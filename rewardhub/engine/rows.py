"""One row on its way through a run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from rewardhub.compose import Course
from rewardhub.contracts import RawRow
from rewardhub.engine import wire
from rewardhub.engine.graders import course_of
from rewardhub.records import (
    SCHEMA_VERSION,
    Reward,
    Score,
    Trajectory,
    read_score,
    read_trajectory,
    write_record,
)
from rewardhub.records.base import dump_json
from rewardhub.spec.model import RewardSpec, Spec


@dataclass(slots=True)
class Cell:
    """One row: its bytes, then what became of it.

    Attributes:
        number: its place in the file, from 1.
        data: its bytes; let go once it is written.
        failure: why it is no trajectory.
        identity: 8 bytes that stand for its id.
        line: its line of the ledger, once it has a Reward.
        reward: the Reward, where it was made in this process.
        trajectory: where somebody needs it after it was graded.
        known: ids of the parts whose Scores an earlier ledger had.
        counted: whether a chunk's Tally counts it already.
    """

    number: int
    data: bytes
    failure: str | None = None
    identity: bytes = b""
    line: bytes | None = None
    reward: Reward | None = None
    trajectory: Trajectory | None = None
    known: Container[str] = ()
    counted: bool = False

    @property
    def ready(self) -> bool:
        """Whether it can be written."""
        return self.line is not None or self.failure is not None

    @property
    def entered(self) -> bool:
        """Whether it is known what it is: bad, done, or on its way."""
        return bool(self.failure is not None or self.identity)


@dataclass(slots=True)
class Pending:
    """A trajectory that a worker could not finish by itself."""

    trajectory: Trajectory
    course: Course | Reward
    digest: str
    known: Mapping[str, Score] = field(default_factory=dict)

    @classmethod
    def new(cls, reward: RewardSpec, trajectory: Trajectory, data: bytes) -> Self:
        """Return a trajectory that nothing was graded of yet."""
        return cls(trajectory, course_of(reward, trajectory), row_digest(data))


def pending_of(reward: RewardSpec, body: bytes, then: Mapping[str, Any]) -> Pending:
    """Return the pending trajectory that a worker sent."""
    digest, data, standings, known = wire.unpack(body)
    trajectory = read_trajectory(data)
    course = course_of(reward, trajectory)
    scores: Mapping[str, Score] = {}
    if isinstance(course, Course):
        course.standings.update(wire.standings_from_bytes(standings))
        scores = reusable(known, digest.decode(), then, course.spec) if known else {}
    return Pending(trajectory, course, digest.decode(), scores)


def row_digest(data: bytes) -> str:
    """Return the digest of a row's bytes: a changed row is graded anew."""
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def reusable(known: bytes, digest: str, then: Mapping[str, Any], spec: Spec) -> dict[str, Score]:
    """Return the Scores of an earlier ledger line that still hold, by part id.

    Args:
        known: the line.
        digest: of the row as it stands now; a row that changed has no known Scores.
        then: spec digest -> part id -> identity, of the earlier run.
        spec: the spec now. Failed Scores, and those that compare a group, are made anew.
    """
    fields = wire.from_bytes(known)
    if fields.get("digest") != digest:
        return {}
    reward = fields["reward"]
    identities = then.get(reward["spec"]["digest"], {})
    scores = {
        identities[part["id"]]: part["score"]
        for part in reward["parts"]
        if part["score"] and part["score"]["status"] != "failed" and part["id"] in identities
    }
    return {
        entry.id: read_score(dump_json(scores[entry.identity]))
        for entry in spec.entries
        if entry.identity in scores and entry.card.signature.shape != "grade_group"
    }


@dataclass(slots=True)
class Work:
    """One row on its way through this process.

    ``trajectory`` is there unless there is an ``error``; ``course`` unless the reward is known.
    """

    row: RawRow
    known: bytes
    trajectory: Trajectory = field(init=False)
    error: str | None = None
    course: Course | None = None
    reward: Reward | None = None
    scores: Mapping[str, Score] | None = None


def id_hash(identity: str) -> bytes:
    """Return 8 bytes that stand for an id when duplicates are looked for."""
    return hashlib.blake2b(identity.encode("utf-8", "replace"), digest_size=8).digest()


_quoted = json.encoder.encode_basestring
"""Text as JSON, with nothing escaped that UTF-8 can hold."""


def ledger_line(
    trajectory: Trajectory, reward: Reward, source: int, row: int, digest: str
) -> bytes:
    """Return the ledger's line for one trajectory."""
    task = trajectory.task
    head = (  # as `dump_json` would write it, in less than half of the time
        f'{{"schema_version":{SCHEMA_VERSION},"id":{_quoted(trajectory.id)},'
        f'"task":{_quoted(task.id)},"group":{_quoted(trajectory.group)},'
        f'"domain":{_quoted(task.domain)},"source":{source},"row":{row},"digest":"{digest}",'
        f'"status":"{trajectory.status}","steps":{len(trajectory.steps)}'
    )
    return b'%s,"reward":%s}\n' % (_encoded(head), write_record(reward))


def _encoded(text: str) -> bytes:
    """Return UTF-8; half of a surrogate pair becomes U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()

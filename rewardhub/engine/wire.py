"""What crosses between a run and its workers: bytes, in frames of several blobs."""

from __future__ import annotations

import itertools
import json
import struct
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic_core import from_json

from rewardhub.compose import Skipped, Standing
from rewardhub.records import dump_json, read_score
from rewardhub.records.reward import write_record

_COUNT = struct.Struct("<I")


def pack(blobs: Iterable[bytes]) -> bytes:
    """Return ``blobs`` as one frame: how many, how long each, then all of them."""
    pieces = tuple(blobs)
    lengths = struct.pack(f"<{len(pieces)}I", *map(len, pieces))
    return b"".join((_COUNT.pack(len(pieces)), lengths, *pieces))


def unpack(frame: bytes) -> list[bytes]:
    """Return the blobs of a frame."""
    (count,) = _COUNT.unpack_from(frame)
    lengths = struct.unpack_from(f"<{count}I", frame, _COUNT.size)
    ends = list(itertools.accumulate(lengths, initial=_COUNT.size * (count + 1)))
    return [frame[start:end] for start, end in itertools.pairwise(ends)]


def to_bytes(value: Any) -> bytes:
    """Return a JSON value as bytes."""
    return dump_json(value)


def from_bytes(data: bytes) -> Any:
    """Return the JSON value in ``data``."""
    return from_json(data) if data else None


def standings_to_bytes(standings: Mapping[str, Standing]) -> bytes:
    """Return what became of the parts so far, as JSON."""
    return b"{%s}" % b",".join(
        b"%s:%s" % (json.dumps(part).encode(), _standing_to_bytes(standing))
        for part, standing in standings.items()
    )


def _standing_to_bytes(standing: Standing) -> bytes:
    if isinstance(standing, Skipped):
        return b'{"skipped":%s}' % dump_json(standing.reason)
    return write_record(standing)


def standings_from_bytes(data: bytes) -> dict[str, Standing]:
    """Return the standings that `standings_to_bytes` wrote."""
    return {
        part: Skipped(fields["skipped"]) if "skipped" in fields else read_score(json.dumps(fields))
        for part, fields in json.loads(data).items()
    }

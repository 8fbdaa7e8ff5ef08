"""The built-in writers: a ledger as JSON lines, compressed or not, or as Parquet."""

from __future__ import annotations

import gzip
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, BinaryIO

from rewardhub.builtin.formats.opening import parquet_modules, zstd_module
from rewardhub.contracts import Writer
from rewardhub.records import dump_json

_GROUP_ROWS = 4096
_GROUP_BYTES = 32 * 1024 * 1024

_OF_ROW = ("id", "task", "group", "domain", "source", "row", "digest", "status", "steps")
_OF_REWARD = (
    "value", "success", "fault", "reason", "decided_by", "unplaced", "step_rewards", "span_rewards",
)  # fmt: skip

Row = Mapping[str, Any]


class JsonLinesWriter(Writer):
    """Writes one JSON object per line, in UTF-8."""

    def write(self, rows: Iterable[Row], stream: BinaryIO) -> None:
        """Write ``rows`` to ``stream``."""
        with self._packed(stream) as packed:
            for row in rows:
                packed.write(dump_json(row) + b"\n")

    def _packed(self, stream: BinaryIO) -> AbstractContextManager[BinaryIO]:
        return nullcontext(stream)


class GzipLinesWriter(JsonLinesWriter):
    """Writes JSON lines, compressed with gzip; equal rows make equal files."""

    def _packed(self, stream: BinaryIO) -> AbstractContextManager[Any]:
        return gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0)


class ZstdLinesWriter(JsonLinesWriter):
    """Writes JSON lines, compressed with zstd."""

    @contextmanager
    def _packed(self, stream: BinaryIO) -> Generator[Any, None, None]:
        with zstd_module().ZstdFile(stream, "wb") as packed:
            packed.write(b"")  # begins the frame, so that a file without rows is zstd, too
            yield packed


class ParquetWriter(Writer):
    """Writes one Parquet row per ledger row, with the same columns for every spec.

    Columns: what the row says (id, task, group, domain, source, row, digest, status, steps), what
    its Reward says (value, success, scored, fault, reason, decided_by, unplaced, step_rewards,
    span_rewards, spec, spec_version, spec_digest), and ``parts``, a list with a struct for each
    Part (id, stage, weight, status, value, contribution, fault, reason, and score: the whole
    Score as JSON text, null when skipped). Holds one row group in memory.
    """

    def write(self, rows: Iterable[Row], stream: BinaryIO) -> None:
        """Write ``rows`` to ``stream``."""
        pyarrow, parquet = parquet_modules()
        schema = _schema(pyarrow)
        with parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
            for group in _groups(rows):
                writer.write_table(pyarrow.Table.from_pylist(group, schema=schema))


def _schema(pyarrow: Any) -> Any:
    text, number, whole = pyarrow.string(), pyarrow.float64(), pyarrow.int64()
    part = {
        "id": text, "stage": text, "weight": number, "status": text, "value": number,
        "contribution": number, "fault": text, "reason": text, "score": text,
    }  # fmt: skip
    span = {"step": whole, "start": whole, "end": whole, "value": number, "field": text}
    columns = {
        "id": text, "task": text, "group": text, "domain": text, "source": whole, "row": whole,
        "digest": text, "status": text, "steps": whole,
        "value": number, "success": pyarrow.bool_(), "scored": pyarrow.bool_(),
        "fault": text, "reason": text, "decided_by": text, "unplaced": number,
        "step_rewards": pyarrow.list_(number),
        "span_rewards": pyarrow.list_(pyarrow.struct(span)),
        "parts": pyarrow.list_(pyarrow.struct(part)),
        "spec": text, "spec_version": text, "spec_digest": text,
    }  # fmt: skip
    return pyarrow.schema(columns)


def _groups(rows: Iterable[Row]) -> Iterator[list[dict[str, Any]]]:
    group: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        flat = _flat(row)
        group.append(flat)
        size += sum(len(part["score"] or "") for part in flat["parts"])
        if len(group) >= _GROUP_ROWS or size >= _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _flat(row: Row) -> dict[str, Any]:
    reward = row["reward"]
    spec = reward.get("spec", {})
    return {
        **{name: row.get(name) for name in _OF_ROW},
        **{name: reward.get(name) for name in _OF_REWARD},
        "scored": reward.get("value") is not None,
        "parts": [_flat_part(part) for part in reward.get("parts", ())],
        "spec": spec.get("name"),
        "spec_version": spec.get("version"),
        "spec_digest": spec.get("digest"),
    }


def _flat_part(part: Row) -> dict[str, Any]:
    score = part.get("score")
    known = score or {"status": "skipped", "reason": part.get("reason")}
    return {
        "id": part["id"],
        "stage": part["stage"],
        "weight": part.get("weight"),
        "contribution": part.get("contribution"),
        **{name: known.get(name) for name in ("status", "value", "fault", "reason")},
        "score": dump_json(score).decode() if score else None,
    }

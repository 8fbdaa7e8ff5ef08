"""Writers for other programs: a flat table of parts, and Harbor's reward file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, BinaryIO

from rewardhub.builtin.formats.opening import parquet_modules
from rewardhub.contracts import Writer
from rewardhub.records import dump_json

_GROUP_ROWS = 16_384

_OF_ROW = ("id", "task", "domain", "group", "source", "row")
_OF_SCORE = ("status", "value", "fault", "reason", "grader", "seconds", "cost")

Row = Mapping[str, Any]


class PartsWriter(Writer):
    """Writes one Parquet row for each part of each reward: a flat table for analysis.

    Columns: of the trajectory id, task, domain, group, source and row; of the part stage, part,
    grader, status, value, weight, contribution, fault, reason, seconds and cost; of the whole
    reward, success, decided_by, spec, spec_version and spec_digest. A skipped part has the status
    ``skipped`` and no grader. A reward without parts (a broken trajectory) is one row whose part
    is null, with the reward's own fault and reason: so no trajectory is missing from the table.
    Holds one row group in memory.
    """

    def write(self, rows: Iterable[Row], stream: BinaryIO) -> None:
        """Write ``rows`` to ``stream``."""
        pyarrow, parquet = parquet_modules()
        schema = _schema(pyarrow)
        flat = chain.from_iterable(map(_parts_of, rows))
        with parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
            for group in _groups(flat):
                writer.write_table(pyarrow.Table.from_pylist(group, schema=schema))


def _groups(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    return iter(lambda: list(islice(rows, _GROUP_ROWS)), [])


def _schema(pyarrow: Any) -> Any:
    text, number, whole = pyarrow.string(), pyarrow.float64(), pyarrow.int64()
    columns = {
        "id": text, "task": text, "domain": text, "group": text, "source": whole, "row": whole,
        "stage": text, "part": text, "grader": text, "status": text, "value": number,
        "weight": number, "contribution": number, "fault": text, "reason": text,
        "seconds": number, "cost": number, "reward": number, "success": pyarrow.bool_(),
        "decided_by": text, "spec": text, "spec_version": text, "spec_digest": text,
    }  # fmt: skip
    return pyarrow.schema(columns)


def _parts_of(row: Row) -> Iterator[dict[str, Any]]:
    reward = row["reward"]
    spec = reward.get("spec", {})
    shared = {
        **{name: row.get(name) for name in _OF_ROW},
        "reward": reward.get("value"),
        "success": reward.get("success"),
        "decided_by": reward.get("decided_by"),
        "spec": spec.get("name"),
        "spec_version": spec.get("version"),
        "spec_digest": spec.get("digest"),
    }
    parts = reward.get("parts", ())
    for part in parts:
        known = part.get("score") or {"status": "skipped", "reason": part.get("reason")}
        yield {
            **shared,
            **{name: known.get(name) for name in _OF_SCORE},
            **{name: part.get(name) for name in ("stage", "weight", "contribution")},
            "part": part["id"],
        }
    if not parts:
        yield {**shared, "fault": reward.get("fault"), "reason": reward.get("reason")}


class RewardJsonWriter(Writer):
    """Writes ``reward.json``, the file that a verifier of Harbor leaves: names and numbers.

    ``reward`` is the reward, ``success`` 1 or 0, ``STAGE/PART`` the value of each graded part.
    What has no number has no name there: an unscored reward is absent and never 0, and Harbor
    then says that the verifier gave no reward. With one trajectory the file is that object; with
    several it is an object of such objects by the trajectories' ids.
    """

    def write(self, rows: Iterable[Row], stream: BinaryIO) -> None:
        """Write ``rows`` to ``stream``."""
        upcoming = iter(rows)
        first, second = next(upcoming, None), next(upcoming, None)
        if second is None:
            stream.write(dump_json({} if first is None else _numbers(first)) + b"\n")
            return
        opened = b"{"
        for row in chain((first, second), upcoming):
            assert row is not None
            stream.write(opened + dump_json(row["id"]) + b":" + dump_json(_numbers(row)))
            opened = b",\n"
        stream.write(b"}\n")


def _numbers(row: Row) -> dict[str, float]:
    reward = row["reward"]
    found: dict[str, Any] = {"reward": reward.get("value"), "success": reward.get("success")}
    for part in reward.get("parts", ()):
        score = part.get("score") or {}
        found[f"{part['stage']}/{part['id']}"] = score.get("value")
    return {
        name: int(value) if isinstance(value, bool) else value
        for name, value in found.items()
        if value is not None
    }

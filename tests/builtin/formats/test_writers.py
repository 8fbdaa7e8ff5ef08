import gzip
import io
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from rewardhub.builtin.formats import writer_cards, writers
from rewardhub.builtin.formats.opening import zstd_module
from rewardhub.builtin.formats.writers import ParquetWriter
from rewardhub.contracts import Writer
from rewardhub.records import Part, Reward, Score, SpanReward, SpecInfo, write_record
from rewardhub.testing import WriterContract

SCORE = Score.of(1, "all 3 pass", evidence={"passed": 3}).signed("code/unit-tests", 0.5)
SCORED = Reward(
    0.75,
    True,
    reason="tests decide",
    step_rewards=(0.25, 0.5),
    span_rewards=(SpanReward(1, 0, 4, 0.5),),
    unplaced=0.25,
    parts=(
        Part("tests", "outcome", 1.0, SCORE, 0.75),
        Part("style", "outcome", 0.3, None, 0.0, "its condition is false"),
    ),
    spec=SpecInfo("code/staged", "1", "d1"),
)
UNSCORED = Reward.unscored("grader", "the grader raised")


def row(row_id: str, reward: Reward) -> dict[str, Any]:
    return {
        "schema_version": 1, "id": row_id, "task": "t", "group": "g", "domain": "code",
        "source": 0, "row": 7, "digest": "d0", "status": "completed", "steps": 2,
        "reward": json.loads(write_record(reward)),
    }  # fmt: skip


ROWS = [row("a", SCORED), row("b", UNSCORED)]


def written(writer: Writer, rows: Any = ROWS) -> bytes:
    stream = io.BytesIO()
    writer.write(rows, stream)
    return stream.getvalue()


def table(data: bytes) -> Any:
    parquet = pytest.importorskip("pyarrow.parquet")
    return parquet.read_table(io.BytesIO(data))


CARDS = {each.name: each for each in writer_cards()}


class _OfLines(WriterContract):
    def unpack(self, data: bytes) -> bytes:
        return data

    def read_back(self, data: bytes) -> list[Any]:
        return [json.loads(line) for line in self.unpack(data).splitlines()]

    def kept(self, row: Mapping[str, Any]) -> Any:
        return row


class TestJsonLines(_OfLines):
    card = CARDS["jsonl"]


class TestGzip(_OfLines):
    card = CARDS["jsonl-gzip"]

    def unpack(self, data: bytes) -> bytes:
        return gzip.decompress(data)


class TestZstd(_OfLines):
    card = CARDS["jsonl-zstd"]

    def unpack(self, data: bytes) -> bytes:
        unpacked: bytes = zstd_module().decompress(data)
        return unpacked


class TestParquet(WriterContract):
    card = CARDS["parquet"]

    def read_back(self, data: bytes) -> list[Any]:
        rows: list[Any] = table(data).to_pylist()
        return [(row["id"], row["value"], _scores(row["parts"])) for row in rows]

    def kept(self, row: Mapping[str, Any]) -> Any:
        reward = row["reward"]
        scores = [part.get("score") for part in reward["parts"]]
        return (row["id"], reward.get("value"), scores)


def _scores(parts: list[Any]) -> list[Any]:
    return [part["score"] and json.loads(part["score"]) for part in parts]


def test_parquet_has_a_column_for_what_a_row_says() -> None:
    scored, unscored = table(written(ParquetWriter())).to_pylist()
    parts = scored.pop("parts")
    assert scored == {
        "id": "a", "task": "t", "group": "g", "domain": "code", "source": 0, "row": 7,
        "digest": "d0", "status": "completed", "steps": 2, "value": 0.75,
        "success": True, "scored": True, "fault": None, "reason": "tests decide",
        "decided_by": None, "unplaced": 0.25, "step_rewards": [0.25, 0.5],
        "span_rewards": [{"step": 1, "start": 0, "end": 4, "value": 0.5, "field": "text"}],
        "spec": "code/staged", "spec_version": "1", "spec_digest": "d1",
    }  # fmt: skip
    assert (unscored["value"], unscored["scored"], unscored["fault"]) == (None, False, "grader")
    assert [part["id"] for part in parts] == ["tests", "style"]


def test_parquet_has_a_struct_for_each_part() -> None:
    tests, style = table(written(ParquetWriter())).to_pylist()[0]["parts"]
    assert json.loads(tests.pop("score"))["evidence"] == {"passed": 3}
    assert tests == {
        "id": "tests", "stage": "outcome", "weight": 1.0, "status": "graded", "value": 1.0,
        "contribution": 0.75, "fault": None, "reason": "all 3 pass",
    }  # fmt: skip
    assert style == {
        "id": "style", "stage": "outcome", "weight": 0.3, "status": "skipped", "value": None,
        "contribution": 0.0, "fault": None, "reason": "its condition is false", "score": None,
    }  # fmt: skip


def test_parquet_columns_do_not_depend_on_the_rows() -> None:
    some, none = table(written(ParquetWriter())), table(written(ParquetWriter(), []))
    assert none.num_rows == 0
    assert none.schema == some.schema


def test_parquet_is_written_group_by_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "_GROUP_ROWS", 10)
    asked: list[int] = []
    parquet = pytest.importorskip("pyarrow.parquet")

    def rows() -> Iterator[dict[str, Any]]:
        for number in range(25):
            asked.append(number)
            yield row(str(number), SCORED)

    data = written(ParquetWriter(), rows())
    file = parquet.ParquetFile(io.BytesIO(data))
    sizes = [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)]
    assert sizes == [10, 10, 5]
    assert table(data).column("id").to_pylist() == [str(number) for number in range(25)]


def test_large_scores_close_a_group_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "_GROUP_BYTES", 1000)
    large = Part("p", "s", score=Score.of(1, "x" * 600), contribution=1.0)
    reward = Reward(1.0, step_rewards=(1.0,), parts=(large,))
    parquet = pytest.importorskip("pyarrow.parquet")
    data = written(ParquetWriter(), [row(str(number), reward) for number in range(4)])
    assert parquet.ParquetFile(io.BytesIO(data)).num_row_groups == 2


def test_the_built_in_formats_load_no_heavy_library() -> None:
    code = (
        "import sys, rewardhub.host as host; host.registry_of();"
        "print([name for name in ('pyarrow', 'backports.zstd', 'compression.zstd')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

import datetime
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardhub.builtin.formats import cutting
from rewardhub.builtin.formats.cutting import cut
from rewardhub.builtin.formats.values import is_array, is_object
from rewardhub.errors import UsageError

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def write(path: Path, rows: list[dict[str, Any]], schema: Any = None) -> Path:
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), path, row_group_size=100)
    return path


def read(path: Path) -> list[Any]:
    return [row.error or json.loads(row.data) for row in cut(path)]


def without_nulls(value: Any) -> Any:
    if is_object(value):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if is_array(value) else value


MESSAGES = pyarrow.list_(
    pyarrow.struct(
        {
            "role": pyarrow.string(),
            "content": pyarrow.string(),
            "tags": pyarrow.list_(pyarrow.int64()),
            "call": pyarrow.struct({"name": pyarrow.string()}),
        }
    )
)
message = st.fixed_dictionaries(
    {
        "role": st.none() | st.text(max_size=3),
        "content": st.none() | st.text(max_size=3),
        "tags": st.none() | st.lists(st.none() | st.integers(0, 9), max_size=3),
        "call": st.none() | st.fixed_dictionaries({"name": st.none() | st.text(max_size=2)}),
    }
)
rows_of_messages = st.lists(
    st.fixed_dictionaries({"messages": st.none() | st.lists(st.none() | message, max_size=3)}),
    max_size=6,
)


@given(rows_of_messages)
@settings(max_examples=30, deadline=None)
def test_gives_nested_values_back_without_their_nulls(rows: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        schema = pyarrow.schema({"messages": MESSAGES})
        assert read(write(Path(folder) / "rows", rows, schema)) == without_nulls(rows)


def test_reads_across_batches_and_row_groups(tmp_path: Path) -> None:
    rows = [{"id": str(number)} for number in range(1000)]
    path = write(tmp_path / "rows", rows)
    assert read(path) == rows
    assert [row.number for row in cut(path)] == list(range(1, 1001))


def test_keeps_what_json_can_hold_and_spells_the_rest(tmp_path: Path) -> None:
    row = {
        "whole": 1, "number": 0.5, "missing": float("nan"), "truth": True,
        "day": datetime.date(2024, 2, 29), "data": b"\xff\x00",
    }  # fmt: skip
    assert read(write(tmp_path / "rows", [row])) == [
        {"whole": 1, "number": 0.5, "missing": None, "truth": True,
         "day": "2024-02-29", "data": "_wA="},
    ]  # fmt: skip


def test_reads_maps_as_objects(tmp_path: Path) -> None:
    schema = pyarrow.schema({"checks": pyarrow.map_(pyarrow.string(), pyarrow.int64())})
    path = write(tmp_path / "rows", [{"checks": [("a", 1), ("b", 2)]}], schema)
    assert read(path) == [{"checks": {"a": 1, "b": 2}}]


def test_a_text_that_is_not_utf8_costs_its_row_only(tmp_path: Path) -> None:
    texts = pyarrow.array([b"good", b"\xff bad", b"fine"], pyarrow.binary()).view(pyarrow.string())
    parquet.write_table(pyarrow.table({"text": texts}), tmp_path / "rows")
    first, second, third = read(tmp_path / "rows")
    assert (first, third) == ({"text": "good"}, {"text": "fine"})
    assert "not UTF-8" in second


def test_a_row_over_the_limit_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "MAX_ROW_BYTES", 100)
    first, second = read(write(tmp_path / "rows", [{"a": "x" * 200}, {"a": "y"}]))
    assert first == "the row has 208 bytes, and at most 100 are read"
    assert second == {"a": "y"}


def test_reads_the_rows_before_damage(tmp_path: Path) -> None:
    rows = [{"id": f"{number:08d}"} for number in range(1000)]
    path = write(tmp_path / "rows", rows)
    last_group = parquet.ParquetFile(path).metadata.row_group(9).column(0)
    data = bytearray(path.read_bytes())
    start = last_group.dictionary_page_offset or last_group.data_page_offset
    data[start : start + last_group.total_compressed_size] = b"\xff" * (
        last_group.total_compressed_size
    )
    path.write_bytes(bytes(data))
    *before, last = read(path)
    assert before == rows[: len(before)]
    assert "cannot be read any further" in last


def test_refuses_a_file_without_its_footer(tmp_path: Path) -> None:
    path = write(tmp_path / "rows", [{"a": 1}])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UsageError, match="not a readable Parquet file"):
        list(cut(path))


def test_names_the_extra_that_parquet_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "rows", [{"a": 1}])
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(UsageError, match=r"pip install 'rewardhub-core\[parquet\]'"):
        list(cut(path))

"""Cutting arrays, documents and lines into rows."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.builtin.formats.foreign import documents
from rewardhub.builtin.formats.foreign.documents import JsonCutter, cut_documents
from rewardhub.builtin.formats.opening import open_bytes

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def rows(folder: Path, data: bytes) -> list[Any]:
    path = folder / "file"
    path.write_bytes(data)
    return [row.error or json.loads(row.data) for row in cut_documents(path)]


@given(st.lists(VALUES, max_size=6), st.sampled_from([None, 1]))
def test_gives_the_elements_of_any_array(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any], indent: int | None
) -> None:
    data = json.dumps(values, indent=indent).encode()
    assert rows(tmp_path_factory.mktemp("array"), data) == values


@given(st.lists(st.dictionaries(st.text(min_size=1), VALUES, min_size=1), min_size=1, max_size=4))
def test_gives_documents_that_span_lines(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any]
) -> None:
    data = "\n".join(json.dumps(value, indent=2) for value in values).encode()
    assert rows(tmp_path_factory.mktemp("documents"), data) == values


def test_gives_lines(tmp_path: Path) -> None:
    assert rows(tmp_path, b'{"a": 1}\n\n{"a": 2}\n') == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("data", "read"),
    [
        (b'{"a": 1,\n "b": [\n{}\n]}\n{"a": 2}', [{"a": 1, "b": [{}]}, {"a": 2}]),
        (b'\n{"a":\r\n1}', [{"a": 1}]),
    ],
)
def test_gives_documents_however_they_are_laid_out(
    data: bytes, read: list[Any], tmp_path: Path
) -> None:
    assert rows(tmp_path, data) == read


def test_a_broken_first_line_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b'{"a": 1,\n{"a": 2}\n')
    assert [row.data for row in cut_documents(path)] == [b'{"a": 1,\n', b'{"a": 2}\n']


def test_reads_compressed_arrays_with_a_byte_order_mark(tmp_path: Path) -> None:
    assert rows(tmp_path, gzip.compress(b"\xef\xbb\xbf [1, 2]")) == [1, 2]


def test_leaves_what_is_no_json_to_the_parser(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b'[{"a": NaN}, {"b": }, {"c": 1}]')
    assert [row.data for row in cut_documents(path)] == [b'{"a": NaN}', b'{"b": }', b'{"c": 1}']


@pytest.mark.parametrize(
    ("data", "read", "why"),
    [
        (b"[1, 2", [1, 2], "the end of the file stands where `,` or `]` belongs"),
        (b'[{"a": 1}, {"a": "x', [{"a": 1}], "the end of a value"),
        (b"[1 2]", [1], "`2` stands where `,` or `]` belongs"),
        (b"[1, ]", [1], "`]` stands where a value belongs"),
        (b'{\n"a": [1,\n', [], "the end of a value"),
    ],
)
def test_says_where_a_document_breaks_off(
    data: bytes, read: list[Any], why: str, tmp_path: Path
) -> None:
    *good, last = rows(tmp_path, data)
    assert good == read
    assert why in last


def test_keeps_the_rows_before_a_broken_end_of_compressed_data(tmp_path: Path) -> None:
    values = [{"text": str(number) * 50} for number in range(20_000)]
    packed = gzip.compress(json.dumps(values).encode())
    *good, last = rows(tmp_path, packed[: len(packed) // 2])
    assert good == values[: len(good)]
    assert len(good) > 1000
    assert "in the middle of its compressed data" in last


def test_skips_a_row_over_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_ROW_BYTES", 1000)
    monkeypatch.setattr(documents, "_CHUNK_BYTES", 64)
    long = {"texts": ["x" * 200] * 20}
    one, error, two = rows(tmp_path, json.dumps([{"a": 1}, long, {"a": 2}]).encode())
    assert (one, two) == ({"a": 1}, {"a": 2})
    assert "more than 1,000 bytes" in error


def test_stops_at_one_text_over_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_ROW_BYTES", 1000)
    monkeypatch.setattr(documents, "_CHUNK_BYTES", 64)
    one, error = rows(tmp_path, json.dumps([{"a": 1}, {"b": "x" * 5000}, {"a": 2}]).encode())
    assert one == {"a": 1}
    assert "a text of more than 1,000 bytes" in error


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_does_not_depend_on_how_the_bytes_come(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_CHUNK_BYTES", size)
    values = [{"a\\": 'quote " and \\" [x] {'}, -12.5e3, True, "\\\\", [[], {}]]
    assert rows(tmp_path, json.dumps(values).encode()) == values


def test_streams_the_elements_of_one_member(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b'{"a": 1, "rows": [{"rows": [0]}, 2], "b": {"rows": [3]}, "rows2": []}')
    with open_bytes(path) as stream:
        members = list(JsonCutter(stream).members("rows"))
    assert members == [
        ("a", b"1"),
        ("rows", b'{"rows": [0]}'),
        ("rows", b"2"),
        ("b", b'{"rows": [3]}'),
        ("rows2", b"[]"),
    ]


def test_holds_one_row_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as stream:
        stream.write(b"[")
        for _ in range(400):
            stream.write(json.dumps({"text": "x" * 50_000}).encode() + b",\n")
        stream.write(b"0]")
    import tracemalloc

    tracemalloc.start()
    count = sum(1 for _ in cut_documents(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 401
    assert peak < 2_000_000 < path.stat().st_size

"""What a run looks up about rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.engine.index import KeyTable, RowIndex, head_of
from rewardhub.engine.rows import id_hash


@pytest.fixture
def index() -> Iterator[RowIndex]:
    with closing(RowIndex()) as index:
        yield index


def hashes(*names: str) -> list[bytes]:
    return [id_hash(name) for name in names]


def line_of(source: int, row: int) -> bytes:
    return json.dumps({"id": f"{source}:{row}", "source": source, "row": row}).encode() + b"\n"


def test_an_id_is_new_once(index: RowIndex) -> None:
    assert index.new_ids(hashes("a", "b")) == [True, True]
    assert index.new_ids(hashes("c", "b", "d")) == [True, False, True]
    assert index.new_ids(hashes("c", "d")) == [False, False]


def test_an_id_is_new_once_within_one_call(index: RowIndex) -> None:
    assert index.new_ids(hashes("a", "b", "a", "a")) == [True, True, False, False]


def test_finds_a_known_id_among_many(index: RowIndex) -> None:
    many = [f"id {number}" for number in range(1500)]
    index.new_ids(hashes("id 1400"))
    new = index.new_ids(hashes(*many))
    assert [name for name, is_new in zip(many, new, strict=True) if not is_new] == ["id 1400"]


def test_ids_stay_known_when_there_are_more_than_memory_keeps(
    index: RowIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rewardhub.engine.index.IN_MEMORY", 3)
    assert index.new_ids(hashes("a", "b", "c", "d")) == [True] * 4
    assert index.new_ids(hashes("e", "a")) == [True, False]
    assert index.new_ids(hashes("d", "f", "e")) == [False, True, False]


def test_no_ids_are_no_error(index: RowIndex) -> None:
    assert index.new_ids([]) == []


def test_rows_are_done_for_their_own_file_only(index: RowIndex) -> None:
    assert not index.is_done(0, 7)
    index.note_done([(0, 7), (2, 7)])
    index.note_done([(0, 7)])
    assert [index.is_done(source, 7) for source in range(4)] == [True, False, True, False]
    assert not index.is_done(0, 8)


def test_counts_members_of_groups(index: RowIndex) -> None:
    index.count_members(["g", "h", "g"])
    index.count_members(["g"])
    assert (index.members("g"), index.members("h"), index.members("i")) == (3, 1, None)


def test_finds_the_line_of_a_row_in_the_previous_ledger(index: RowIndex, tmp_path: Path) -> None:
    ledger = tmp_path / "previous.jsonl"
    ledger.write_bytes(line_of(0, 1) + line_of(1, 1) + line_of(0, 2))
    index.note_previous(ledger, {0: 0, 1: 1})
    assert index.previous(0, 2) == line_of(0, 2)
    assert index.previous(1, 1) == line_of(1, 1)
    assert index.previous(0, 1) == line_of(0, 1)
    assert index.previous(1, 2) == b""


def test_knows_a_file_that_is_at_another_place_now(index: RowIndex, tmp_path: Path) -> None:
    ledger = tmp_path / "previous.jsonl"
    ledger.write_bytes(line_of(0, 1) + line_of(1, 1))
    index.note_previous(ledger, {1: 0})
    assert index.previous(0, 1) == line_of(1, 1)
    assert index.previous(1, 1) == b""


def test_the_last_line_of_a_row_holds(index: RowIndex, tmp_path: Path) -> None:
    ledger = tmp_path / "previous.jsonl"
    later = line_of(0, 1).replace(b'"0:1"', b'"new"')
    ledger.write_bytes(line_of(0, 1) + later)
    index.note_previous(ledger, {0: 0})
    assert index.previous(0, 1) == later


def test_leaves_out_a_torn_last_line(index: RowIndex, tmp_path: Path) -> None:
    ledger = tmp_path / "previous.jsonl"
    ledger.write_bytes(line_of(0, 1) + line_of(0, 2)[:-5])
    index.note_previous(ledger, {0: 0})
    assert index.previous(0, 1) == line_of(0, 1)
    assert index.previous(0, 2) == b""


def test_there_is_no_previous_line_without_a_ledger(index: RowIndex) -> None:
    assert index.previous(0, 1) == b""


@pytest.mark.parametrize("line", [b"", b"[]", b'{"id": "a", "source": 0}', b'{"id": "a", "sou'])
def test_a_line_without_a_head_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match="validation error"):
        head_of(line)


@given(st.lists(st.integers(-(2**63), 2**63 - 1).filter(bool), unique=True), st.integers(1, 50))
def test_a_table_holds_what_was_put_into_it(keys: list[int], size: int) -> None:
    table = KeyTable()
    for start in range(0, len(keys), size):
        assert table.has_none_of(keys[start:])
        table.add(keys[start : start + size])
        assert not table.has_none_of(keys[: start + size][-1:])
    assert sorted(table) == sorted(keys)
    assert len(table) == len(keys)


def test_a_table_grows_and_keeps_numbers_that_belong_to_one_place() -> None:
    table = KeyTable()
    crowded = [(number << 20) | 7 for number in range(1, 3001)]
    table.add(crowded)
    table.add(range(1_000_000, 1_020_000))
    assert not any(table.has_none_of([key]) for key in crowded)
    assert table.has_none_of([(4000 << 20) | 7, 999_999])

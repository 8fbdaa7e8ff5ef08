"""The run folder: who holds it, what it continues, what it keeps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rewardhub.engine import Input, Plan, RunFolder
from rewardhub.engine.folder import cut_torn_line, ledger_rows, read_run, write_whole
from rewardhub.errors import LedgerError
from rewardhub.host import Registry
from rewardhub.spec import load

GRADER: dict[str, Any] = {"use": "bad/inline", "options": {"how": "nan"}}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunFolder]:
    folder = RunFolder(tmp_path / "run")
    yield folder
    folder.close()


@pytest.fixture
def plan(
    tmp_path: Path, loose: Callable[..., Registry], spec_of: Callable[..., dict[str, Any]]
) -> Callable[..., Plan]:
    """Return a function that makes a plan for one file, whose grader has these fields."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text("{}\n")

    def make(mapping: dict[str, str] | None = None, **grader: Any) -> Plan:
        reward = load(spec_of(GRADER | grader), loose("misbehaving"))
        inputs = (Input(path=rows, reader="native"),)
        return Plan(reward=reward, inputs=inputs, mapping=mapping or {})

    return make


# --- who holds it ---------------------------------------------------------------------------------


def test_one_holder_at_a_time(folder: RunFolder) -> None:
    with pytest.raises(LedgerError, match="Another process is writing"):
        RunFolder(folder.path)
    folder.close()
    RunFolder(folder.path).close()


def test_refuses_a_ledger_without_a_description(
    folder: RunFolder, plan: Callable[..., Plan]
) -> None:
    folder.ledger.write_text("{}\n")
    with pytest.raises(LedgerError, match=r"has a ledger and no run\.json"):
        folder.begin(plan())
    assert folder.ledger.read_text() == "{}\n"
    assert folder.read() is None


def test_tells_a_damaged_description(folder: RunFolder, plan: Callable[..., Plan]) -> None:
    (folder.path / "run.json").write_text('{"spec":')
    with pytest.raises(LedgerError, match=r"run\.json` is damaged"):
        folder.begin(plan())


# --- what it continues ----------------------------------------------------------------------------


def test_an_equal_plan_keeps_the_ledger(folder: RunFolder, plan: Callable[..., Plan]) -> None:
    folder.begin(plan())
    folder.ledger.write_text("{}\n")
    folder.begin(plan())
    assert folder.ledger.read_text() == "{}\n"
    assert folder.previous() is None


@pytest.mark.parametrize(
    "change",
    [{"weight": 2}, {"options": {"how": "text"}}, {"mapping": {"prompt": "question"}}],
    ids=["weight", "options", "mapping"],
)
def test_another_plan_sets_the_ledger_aside(
    change: dict[str, Any], folder: RunFolder, plan: Callable[..., Plan]
) -> None:
    folder.begin(plan())
    before = folder.read()
    folder.ledger.write_text("{}\n")
    folder.finish({"rows": 1})
    folder.begin(plan(**change))
    assert not folder.ledger.exists()
    assert folder.summary() is None
    previous = folder.previous()
    assert previous is not None
    assert (previous[0].read_text(), previous[1]) == ("{}\n", before)


def test_a_file_that_changed_makes_another_plan(
    folder: RunFolder, plan: Callable[..., Plan]
) -> None:
    folder.begin(plan())
    folder.ledger.write_text("{}\n")
    plan().inputs[0].path.write_text("{}\n{}\n")
    folder.begin(plan())
    assert not folder.ledger.exists()


def test_only_a_finished_run_of_the_same_plan_is_finished(
    folder: RunFolder, plan: Callable[..., Plan]
) -> None:
    assert folder.finished(plan()) is None
    folder.begin(plan())
    assert folder.finished(plan()) is None
    folder.finish({"rows": 1})
    assert folder.finished(plan()) == {"rows": 1}
    assert folder.finished(plan(weight=2)) is None


def test_what_an_unfinished_run_lacks_stays_known(
    folder: RunFolder, plan: Callable[..., Plan]
) -> None:
    folder.begin(plan())
    folder.ledger.write_text('{"row": 1}\n{"row": 2}\n')
    folder.finish({})
    folder.begin(plan(weight=2))
    folder.ledger.write_text('{"row": 3}\n{"ro')
    folder.begin(plan(weight=3))
    previous = folder.previous()
    assert previous is not None
    ledger, described = previous
    assert [row["row"] for row in ledger_rows(ledger)] == [1, 2, 3]
    assert set(described["parts"]) == {
        plan().reward.digest,
        plan(weight=2).reward.digest,
    }


def test_a_finished_run_replaces_the_one_before(
    folder: RunFolder, plan: Callable[..., Plan]
) -> None:
    for weight in (1, 2):
        folder.begin(plan(weight=weight))
        folder.ledger.write_text(json.dumps({"row": weight}) + "\n")
        folder.finish({})
    folder.begin(plan(weight=3))
    previous = folder.previous()
    assert previous is not None
    assert [row["row"] for row in ledger_rows(previous[0])] == [2]


def test_a_plan_names_rows_by_path_where_two_names_are_equal(
    tmp_path: Path, plan: Callable[..., Plan]
) -> None:
    paths = [tmp_path / "a" / "rows.jsonl", tmp_path / "b" / "rows.jsonl", tmp_path / "c.jsonl"]
    inputs = tuple(Input(path=path, reader="native") for path in paths)
    named = Plan(reward=plan().reward, inputs=inputs)
    assert [named.name_of(source) for source in range(3)] == [
        str(paths[0]),
        str(paths[1]),
        "c.jsonl",
    ]


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        (b"", b""),
        (b"one\ntwo\n", b"one\ntwo\n"),
        (b"one\ntwo", b"one\n"),
        (b"one", b""),
        (b"one\n" + b"x" * 200_000, b"one\n"),
        (b"one\n" + b"x" * 65_535, b"one\n"),
        (b"one\n" + b"x" * 65_536, b"one\n"),
    ],
    ids=["empty", "whole", "torn", "only-torn", "long", "block-less-one", "block"],
)
def test_cuts_a_torn_line(data: bytes, kept: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rewards.jsonl"
    path.write_bytes(data)
    assert cut_torn_line(path) == len(data) - len(kept)
    assert path.read_bytes() == kept


def test_reads_a_ledger_without_its_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "rewards.jsonl"
    path.write_bytes(b'{"row": 1}\n{"row": 2}')
    assert list(ledger_rows(path)) == [{"row": 1}]


def test_a_file_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_whole(path, b"{}")
    write_whole(path, b'{"a": 1}')
    assert read_run(tmp_path) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_a_summary_that_is_damaged_is_none(folder: RunFolder) -> None:
    (folder.path / "summary.json").write_text('{"tally":')
    assert folder.summary() is None

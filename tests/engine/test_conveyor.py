"""Rows on their way through the workers: groups, chunks that break, dangerous calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from rewardhub.engine import run as run_module
from rewardhub.host import Registry
from rewardhub.records import Trajectory
from rewardhub.testing import make_trajectory

SpecOf = Callable[..., dict[str, Any]]
RunFiles = Callable[..., Any]
WriteRows = Callable[[Path, Iterable[Trajectory]], Path]

LENGTH = {"use": "plain/length"}


def _numbered(count: int, text: str = "x") -> list[Trajectory]:
    return [make_trajectory(text, id=f"row {number}") for number in range(count)]


def test_groups_of_a_file_are_compared_wherever_their_members_stand(
    plain: Registry,
    tmp_path: Path,
    spec_of: SpecOf,
    run_files: RunFiles,
    write_rows: WriteRows,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_module, "WINDOW", 32)
    answers = [
        make_trajectory("x" * (1 + number // 50), id=f"{number}", group=f"group {number % 50}")
        for number in range(200)
    ]
    file = write_rows(tmp_path / "rows.jsonl", answers)
    done = run_files(spec_of({"use": "plain/rank"}), plain, tmp_path / "run", file)
    assert done.values == pytest.approx([number // 50 / 3 for number in range(200)])


def test_a_group_that_waits_does_not_stop_the_reading_of_rows_that_a_gate_stops(
    plain: Registry,
    tmp_path: Path,
    spec_of: SpecOf,
    run_files: RunFiles,
    write_rows: WriteRows,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_module, "WINDOW", 32)
    gate = spec_of({**LENGTH, "options": {"budget": 2}})["stages"][0]
    gate = {**gate, "name": "gate", "gate": {"below": 1.0, "reward": -1.0}}
    spec = spec_of({"use": "plain/rank"}, name="rank")
    spec = {**spec, "stages": [gate, *spec["stages"]]}
    answers = [make_trajectory("xx", group="g"), *_numbered(200), make_trajectory("xxx", group="g")]
    done = run_files(spec, plain, tmp_path / "run", write_rows(tmp_path / "rows.jsonl", answers))
    assert done.values == [0.0, *[-1.0] * 200, 1.0]


def test_a_chunk_that_breaks_does_not_keep_its_group_waiting(
    loose: Callable[..., Registry],
    tmp_path: Path,
    spec_of: SpecOf,
    run_files: RunFiles,
    write_rows: WriteRows,
) -> None:
    registry = loose("plain", "misbehaving")
    crashes = {"use": "bad/contained", "options": {"how": "leave", "on": "answer"}}
    spec = spec_of({"use": "plain/rank"}, crashes)
    texts = ["bad", "x", "bad bad", "xx"]
    file = write_rows(tmp_path / "rows.jsonl", [make_trajectory(each, group="g") for each in texts])
    done = run_files(spec, registry, tmp_path / "run", file, workers=1)
    ranks = [reward.part("rank").score for reward in done.rewards.values()]
    assert [score.value for score in ranks if score is not None] == pytest.approx(
        [2 / 3, 0.0, 1.0, 1 / 3]
    )


def test_a_grader_is_opened_and_closed_in_each_process_that_grades(
    plain: Registry,
    tmp_path: Path,
    spec_of: SpecOf,
    run_files: RunFiles,
    write_rows: WriteRows,
    log: Path,
) -> None:
    file = write_rows(tmp_path / "rows.jsonl", _numbered(60))
    spec = spec_of({"use": "plain/keeps", "options": {"log": str(log)}})
    done = run_files(spec, plain, tmp_path / "run", file)
    assert done.values == [1.0] * 60
    lines = [line.split() for line in log.read_text().splitlines()]
    graded = {pid for what, pid in lines if what == "grade"}
    for pid in graded:
        own = [what for what, each in lines if each == pid]
        assert (own[0], own[-1]) == ("open", "close")
        assert own.count("open") == own.count("close") == 1


def test_a_row_whose_grader_needs_a_worker_is_graded_where_it_stands(
    plain: Registry, tmp_path: Path, spec_of: SpecOf, run_files: RunFiles, write_rows: WriteRows
) -> None:
    answers = [make_trajectory(text) for text in ("easy", "hard", "hard and endless", "easy")]
    file = write_rows(tmp_path / "rows.jsonl", answers)
    done = run_files(spec_of({"use": "plain/guarded"}), plain, tmp_path / "run", file, workers=1)
    assert done.values == [0.4, 0.4, 0.0, 0.4]


def test_a_broken_grader_is_not_run_again_for_every_row(
    loose: Callable[..., Registry],
    tmp_path: Path,
    spec_of: SpecOf,
    run_files: RunFiles,
    write_rows: WriteRows,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tries = tmp_path / "tries"
    tries.mkdir()
    monkeypatch.setenv("LEFT_BEHIND", str(tries))
    leaves = {"use": "bad/contained", "options": {"how": "leave"}}
    file = write_rows(tmp_path / "rows.jsonl", _numbered(200))
    done = run_files(spec_of(leaves), loose("misbehaving"), tmp_path / "run", file)
    assert done.outcome.tally.faults == {"grader": 200}
    assert len(list(tries.iterdir())) < 100

"""A run over files: rows in, a ledger in order, bad rows told by number."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from rewardhub.engine import Progress
from rewardhub.engine import run as run_module
from rewardhub.host import Manifest, Registry, from_manifest
from rewardhub.records import Trajectory
from rewardhub.testing import make_trajectory

SpecOf = Callable[..., dict[str, Any]]
RunFiles = Callable[..., Any]
WriteRows = Callable[[Path, Iterable[Trajectory]], Path]

LENGTH = {"use": "plain/length"}


def _numbered(count: int, text: str = "x") -> list[Trajectory]:
    return [make_trajectory(text, id=f"row {number}") for number in range(count)]


# --- the ledger -----------------------------------------------------------------------------------


def test_writes_one_line_for_each_row_in_order(
    plain: Registry, tmp_path: Path, spec_of: SpecOf, run_files: RunFiles, write_rows: WriteRows
) -> None:
    file = write_rows(
        tmp_path / "rows.jsonl",
        [
            make_trajectory("x" * (number % 11), id=f"row {number}", domain="math", group="g")
            for number in range(300)
        ],
    )
    done = run_files(spec_of(LENGTH), plain, tmp_path / "run", file)
    assert [row["id"] for row in done.rows] == [f"row {number}" for number in range(300)]
    assert done.values == [number % 11 / 10 for number in range(300)]
    first = done.rows[0]
    assert (first["source"], first["row"], first["domain"], first["group"]) == (0, 1, "math", "g")
    assert (first["steps"], first["status"]) == (1, "completed")
    assert done.failures == []
    outcome = done.outcome
    assert (outcome.resumed, outcome.interrupted, outcome.tally.rows) == (0, None, 300)


def test_reads_several_files_one_after_the_other(
    plain: Registry, tmp_path: Path, spec_of: SpecOf, run_files: RunFiles, write_rows: WriteRows
) -> None:
    files = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        answers = [make_trajectory("x", id=f"{folder} {number}") for number in range(3)]
        files.append(write_rows(tmp_path / folder / "rows.jsonl", answers))
    done = run_files(spec_of(LENGTH), plain, tmp_path / "run", *files)
    assert [(row["source"], row["row"]) for row in done.rows] == [
        (source, row) for source in (0, 1) for row in (1, 2, 3)
    ]


def test_rows_without_an_id_are_named_by_their_place(
    plain: Registry, tmp_path: Path, spec_of: SpecOf, run_files: RunFiles
) -> None:
    rows = [{"prompt": "why?", "completion": "x"}] * 2
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (tmp_path / folder / "rows.jsonl").write_text(text)
    files = [tmp_path / folder / "rows.jsonl" for folder in ("a", "b")]
    done = run_files(spec_of(LENGTH), plain, tmp_path / "run", *files, reader="completion")
    assert len({row["id"] for row in done.rows}) == 4
    assert done.failures == []


def test_what_the_loop_grades_stands_in_order_too(
    plain: Registry, tmp_path: Path, spec_of: SpecOf, run_files: RunFiles, write_rows: WriteRows
) -> None:
    file = write_rows(tmp_path / "rows.jsonl", _numbered(50, "xxx"))
    spec = spec_of({"use": "plain/later"}, {"use": "plain/batch"}, LENGTH)
    done = run_files(spec, plain, tmp_path / "run", file)
    assert [row["id"] for row in done.rows] == [f"row {number}" for number in range(50)]
    assert done.values == pytest.approx([0.3] * 50)
    assert done.outcome.tally.parts["later"].graded == 50


def test_an_empty_file_is_a_complete_run(
    plain: Registry, tmp_path: Path, spec_of: SpecOf, run_files: RunFiles, write_rows: WriteRows
) -> None:
    done = run_files(
        spec_of(LENGTH), plain, tmp_path / "run", write_rows(tmp_path / "no.jsonl", [])
    )
    assert (done.rows, done.outcome.tally.rows) == ([], 0)
    assert (tmp_path / "run" / "summary.json").exists()


def test_counts_what_became_of_every_row(
    plain: Registry, tmp_path: Path, spec_of: SpecOf, run_files: RunFiles, write_rows: WriteRows
) -> None:
    answers = ["x" * 10, "x" * 5, "?", "!", ""]
    file = write_rows(tmp_path / "rows.jsonl", [make_trajectory(each) for each in answers])
    tally = run_files(spec_of(LENGTH), plain, tmp_path / "run", file).outcome.tally
    assert (tally.rows, tally.scored, tally.unscored, tally.bad) == (5, 3, 2, 0)
    assert tally.faults == {"task": 1, "grader": 1}
    assert (tally.low, tally.high, tally.mean) == (0.0, 1.0, 0.5)
    part = tally.parts["length"]
    assert (part.graded, part.abstained, part.failed, part.full) == (3, 1, 1, 1)


# --- order and windows ----------------------------------------------------------------------------


def test_a_slow_row_holds_the_rows_behind_it_in_an_ordered_window(
    plain: Registry,
    tmp_path: Path,
    spec_of: SpecOf,
    run_files: RunFiles,
    write_rows: WriteRows,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_module, "WINDOW", 64)
    monkeypatch.setattr(run_module, "PROGRESS_SECONDS", 0.02)
    answers = _numbered(400)
    answers[5] = make_trajectory("slow", id="row 5")
    file = write_rows(tmp_path / "rows.jsonl", answers)
    seen: list[Progress] = []
    spec = spec_of({**LENGTH, "options": {"wait": 0.7}})
    done = run_files(spec, plain, tmp_path / "run", file, on_progress=seen.append)
    assert [row["id"] for row in done.rows] == [f"row {number}" for number in range(400)]
    assert max(each.waiting for each in seen) <= 64 + 32
    blocked = {each.blocked_by for each in seen} - {None}
    assert any(each is not None and each.startswith("rows.jsonl:") for each in blocked)
    assert seen[-1].rows == 400
    assert seen[-1].bytes_read == pytest.approx(seen[-1].bytes_total, abs=800)


def test_an_unordered_run_goes_past_a_slow_row(
    plain: Registry, tmp_path: Path, spec_of: SpecOf, run_files: RunFiles, write_rows: WriteRows
) -> None:
    answers = _numbered(200)
    answers[0] = make_trajectory("slow", id="row 0")
    file = write_rows(tmp_path / "rows.jsonl", answers)
    spec = spec_of({**LENGTH, "options": {"wait": 0.7}})
    done = run_files(spec, plain, tmp_path / "run", file, ordered=False, workers=2)
    ids = [row["id"] for row in done.rows]
    assert sorted(ids) == sorted(f"row {number}" for number in range(200))
    assert ids[0] != "row 0"


# --- routes, broken rollouts, observers -----------------------------------------------------------


def test_a_route_grades_each_row_by_its_spec(
    plain: Registry, tmp_path: Path, spec_of: SpecOf, run_files: RunFiles, write_rows: WriteRows
) -> None:
    math = spec_of(LENGTH) | {"name": "math"}
    code = spec_of({"use": "plain/later", "options": {"budget": 20}}) | {"name": "code"}
    route = {"rewardhub": 1, "route": {"by": "task.domain", "math": math, "code": code}}
    answers = [
        make_trajectory("x" * 10, domain=domain) for domain in ("math", "code", "math", "other")
    ]
    file = write_rows(tmp_path / "rows.jsonl", answers)
    done = run_files(route, plain, tmp_path / "run", file)
    assert done.values == [1.0, 0.5, 1.0, None]
    assert [reward.spec.name for reward in done.rewards.values()] == ["math", "code", "math", ""]
    assert list(done.rewards.values())[3].fault == "task"


def test_a_broken_rollout_stands_in_the_ledger_unscored(
    plain: Registry,
    tmp_path: Path,
    spec_of: SpecOf,
    run_files: RunFiles,
    write_rows: WriteRows,
    log: Path,
) -> None:
    broken = make_trajectory(status="broken", fault="infrastructure", reason="gone", id="b")
    file = write_rows(tmp_path / "rows.jsonl", [broken, make_trajectory("x", id="a")])
    spec = spec_of({**LENGTH, "options": {"log": str(log)}})
    done = run_files(spec, plain, tmp_path / "run", file)
    assert done.values == [None, 0.1]
    assert done.rewards["b"].fault == "infrastructure"
    assert log.read_text() == "x\n"


OBSERVER = """
import threading
from pathlib import Path

from rewardhub import Reward, Trajectory, hookimpl


@hookimpl
def rewardhub_scored(trajectory: Trajectory, reward: Reward) -> None:
    with (Path(__file__).parent / "told.log").open("a") as file:
        file.write(f"{trajectory.id} {reward.value} {threading.current_thread().name}\\n")
    if trajectory.id == "row 1":
        raise ValueError("one is too many")
"""


@pytest.mark.parametrize("use", ["plain/length", "plain/later", "plain/rank"])
def test_observers_are_told_once_in_output_order_and_their_errors_are_counted(
    use: str, tmp_path: Path, spec_of: SpecOf, run_files: RunFiles, write_rows: WriteRows
) -> None:
    plugin = tmp_path / "observer.py"
    plugin.write_text(OBSERVER)
    paths = (str(plugin), str(Path(__file__).parent / "loose" / "plain.py"))
    registry = from_manifest(Manifest(discover=False, loose=paths))
    file = write_rows(tmp_path / "rows.jsonl", _numbered(30, "xx"))
    done = run_files(spec_of({"use": use}), registry, tmp_path / "run", file)
    told = (tmp_path / "told.log").read_text().splitlines()
    assert told == [f"{name} {reward.value} MainThread" for name, reward in done.rewards.items()]
    assert len(told) == 30
    assert registry.observer_errors == {str(plugin): 1}

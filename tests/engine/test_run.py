"""A run over files: rows in, a ledger in order, bad rows told by number."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from rewardhub.engine import Progress
from rewardhub.engine import run as run_module
from rewardhub.errors import RowError
from rewardhub.host import Manifest, Registry, from_manifest
from rewardhub.records import Trajectory
from rewardhub.testing import make_trajectory

SpecOf = Callable[..., dict[str, Any]]
RunFiles = Callable[..., Any]
WriteRows = Callable[[Path, Iterable[Trajectory]], Path]

LENGTH = {"use": "plain/length"}


@pytest.fixture(scope="module")
def plain(loose: Callable[..., Registry]) -> Registry:
    return loose("plain")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "calls.log"
    path.touch()
    return path


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


# --- bad rows -------------------------------------------------------------------------------------

ROWS = b"""\
{"task": {"messages": []}, "steps": [{"text": "x"}], "id": "one"}
this is no JSON

{"task": {"messages": []}, "steps": [{"txt": "x"}]}
{"task": {"messages": []}, "steps": []}
{"task": {"messages": []}, "steps": [{"text": "xx"}], "id": "six"}
"""


@pytest.fixture
def bad_file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(ROWS)
    return path


@pytest.mark.parametrize("ordered", [True, False])
def test_bad_rows_are_told_with_their_numbers(
    ordered: bool,
    bad_file: Path,
    plain: Registry,
    tmp_path: Path,
    spec_of: SpecOf,
    run_files: RunFiles,
) -> None:
    done = run_files(spec_of(LENGTH), plain, tmp_path / "run", bad_file, ordered=ordered)
    assert sorted(done.rewards) == ["one", "six"]
    assert [(each["source"], each["row"]) for each in done.failures] == [
        (str(bad_file), number) for number in (2, 4, 5)
    ]
    assert "txt" in done.failures[1]["error"]
    assert (done.outcome.tally.rows, done.outcome.tally.bad) == (2, 3)


def test_a_strict_run_ends_at_the_first_bad_row_and_keeps_what_is_done(
    bad_file: Path, plain: Registry, tmp_path: Path, spec_of: SpecOf, run_files: RunFiles
) -> None:
    with pytest.raises(RowError, match=r"rows\.jsonl, row 2: "):
        run_files(spec_of(LENGTH), plain, tmp_path / "run", bad_file, strict=True)
    bad_file.write_bytes(ROWS.replace(b"this is no JSON", b""))
    done = run_files(spec_of(LENGTH), plain, tmp_path / "run", bad_file)
    assert sorted(done.rewards) == ["one", "six"]


def test_an_id_that_was_there_before_is_a_bad_row(
    plain: Registry, tmp_path: Path, spec_of: SpecOf, run_files: RunFiles, write_rows: WriteRows
) -> None:
    answers = [*_numbered(40), make_trajectory("xx", id="row 3"), make_trajectory("xx", id="new")]
    done = run_files(
        spec_of(LENGTH), plain, tmp_path / "run", write_rows(tmp_path / "rows.jsonl", answers)
    )
    assert [row["id"] for row in done.rows] == [f"row {number}" for number in range(40)] + ["new"]
    assert [each["row"] for each in done.failures] == [41]
    assert "its id was there before" in done.failures[0]["error"]
    assert (done.outcome.tally.rows, done.outcome.tally.bad) == (41, 1)
    assert done.outcome.tally.parts["length"].graded == 41


def test_equal_answers_without_ids_are_rows_each(
    plain: Registry, tmp_path: Path, spec_of: SpecOf, run_files: RunFiles
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b'{"task": {"messages": []}, "steps": [{"text": "x"}]}\n' * 5)
    done = run_files(spec_of(LENGTH), plain, tmp_path / "run", file)
    assert done.values == [0.1] * 5


READER = '''
from collections.abc import Iterator
from pathlib import Path

from rewardhub import RawRow, Reader, ReaderCard, ReadOptions, Trajectory, hookimpl
from rewardhub.testing import make_trajectory


class Lines(Reader):
    """Each line is an answer; some break the reader."""

    def rows(self, path: Path) -> Iterator[RawRow]:
        for number, line in enumerate(path.read_bytes().splitlines(), start=1):
            yield RawRow(number, line)

    def parse(self, row: RawRow, options: ReadOptions) -> Trajectory:
        text = row.data.decode()
        if text == "bug":
            raise KeyError("a bug of the reader")
        if text == "exit":
            raise SystemExit(3)
        return make_trajectory(text, id=f"line {row.number}")


@hookimpl
def rewardhub_readers() -> Iterator[ReaderCard]:
    yield ReaderCard(name="lines", reader=Lines, recognises=lambda head: False)
'''


def test_a_reader_that_breaks_costs_its_row_and_not_the_run(
    tmp_path: Path, spec_of: SpecOf, run_files: RunFiles
) -> None:
    plugin = tmp_path / "reader.py"
    plugin.write_text(READER)
    paths = (str(plugin), str(Path(__file__).parent / "loose" / "plain.py"))
    registry = from_manifest(Manifest(discover=False, loose=paths))
    file = tmp_path / "lines.txt"
    file.write_text("x\nbug\nxx\nexit\nxxx\n")
    done = run_files(spec_of(LENGTH), registry, tmp_path / "run", file, reader="lines")
    assert done.values == [0.1, 0.2, 0.3]
    assert [each["row"] for each in done.failures] == [2, 4]
    assert "KeyError" in done.failures[0]["error"]
    assert "SystemExit" in done.failures[1]["error"]


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


# --- groups ---------------------------------------------------------------------------------------


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


# --- resources and workers ------------------------------------------------------------------------


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

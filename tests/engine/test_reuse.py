"""After an edit of the spec a run takes the Scores that still hold from the ledger before."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rewardhub.engine.folder import ledger_rows, read_run
from rewardhub.host import Registry
from rewardhub.records import Trajectory
from rewardhub.testing import make_trajectory

RunFiles = Callable[..., Any]
WriteRows = Callable[[Path, Iterable[Trajectory]], Path]


class Bench:
    """A run folder, and how often each grader was called since last asked.

    Args:
        folder: for the logs, whose paths are options of the graders.
        run: runs a spec over a file into a folder.
        file: the rows.
        runs: where the run folders lie.
    """

    def __init__(self, folder: Path, run: Callable[..., Any], file: Path, runs: Path) -> None:
        self.file = file
        self.rerun = run
        self._runs = runs
        self.logs = {name: folder / f"{name}.log" for name in ("length", "later", "rank")}

    def run(self, *, to: str = "run", file: Path | None = None, **changes: Any) -> Any:
        """Run the spec with some changes: to the entry of a grader, or the stage's weight."""
        entries = {name: changes.pop(name, {}) for name in self.logs}
        graders = [self._entry(name, each) for name, each in entries.items() if each is not None]
        stage = {"name": "only", "weight": changes.pop("weight", 1.0), "graders": graders}
        spec = {
            "rewardhub": 1, "name": "test", "range": [-9, 9], "success": "length == 1",
            "stages": [stage],
        }  # fmt: skip
        for log in self.logs.values():
            log.write_text("")
        return self.rerun(spec, self._runs / to, file or self.file, **changes)

    def _entry(self, name: str, changes: dict[str, Any]) -> dict[str, Any]:
        options = {"log": str(self.logs[name])} | changes.get("options", {})
        return {"use": f"plain/{name}", **changes, "options": options}

    @property
    def ledger(self) -> Path:
        return self._runs / "run" / "rewards.jsonl"

    def cut_to(self, rows: int) -> None:
        """Leave the run as if it was killed after some rows."""
        lines = self.ledger.read_bytes().splitlines(keepends=True)
        self.ledger.write_bytes(b"".join(lines[:rows]))
        (self.ledger.parent / "summary.json").unlink()

    def values(self) -> list[float]:
        return [row["reward"]["value"] for row in ledger_rows(self.ledger)]

    @property
    def calls(self) -> dict[str, int]:
        return {name: len(log.read_text().splitlines()) for name, log in self.logs.items()}


def _answers(count: int) -> list[Trajectory]:
    return [
        make_trajectory("x" * number, id=f"row {number}", group=f"group {number}")
        for number in range(count)
    ]


@pytest.fixture(scope="module")
def first(
    plain: Registry,
    tmp_path_factory: pytest.TempPathFactory,
    run_files: RunFiles,
    write_rows: WriteRows,
) -> Bench:
    """The first run, which every test goes on from."""
    folder = tmp_path_factory.mktemp("first")
    file = write_rows(folder / "rows.jsonl", _answers(10))

    def run(spec: Any, to: Path, path: Path, **how: Any) -> Any:
        return run_files(spec, plain, to, path, **how)

    bench = Bench(folder, run, file, folder)
    bench.run()
    assert bench.calls == ALL
    return bench


@pytest.fixture
def bench(first: Bench, tmp_path: Path) -> Iterator[Bench]:
    """The same once more, in a folder of its own; what it does to the rows is taken back."""
    shutil.copytree(first.file.parent / "run", tmp_path / "run")
    rows, before = first.file.read_bytes(), first.file.stat()
    yield Bench(first.file.parent, first.rerun, first.file, tmp_path)
    first.file.write_bytes(rows)
    os.utime(first.file, ns=(before.st_atime_ns, before.st_mtime_ns))


def _named(**answers: str) -> list[Trajectory]:
    return [make_trajectory(text, id=name, group=name) for name, text in answers.items()]


ALL = {"length": 10, "later": 10, "rank": 10}
NONE_BUT_RANK = {"length": 0, "later": 0, "rank": 10}


def test_a_new_weight_runs_no_grader(bench: Bench) -> None:
    before = bench.values()
    after = bench.run(weight=2.0)
    # Verdicts that compare a group are always made anew: they depend on more than one row.
    assert bench.calls == NONE_BUT_RANK
    assert after.values == pytest.approx([2 * value for value in before])
    assert after.outcome.tally.reused == 20
    assert after.outcome.resumed == 0


def test_new_weights_of_parts_run_no_grader(bench: Bench) -> None:
    bench.run(length={"weight": 3}, later={"weight": 2})
    assert bench.calls == NONE_BUT_RANK


def test_new_options_run_that_grader_alone(bench: Bench) -> None:
    after = bench.run(length={"options": {"budget": 5}})
    assert bench.calls == {"length": 10, "later": 0, "rank": 10}
    assert after.rewards["row 5"].part("length").score.value == 1.0
    assert after.rewards["row 5"].part("later").score.value == 0.5


def test_a_changed_row_is_graded_again(bench: Bench, write_rows: WriteRows) -> None:
    answers = _answers(12)
    answers[3] = make_trajectory("changed", id="row 3", group="group 3")
    write_rows(bench.file, answers)
    after = bench.run()
    assert bench.calls == {"length": 3, "later": 3, "rank": 12}
    assert after.rewards["row 3"].part("length").score.value == 0.7
    assert len(after.rows) == 12


def test_what_failed_is_tried_again(bench: Bench, write_rows: WriteRows) -> None:
    write_rows(bench.file, _named(a="!", b="?"))
    bench.run()
    bench.run(weight=2.0)
    assert bench.calls == {"length": 1, "later": 1, "rank": 2}


def test_the_scores_of_another_run_are_used_where_they_hold(bench: Bench) -> None:
    before = (bench.ledger, read_run(bench.ledger.parent))
    bench.run(to="another", weight=2.0, previous=before)
    assert bench.calls == NONE_BUT_RANK


def test_a_torn_ledger_of_another_run_is_used_up_to_its_end(bench: Bench) -> None:
    lines = bench.ledger.read_bytes().splitlines(keepends=True)
    bench.ledger.write_bytes(b"".join(lines[:4]) + lines[4][:-5])
    bench.run(to="another", previous=(bench.ledger, read_run(bench.ledger.parent)))
    assert bench.calls == {"length": 6, "later": 6, "rank": 10}


def test_a_run_that_was_not_complete_does_not_forget_the_one_before(bench: Bench) -> None:
    bench.run(weight=2.0)
    bench.cut_to(3)
    bench.run(weight=3.0)
    assert bench.calls == NONE_BUT_RANK


def test_the_same_row_read_in_another_way_is_another_trajectory(
    bench: Bench, tmp_path: Path
) -> None:
    file = tmp_path / "pairs.jsonl"
    row = {"prompt": "why?", "completion": "xx", "short": "x", "long": "xxxx", "id": "a"}
    file.write_text(json.dumps(row) + "\n")
    values = []
    for column in ("short", "long"):
        mapping = {"completion": column}
        done = bench.run(file=file, reader="completion", mapping=mapping)
        values.append(done.rewards["a"].part("length").score.value)
        assert bench.calls["length"] == 1
    assert values == [0.1, 0.4]


def test_the_same_plan_goes_on_instead(bench: Bench) -> None:
    bench.run(to="fresh", rank=None)
    again = bench.run(to="fresh", rank=None)
    assert bench.calls == {"length": 0, "later": 0, "rank": 0}
    assert again.outcome.resumed == 10
    assert not (again.folder / "previous.jsonl").exists()


def test_a_group_is_never_compared_without_the_members_that_stand_in_the_ledger(
    bench: Bench, write_rows: WriteRows
) -> None:
    answers = [make_trajectory("x" * number, id=f"row {number}", group="g") for number in range(4)]
    write_rows(bench.file, answers)
    values = bench.run().values
    bench.cut_to(2)
    again = bench.run()
    assert again.values == values
    assert bench.calls == {"length": 2, "later": 2, "rank": 1}


def test_a_gate_before_reused_scores_still_closes(bench: Bench) -> None:
    """Scores are reused as they are needed, and a part that is not reached has none."""
    bench.run(later={"when": "length >= 0.5"})
    after = bench.run(later={"when": "length >= 0.3"})
    assert bench.calls == {"length": 0, "later": 2, "rank": 10}
    statuses = [reward.part("later").status for reward in after.rewards.values()]
    assert statuses == ["skipped"] * 3 + ["graded"] * 7


def test_a_complete_run_leaves_nothing_but_its_files(bench: Bench) -> None:
    folder = bench.ledger.parent
    assert sorted(each.name for each in folder.iterdir()) == [
        "failures.jsonl", "rewards.jsonl", "run.json", "run.lock", "summary.json",
    ]  # fmt: skip

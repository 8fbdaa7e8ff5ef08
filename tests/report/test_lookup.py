"""Finding a row of a run without holding the ledger."""

import json

import pytest

from rewardhub.engine.rows import ledger_line
from rewardhub.errors import UsageError
from rewardhub.records import Reward, Step, Task, Trajectory
from rewardhub.report.lookup import find_line
from rewardhub.report.scored import open_run


@pytest.fixture
def run(tmp_path):
    def write(*places, paths=("a.jsonl", "b.jsonl"), tail=b""):
        inputs = [{"path": str(tmp_path / path), "reader": "native"} for path in paths]
        (tmp_path / "run.json").write_text(json.dumps({"inputs": inputs}))
        lines = [
            ledger_line(
                Trajectory(id=name, task=Task(), steps=(Step(),)),
                Reward(0.0, step_rewards=(0.0,), reason='"id":"decoy"'), source, row, "",
            )
            for name, source, row in places
        ]  # fmt: skip
        (tmp_path / "rewards.jsonl").write_bytes(b"".join(lines) + tail)
        return open_run(tmp_path)

    return write


def id_of(line):
    return json.loads(line)["id"]


def test_finds_an_id(run):
    assert id_of(find_line(run(("one", 0, 1), ("two", 0, 2)), "two")) == "two"


def test_finds_a_place_by_the_name_of_the_file(run):
    found = run(("one", 0, 7), ("two", 1, 7), ("three", 1, 77))
    assert id_of(find_line(found, "b.jsonl:7")) == "two"


def test_finds_a_place_by_the_path_of_the_file(run, tmp_path):
    found = run(("one", 0, 1), ("two", 1, 1), paths=("x/a.jsonl", "y/a.jsonl"))
    assert id_of(find_line(found, f"{tmp_path}/y/a.jsonl:1")) == "two"


def test_an_id_comes_before_a_place(run):
    found = run(("one", 0, 1), ("a.jsonl:1", 0, 2))
    assert json.loads(find_line(found, "a.jsonl:1"))["row"] == 2


def test_what_a_reason_quotes_is_no_id(run):
    with pytest.raises(UsageError, match="has no trajectory `decoy`"):
        find_line(run(("one", 0, 1)), "decoy")


def test_a_torn_last_line_is_passed_over(run):
    found = run(("one", 0, 1), tail=b'{"schema_version":1,"id":"two","sour')
    with pytest.raises(UsageError, match="has no trajectory `two`"):
        find_line(found, "two")


def test_an_empty_ledger_is_said_to_be_empty(run):
    with pytest.raises(UsageError, match="Its ledger is empty"):
        find_line(run(), "x")

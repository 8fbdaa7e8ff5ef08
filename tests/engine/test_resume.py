"""A run that was stopped, in whatever way, goes on: nothing is lost, doubled or graded again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from rewardhub.engine import RunFolder
from rewardhub.engine.folder import ledger_rows
from rewardhub.errors import LedgerError
from rewardhub.host import Registry
from rewardhub.records import Reward, Trajectory, read_reward
from rewardhub.testing import make_trajectory

SpecOf = Callable[..., dict[str, Any]]
RunFiles = Callable[..., Any]
WriteRows = Callable[[Path, Iterable[Trajectory]], Path]
Bare = Callable[[Reward], Reward]

PLUGIN = Path(__file__).parent / "loose" / "plain.py"
ROWS = 300
DRIVER = """
import json, sys
from pathlib import Path
from rewardhub.engine import Engine, Input, Plan, Run, RunFolder
from rewardhub.host import Manifest, from_manifest
from rewardhub.spec import load

plugin, spec, rows, folder = sys.argv[1:]
registry = from_manifest(Manifest(discover=False, loose=(plugin,)))
reward = load(json.loads(spec), registry)
plan = Plan(reward=reward, inputs=(Input(path=Path(rows), reader="native"),))
held = RunFolder(Path(folder))
with Engine(reward, registry=registry, workers=2, isolate=True) as engine:
    outcome = Run(engine, plan, held).execute()
print(json.dumps([outcome.interrupted, outcome.resumed, outcome.tally.rows]))
"""


class Stopped(NamedTuple):
    """What a process that was sent a signal came to."""

    code: int
    told: str
    errors: str


@dataclass(frozen=True)
class Job:
    """A run in a process of its own."""

    spec: dict[str, Any]
    rows: Path
    folder: Path
    registry: Registry
    run: RunFiles

    @property
    def ledger(self) -> Path:
        return self.folder / "rewards.jsonl"

    def start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", DRIVER, str(PLUGIN), json.dumps(self.spec)]
        return subprocess.Popen(
            [*command, str(self.rows), str(self.folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self) -> list[Any]:
        """Run to the end; return the signal that ended it, rows resumed, and rows of the ledger."""
        outcome = self.run(self.spec, self.registry, self.folder, self.rows, workers=2).outcome
        return [outcome.interrupted, outcome.resumed, outcome.tally.rows]

    def stop(self, number: int, *, after: int) -> Stopped:
        """Start, and send a signal once the ledger has some rows."""
        process = self.start()
        while len(self.ids()) < after:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(number)
        told, errors = process.communicate(timeout=60)
        deadline = time.monotonic() + 30
        while any(_lives(each) for each in family):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return Stopped(process.returncode, told, errors)

    def ids(self) -> list[str]:
        if not self.ledger.exists():
            return []
        return [row["id"] for row in ledger_rows(self.ledger)]

    def rewards(self) -> dict[str, Reward]:
        rows = ledger_rows(self.ledger)
        return {row["id"]: read_reward(json.dumps(row["reward"])) for row in rows}


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _answers(count: int) -> Iterator[Trajectory]:
    for number in range(count):
        yield make_trajectory(f"slow {number}", id=f"row {number}")


@pytest.fixture
def job(
    tmp_path: Path,
    log: Path,
    loose: Callable[..., Registry],
    spec_of: SpecOf,
    write_rows: WriteRows,
    run_files: RunFiles,
) -> Job:
    """A run of some hundred rows, that takes some seconds and notes each grading."""
    options = {"log": str(log), "wait": 0.004, "budget": 20}
    spec = spec_of({"use": "plain/length", "options": options}, {"use": "plain/later"})
    rows = write_rows(tmp_path / "rows.jsonl", _answers(ROWS))
    return Job(spec, rows, tmp_path / "run", loose("plain"), run_files)


def _is_whole(job: Job, log: Path, before: list[str]) -> None:
    ids = [f"row {number}" for number in range(ROWS)]
    assert job.ids() == ids
    graded = Counter(log.read_text().splitlines())
    assert set(graded) == {name.replace("row", "slow") for name in ids}
    again = [name for name in before if graded[name.replace("row", "slow")] != 1]
    assert again == []


# --- killed ---------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_a_killed_run_goes_on(job: Job, log: Path, bare: Bare, tmp_path: Path) -> None:
    assert job.stop(signal.SIGKILL, after=20).code == -signal.SIGKILL
    before = job.ids()
    assert 20 <= len(before) < ROWS
    assert job.finish() == [None, len(before), ROWS]
    _is_whole(job, log, before)
    undisturbed = replace(job, folder=tmp_path / "undisturbed")
    assert undisturbed.finish() == [None, 0, ROWS]
    assert {name: bare(reward) for name, reward in job.rewards().items()} == {
        name: bare(reward) for name, reward in undisturbed.rewards().items()
    }


def test_a_torn_last_line_is_cut(
    loose: Callable[..., Registry],
    tmp_path: Path,
    log: Path,
    spec_of: SpecOf,
    run_files: RunFiles,
    write_rows: WriteRows,
) -> None:
    plain = loose("plain")
    file = write_rows(tmp_path / "rows.jsonl", _answers(40))
    spec = spec_of({"use": "plain/length", "options": {"log": str(log)}})
    whole = run_files(spec, plain, tmp_path / "run", file).rows
    ledger = tmp_path / "run" / "rewards.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(lines[:20]) + lines[20][:-9])
    done = run_files(spec, plain, tmp_path / "run", file)
    assert done.outcome.resumed == 20
    assert [row["id"] for row in done.rows] == [row["id"] for row in whole]
    graded = Counter(log.read_text().splitlines())
    assert [graded[f"slow {number}"] for number in range(40)] == [1] * 20 + [2] * 20


def test_a_damaged_ledger_is_refused_with_what_to_do(
    loose: Callable[..., Registry],
    tmp_path: Path,
    spec_of: SpecOf,
    run_files: RunFiles,
    write_rows: WriteRows,
) -> None:
    plain = loose("plain")
    file = write_rows(tmp_path / "rows.jsonl", _answers(3))
    run_files(spec_of({"use": "plain/length"}), plain, tmp_path / "run", file)
    ledger = tmp_path / "run" / "rewards.jsonl"
    ledger.write_bytes(b"garbage\n" + ledger.read_bytes())
    with pytest.raises(LedgerError, match="is damaged after line 0.*--run"):
        run_files(spec_of({"use": "plain/length"}), plain, tmp_path / "run", file)


@pytest.mark.parametrize("use", ["plain/length", "plain/rank"])
def test_bad_rows_and_equal_ids_are_told_again_when_a_run_goes_on(
    use: str,
    loose: Callable[..., Registry],
    tmp_path: Path,
    spec_of: SpecOf,
    run_files: RunFiles,
    write_rows: WriteRows,
) -> None:
    plain = loose("plain")
    file = write_rows(tmp_path / "rows.jsonl", [*_answers(20), *_answers(1)])
    file.write_bytes(file.read_bytes() + b"no JSON\n")
    first = run_files(spec_of({"use": use}), plain, tmp_path / "run", file)
    ledger = tmp_path / "run" / "rewards.jsonl"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:5]))
    again = run_files(spec_of({"use": use}), plain, tmp_path / "run", file)
    assert [each["row"] for each in again.failures] == [21, 22]
    assert again.failures == first.failures
    assert again.values == first.values
    assert again.outcome.tally.rows == first.outcome.tally.rows == 20


# --- interrupted ----------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="signals are other there")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_goes_on(number: signal.Signals, job: Job, log: Path) -> None:
    stopped = job.stop(number, after=20)
    assert stopped.code == 0, stopped.errors
    interrupted, resumed, rows = json.loads(stopped.told)
    before = job.ids()
    assert (interrupted, resumed, rows) == (number, 0, len(before))
    assert not (job.folder / "summary.json").exists()
    assert job.finish() == [None, len(before), ROWS]
    assert (job.folder / "summary.json").exists()
    _is_whole(job, log, before)


# --- one at a time --------------------------------------------------------------------------------


def test_a_folder_is_for_one_process_at_a_time(job: Job) -> None:
    process = job.start()
    while not job.ids():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    with pytest.raises(LedgerError, match="Another process is writing"):
        RunFolder(job.folder)
    process.kill()
    process.communicate()
    RunFolder(job.folder).close()


def test_a_folder_is_for_one_run_at_a_time_inside_a_process_too(tmp_path: Path) -> None:
    held = RunFolder(tmp_path / "run")
    with pytest.raises(LedgerError):
        RunFolder(tmp_path / "run")
    held.close()
    RunFolder(tmp_path / "run").close()


# --- the long proof -------------------------------------------------------------------------------


@pytest.mark.proof
@pytest.mark.timeout(1200)
@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_twenty_thousand_rows_survive_being_killed_again_and_again(
    job: Job, log: Path, tmp_path: Path, spec_of: SpecOf, write_rows: WriteRows
) -> None:
    count = 20_000
    options = {"log": str(log), "wait": 0.001, "budget": 20}
    spec = spec_of({"use": "plain/length", "options": options}, {"use": "plain/batch"})
    job = replace(job, spec=spec, rows=write_rows(tmp_path / "many.jsonl", _answers(count)))
    finished: set[str] = set()
    for share in (0.01, 0.2, 0.21, 0.6, 0.95):
        job.stop(signal.SIGKILL, after=max(int(share * count), len(finished) + 1))
        ids = job.ids()
        assert ids == [f"row {number}" for number in range(len(ids))]
        finished.update(ids)
        os.sync()
    graded = Counter(log.read_text().splitlines())
    result = job.finish()
    assert result == [None, len(finished), count]
    after = Counter(log.read_text().splitlines())
    assert job.ids() == [f"row {number}" for number in range(count)]
    assert [name for name in finished if after[_text(name)] != graded[_text(name)]] == []
    assert all(after[f"slow {number}"] >= 1 for number in range(count))
    for name, reward in job.rewards().items():
        value = min(len(_text(name)), 20) / 20
        assert reward.value == pytest.approx((value + min(len(_text(name)), 10) / 10) / 2)


def _text(name: str) -> str:
    return name.replace("row", "slow")

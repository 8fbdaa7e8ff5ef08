import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from rewardhub import read_trajectory

TASKS = """\
- {id: one, messages: [{role: user, content: What is 17 + 25?}], reference: "42"}
- {id: two, messages: [{role: user, content: What is 9 * 12?}], reference: "108"}
"""
POLICY = "use: script\nturns: {'*': ['42']}\n"
SPEC = """\
rewardhub: 1
name: rollout/exact
range: [0, 1]
success: exact == 1
stages:
  - name: outcome
    graders: [{use: text/string-check, as: exact, options: {operation: eq}}]
"""
SLOW = """
import asyncio


async def act(task, steps, seed):
    await asyncio.sleep(0.02)
    return f"{task.id} {seed}"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tasks.yaml").write_text(TASKS)
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "spec.yaml").write_text(SPEC)
    monkeypatch.setenv("REWARDHUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("REWARDHUB_WORKERS", "1")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["rewardhub", "rollout", *arguments])
    (command,) = entry_points(group="console_scripts", name="rewardhub")
    with pytest.raises(SystemExit) as ended:
        command.load()()
    told = capsys.readouterr()
    return int(ended.value.code or 0), told.out, told.err


def test_attempts_are_made_and_only_those_that_are_missing(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = ("tasks.yaml", "--policy", "policy.yaml", "-n", "3", "--run", "run", "--json")
    code, out, err = call(capsys, monkeypatch, *usual)
    assert (code, json.loads(out)["made"]) == (0, 6)
    assert "6 of 6 attempts, 6 completed" in err
    code, out, _ = call(capsys, monkeypatch, *usual)
    assert (json.loads(out)["kept"], json.loads(out)["made"]) == (6, 0)


def test_attempts_of_another_run_are_taken_over(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = ("tasks.yaml", "--policy", "policy.yaml", "--json")
    call(capsys, monkeypatch, *usual, "-n", "2", "--run", "one")
    call(capsys, monkeypatch, *usual, "-n", "3", "--run", "two", "--reuse", "one")
    rows = [
        read_trajectory(row) for row in Path("two/trajectories.jsonl").read_bytes().splitlines()
    ]
    reused = sorted(each.metadata["reused"] for each in rows if "reused" in each.metadata)
    assert reused == ["one/0", "one/1", "two/0", "two/1"]
    assert len(rows) == 6


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("none.yaml", "--policy", "policy.yaml"), "`none.yaml` does not exist"),
        (("tasks.yaml", "--policy", "scrpt"), "Did you mean `script`"),
        (("tasks.yaml", "--policy", "policy.yaml", "--max-tokens", "9"), "leave out"),
    ],
)
def test_what_is_wrong_is_told_before_any_attempt(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    told: str,
) -> None:
    code, _, err = call(capsys, monkeypatch, *arguments, "--run", "run")
    assert (code, told in err) == (2, True), err
    assert not (folder / "run" / "trajectories.jsonl").exists()


def test_a_killed_rollout_goes_on_without_losing_or_doubling_an_attempt(folder: Path) -> None:
    tasks = [{"id": f"t{n}", "messages": [{"role": "user", "content": str(n)}]} for n in range(40)]
    (folder / "many.jsonl").write_text("".join(f"{json.dumps(task)}\n" for task in tasks))
    (folder / "slow.py").write_text(SLOW)
    start = "import sys; sys.argv[0] = 'rewardhub'; from rewardhub.cli import main; main()"
    command = [sys.executable, "-c", start, "rollout", "many.jsonl", "--policy", "script"]
    command += ["--set", "file=slow.py", "-n", "4", "--parallel", "4", "--run", "run", "--quiet"]
    path = folder / "run" / "trajectories.jsonl"
    kills = 0
    for _ in range(20):
        with subprocess.Popen(command, cwd=folder, env=os.environ.copy()) as process:
            before = path.stat().st_size if path.exists() else 0
            while process.poll() is None:
                if kills < 3 and path.exists() and path.stat().st_size > before + 4000:
                    process.send_signal(signal.SIGKILL)
                    kills += 1
                    break
                time.sleep(0.005)
        if process.returncode == 0:
            break
    rows = [read_trajectory(row) for row in path.read_bytes().splitlines()]
    assert kills == 3
    assert sorted(each.id for each in rows) == sorted(
        f"t{n}/{k}" for n in range(40) for k in range(4)
    )
    assert len({each.final_text for each in rows}) == 160

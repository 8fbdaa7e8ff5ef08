"""A new pack is installed and tested as it is."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from rewardhub.cli.new import OUR_DOMAINS, create_pack
from rewardhub.errors import UsageError
from rewardhub.host import discover
from rewardhub.spec import load

ROOT = Path(__file__).parents[2]


def run(*command, cwd, **env):
    given = {**os.environ, **env}
    arguments = [str(each) for each in command]
    done = subprocess.run(
        arguments, cwd=cwd, env=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def pack(tmp_path):
    return create_pack("unit-style", tmp_path)


def package_of(pack):
    return f"rewardhub_{pack.name.replace('-', '_')}"


def test_names_everything_after_the_domain(pack):
    project = tomllib.loads((pack / "pyproject.toml").read_text())
    assert project["project"]["name"] == f"rewardhub-{pack.name}"
    assert project["project"]["entry-points"]["rewardhub"] == {pack.name: package_of(pack)}
    assert project["project"]["dependencies"] == ["rewardhub-core"]
    assert (pack / package_of(pack) / "py.typed").exists()
    assert f"`{pack.name}/brevity`" in (pack / "README.md").read_text()


def test_leaves_no_placeholder_behind(pack):
    files = [path for path in pack.rglob("*") if path.is_file()]
    assert len(files) == 6
    assert [path for path in files if "$" in str(path) or "$" in path.read_text()] == []


def test_shows_a_spec_that_holds(pack, monkeypatch):
    monkeypatch.syspath_prepend(pack)
    written = re.search(r"```yaml\n(.*?)```", (pack / "README.md").read_text(), re.DOTALL)
    spec = load(YAML(typ="safe").load(written[1]), discover(modules=[package_of(pack)]))
    assert [entry.use for entry in spec.entries] == [f"{pack.name}/brevity"]


def test_passes_its_own_tests(pack):
    command = (sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider")
    assert "4 passed" in run(*command, cwd=pack, PYTHONPATH=str(pack))


def test_its_tests_fail_when_its_grader_is_wrong(pack):
    module = pack / package_of(pack) / "__init__.py"
    module.write_text(module.read_text().replace(r"\w+", r"\S+"))
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    with pytest.raises(AssertionError, match="words glued together are still words"):
        run(*command, cwd=pack, PYTHONPATH=str(pack))


@pytest.mark.parametrize("name", ["x", "a-name-of-just-forty-characters-in-all-9"])
def test_is_clean_under_the_linter_whatever_its_name(tmp_path, name):
    pack = create_pack(name, tmp_path)
    run(sys.executable, "-m", "ruff", "check", "--no-cache", ".", cwd=pack)
    run(sys.executable, "-m", "ruff", "format", "--no-cache", "--check", ".", cwd=pack)


def test_is_clean_under_mypy(pack, pytestconfig):
    cache = pytestconfig.cache.mkdir("mypy")
    targets = (package_of(pack), "tests")
    run(sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, *targets, cwd=pack)


def test_is_clean_under_pyright(pack):
    if find_spec("pyright") is None or shutil.which("node") is None:
        pytest.skip("pyright or the node that it needs is not installed")
    (pack / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    run(sys.executable, "-m", "pyright", "--pythonpath", sys.executable, cwd=pack)


@pytest.mark.parametrize(
    "name", ["Style", "my_style", "-style", "style-", "a--b", "", "a/b", "..", "st yle", "x" * 41]
)
def test_refuses_a_name_that_will_not_do(tmp_path, name):
    with pytest.raises(UsageError, match="named after its domain in lower case"):
        create_pack(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["math", "training", "builtin"])
def test_refuses_a_name_that_is_taken(tmp_path, name):
    with pytest.raises(UsageError, match=f"already a pack called `{name}`"):
        create_pack(name, tmp_path)


def test_knows_the_packs_of_this_project():
    plugins = {path.parent.name for path in (ROOT / "plugins").glob("*/pyproject.toml")}
    assert plugins <= OUR_DOMAINS


def test_leaves_an_existing_folder_alone(tmp_path):
    (tmp_path / "style").mkdir()
    with pytest.raises(UsageError, match=r"already a `.*style`"):
        create_pack("style", tmp_path)
    assert list((tmp_path / "style").iterdir()) == []


@pytest.mark.proof
def test_installs_beside_the_framework_and_passes(tmp_path):
    pack = create_pack("style", tmp_path / "plugins")
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", ROOT, pack, "pytest>=8", cwd=tmp_path)
    code = (
        "from rewardhub import discover; found = discover().grader('style/brevity');"
        "import rewardhub, rewardhub_style; print(found.owner.label); print(rewardhub.__file__);"
        "print(rewardhub_style.__file__)"
    )
    label, *files = run(python, "-I", "-c", code, cwd=tmp_path).splitlines()
    assert label == "rewardhub-style 0.1.0 (style)"
    assert all(file.startswith(str(home)) for file in files)
    tests = ("-m", "pytest", "-q", "-p", "no:cacheprovider", pack / "tests")
    assert "4 passed" in run(python, "-I", *tests, cwd=tmp_path)
    again = "import pathlib, rewardhub.cli.new as new; new.create_pack('other', pathlib.Path())"
    run(python, "-I", "-c", again, cwd=tmp_path)
    assert (tmp_path / "other" / "pyproject.toml").exists()

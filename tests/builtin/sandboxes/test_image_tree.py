import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from rewardhub.builtin.sandboxes.image_tree import HostPython, distribution_files, stage_tree
from rewardhub.errors import UsageError


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    stage_tree(root, HostPython.find(), ["pytest"])
    return root


def test_finds_the_interpreter_below_the_virtual_environment() -> None:
    python = HostPython.find()
    assert python.version == ".".join(str(each) for each in sys.version_info[:3])
    assert python.packages.is_relative_to(sys.base_prefix)


def test_says_which_interpreter_does_not_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho broken prefix >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    with pytest.raises(UsageError, match="does not run: broken prefix.*--from"):
        HostPython.find()


def test_brings_what_a_distribution_needs() -> None:
    places = {str(place) for _, place in distribution_files(["pytest"])}
    assert {"pytest/__init__.py", "pluggy/__init__.py", "iniconfig/__init__.py"} <= places


def test_leaves_out_what_only_an_extra_needs() -> None:
    needed = [name for name in metadata.requires("pytest") or () if "extra" in name]
    assert needed, "pytest has extras, and this test looks at one"
    places = {str(place) for _, place in distribution_files(["pytest"])}
    assert not any(place.startswith("hypothesis/") for place in places)


def test_leaves_out_commands_and_bytecode() -> None:
    places = [place for _, place in distribution_files(["pytest"])]
    assert not [each for each in places if each.suffix == ".pyc" or ".." in each.parts]


def test_says_how_to_install_what_is_missing() -> None:
    with pytest.raises(UsageError, match="`no-such-thing` is not installed here.*pip install"):
        list(distribution_files(["no-such-thing"]))


def test_refuses_an_editable_distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "linked-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: linked\nVersion: 1.0\n")
    (info / "direct_url.json").write_text(
        json.dumps({"url": "file:///x", "dir_info": {"editable": True}})
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UsageError, match="`linked` is installed as an editable one"):
        list(distribution_files(["linked"]))


def test_holds_the_interpreter_at_its_own_path(tree: Path) -> None:
    python = HostPython.find()
    assert (tree / python.executable.relative_to("/")).is_file()
    assert (tree / "usr/bin/python3").readlink() == python.executable


def test_leaves_out_the_tests_of_the_standard_library(tree: Path) -> None:
    stdlib = tree / HostPython.find().stdlib[0].relative_to("/")
    assert (stdlib / "unittest/__init__.py").is_file()
    assert not (stdlib / "test").exists()


def test_holds_each_library_that_a_module_loads(tree: Path) -> None:
    python = HostPython.find()
    told = subprocess.run(
        ["ldd", python.executable], capture_output=True, text=True, check=True
    ).stdout
    names = [line.split()[0] for line in told.splitlines() if "=> /" in line]
    assert names
    assert not [name for name in names if not list(tree.rglob(name))]


def test_compiles_every_module_beforehand(tree: Path) -> None:
    packages = tree / HostPython.find().packages.relative_to("/")
    assert list((packages / "pytest/__pycache__").glob("__init__.*.pyc"))


def test_names_no_user_of_this_machine(tree: Path) -> None:
    users = (tree / "etc/passwd").read_text().splitlines()
    assert [line.split(":")[0] for line in users] == ["root", "nobody"]

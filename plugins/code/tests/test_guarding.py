import pytest
from rewardhub_code.checks import RepositoryCheck
from rewardhub_code.guarding import guarded

TREE = {
    "core.py": "x = 1\n",
    "tests/test_core.py": "assert\n",
    "tests/helpers.py": "help\n",
    "tests/conftest.py": "fixtures\n",
    "pkg/types.py": "own\n",
    "setup.cfg": "[metadata]\nname = a\n\n[tool:pytest]\naddopts = -x\n",
}
CHECK = RepositoryCheck(fail_to_pass=("tests/test_core.py::test_x",))


def test_lets_a_change_of_code_in() -> None:
    made = guarded(TREE, {"core.py": "x = 2\n", "new/mod.py": "y\n", "pkg/types.py": None}, CHECK)
    assert made.tree["core.py"] == "x = 2\n"
    assert made.tree["new/mod.py"] == "y\n"
    assert "pkg/types.py" not in made.tree
    assert (made.kept_out, made.tampered) == ((), ())


@pytest.mark.parametrize(
    "path",
    ["tests/test_core.py", "tests/helpers.py", "tests/data/new.txt", "core_test.py", "test_new.py"],
)
def test_keeps_files_of_tests_as_they_are(path: str) -> None:
    made = guarded(TREE, {path: "pass\n"}, CHECK)
    assert made.tree == TREE
    assert made.kept_out == (path,)
    assert made.tampered == ()


def test_brings_back_what_was_removed() -> None:
    assert guarded(TREE, {"tests/test_core.py": None}, CHECK).tree == TREE


@pytest.mark.parametrize(
    "path",
    [
        "conftest.py",
        "pkg/conftest.py",
        "tests/conftest.py",
        "pytest.ini",
        ".pytest.ini",
        "pytest.toml",
        "sitecustomize.py",
        "usercustomize.py",
        "evil.pth",
        "evil-1.0.dist-info/entry_points.txt",
        "evil.egg-info/entry_points.txt",
        "pytest.py",
        "_pytest/runner.py",
        "pluggy/__init__.py",
        "src/pytest.py",
        "json.py",
        "tests/unittest/__init__.py",
    ],
)
def test_keeps_out_and_notes_what_steers_the_tests(path: str) -> None:
    made = guarded(TREE, {path: "evil\n"}, CHECK)
    assert made.tree == TREE
    assert made.kept_out == (path,)
    assert path in made.tampered[0]


@pytest.mark.parametrize(
    ("before", "after", "noted"),
    [
        ("[metadata]\nname = a\n", "[metadata]\nname = b\n", False),
        ("[metadata]\n", "[metadata]\n\n[tool:pytest]\naddopts = --collect-only\n", True),
        ("[tool:pytest]\nx = 1\n[other]\n", "[tool:pytest]\nx = 1\n[more]\n", False),
        ("[tool:pytest]\nx = 1\n", "[tool:pytest]\nx = 2\n", True),
        ("[tool:pytest]\nx = 1\n", None, True),
    ],
)
def test_notes_only_changes_of_what_concerns_pytest(
    before: str, after: str | None, noted: bool
) -> None:
    made = guarded({"setup.cfg": before}, {"setup.cfg": after}, CHECK)
    assert made.tree == {"setup.cfg": before}
    assert bool(made.tampered) is noted


def test_knows_the_sections_of_every_file() -> None:
    for path, section in (
        ("pyproject.toml", "[tool.pytest.ini_options]"),
        ("pyproject.toml", "[tool.pytest]"),
        ("tox.ini", "[pytest]"),
    ):
        assert guarded({}, {path: f"{section}\naddopts = 1\n"}, CHECK).tampered


@pytest.mark.parametrize("path", ["pkg/json.py", "pkg/pytest.py", "json.txt", "jsonlike.py"])
def test_lets_names_be_that_hide_nothing(path: str) -> None:
    assert guarded(TREE, {path: "own\n"}, CHECK).kept_out == ()


def test_lets_a_module_be_changed_that_the_task_has() -> None:
    made = guarded({"json.py": "own\n"}, {"json.py": "better\n"}, CHECK)
    assert made.tree == {"json.py": "better\n"}


def test_puts_the_test_files_of_the_task_over_all() -> None:
    check = CHECK.model_copy(update={"test_files": {"tests/test_core.py": "new tests\n"}})
    made = guarded(TREE, {"tests/test_core.py": "mine\n"}, check)
    assert made.tree["tests/test_core.py"] == "new tests\n"


def test_code_beside_its_tests_may_be_changed() -> None:
    check = RepositoryCheck(fail_to_pass=("pkg/test_pkg.py::test_x",))
    made = guarded({"pkg/code.py": "a\n"}, {"pkg/code.py": "b\n"}, check)
    assert made.tree == {"pkg/code.py": "b\n"}

"""What of an attempt's change gets into the tree that its tests are run in."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from rewardhub_code.checks import RepositoryCheck
from rewardhub_code.patches import Change, Tree

_STEERING = frozenset(
    [
        "conftest.py",
        "pytest.ini",
        ".pytest.ini",
        "pytest.toml",
        ".pytest.toml",
        "sitecustomize.py",
        "usercustomize.py",
    ]
)
"""Files that have no other use than to steer Python or pytest."""
_SHARED = frozenset({"pyproject.toml", "setup.cfg", "tox.ini"})
"""Files that may steer pytest beside other things."""
_INSTALLED = (".dist-info", ".egg-info")
_RUNNER = frozenset(
    [
        "pytest",
        "_pytest",
        "py",
        "pluggy",
        "iniconfig",
        "packaging",
        "pygments",
        "exceptiongroup",
        "tomli",
        "rewardhub_code",
        "xdist",
        "hypothesis",
    ]
)
_TEST_FOLDERS = frozenset({"test", "tests", "testing"})
_PYTEST_PART = re.compile(r"^\[(?:tool[.:])?pytest\b[^\n]*\n(?:(?!\[)[^\n]*\n?)*", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """A tree with a change, as far as the change was let in.

    Attributes:
        tree: what the tests are run in.
        kept_out: paths of the change that were not let in.
        tampered: those of them that could only have steered the tests, in words.
    """

    tree: Tree
    kept_out: tuple[str, ...] = ()
    tampered: tuple[str, ...] = ()


def guarded(tree: Tree, change: Change, check: RepositoryCheck) -> Guarded:
    """Return ``tree`` with ``change``, and the task's test files over both.

    Kept out are: files that steer pytest or Python, installed metadata, new modules that would hide
    one of the standard library or of pytest, the files of the tests, other test files, and whatever
    lies in a test folder of the named tests.
    """
    made = dict(tree)
    kept_out: list[str] = []
    tampered: list[str] = []
    for path, content in change.items():
        sign = _steers(path, tree.get(path), content) or _hides(path, tree, check)
        if sign:
            tampered.append(f"it changes `{path}`, which {sign}")
        if sign or path.rpartition("/")[2] in _SHARED or _is_of_tests(path, check):
            kept_out.append(path)
        elif content is None:
            made.pop(path, None)
        else:
            made[path] = content
    made.update(check.test_files)
    return Guarded(tree=made, kept_out=tuple(kept_out), tampered=tuple(tampered))


def _steers(path: str, before: str | None, after: str | None) -> str:
    """Return how a file could change what pytest does; empty if it could not."""
    *folders, name = path.split("/")
    if name in _STEERING or name.endswith(".pth"):
        return "steers Python or pytest"
    if any(part.endswith(_INSTALLED) for part in (*folders, name)):
        return "looks like an installed plugin"
    if name in _SHARED and _pytest_part(before) != _pytest_part(after):
        return "configures pytest"
    return ""


def _pytest_part(text: str | None) -> list[str]:
    return [part.strip() for part in _PYTEST_PART.findall(text or "")]


def _hides(path: str, tree: Tree, check: RepositoryCheck) -> str:
    """Return what a new module would hide from the tests; empty if nothing."""
    if path in tree:
        return ""
    for folder in {*check.source_roots, *_folders_of(check)}:
        prefix = f"{folder}/" if folder else ""
        name = path.removeprefix(prefix).partition("/")[0].partition(".")[0]
        known = name in sys.stdlib_module_names or name in _RUNNER
        if path.startswith(prefix) and known and path.endswith(".py"):
            return f"hides the module `{name}`"
    return ""


def _folders_of(check: RepositoryCheck) -> Iterator[str]:
    """Yield the folders of the named tests, and all that they lie in: pytest imports from one."""
    for name in check.names:
        folder = name.partition("::")[0]
        while folder:
            folder = folder.rpartition("/")[0]
            yield folder


def _is_of_tests(path: str, check: RepositoryCheck) -> bool:
    name = path.rpartition("/")[2]
    if path in check.test_files or re.fullmatch(r"test_.*\.py|.*_test\.py", name):
        return True
    return any(
        folder and path.startswith(f"{folder}/") and _TEST_FOLDERS & {*folder.split("/")}
        for folder in _folders_of(check)
    )

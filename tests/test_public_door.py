"""`import rewardhub`: one door, sorted, documented, and light."""

import ast
import inspect
import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

import rewardhub
from rewardhub import testing

HEAVY = {
    "torch", "transformers", "sympy", "math_verify", "docker", "ruamel", "rich", "typer", "openai",
    "fastapi", "ray", "pyarrow", "zstandard", "psutil", "hypothesis", "pytest",
}  # fmt: skip
DOORS = [rewardhub, testing]


@pytest.mark.parametrize("module", ["rewardhub", "rewardhub.host", "rewardhub.records"])
def test_imports_nothing_heavy(module):
    code = f"import sys, json, {module}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert "rewardhub" in loaded
    assert loaded & HEAVY == set()


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_the_names_are_sorted_and_exist(door):
    # Constants first, then classes, then functions: the order that the linter keeps.
    def order(name):
        return (not name.isupper(), not name[0].isupper(), name)

    assert list(door.__all__) == sorted(set(door.__all__), key=order)
    assert [name for name in door.__all__ if not hasattr(door, name)] == []


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_the_door_shows_nothing_that_it_does_not_list(door):
    tree = ast.parse(Path(door.__file__).read_text())
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("rewardhub")
        for alias in node.names
    }
    assert imported == set(door.__all__)


def documented(value, name):
    """Return whether a class or function has its own docstring, a value one below it."""
    if inspect.isclass(value) or inspect.isfunction(value):
        return bool(value.__doc__) and not value.__doc__.startswith(f"{name}(")
    return any(
        name in targets
        for path in Path(rewardhub.__file__).parent.rglob("*.py")
        for targets in described_values(path)
    )


def described_values(path):
    body = ast.parse(path.read_text()).body
    for node, following in itertools.pairwise(body):
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            if isinstance(node, ast.Assign):
                yield {target.id for target in node.targets if isinstance(target, ast.Name)}
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                yield {node.target.id}


@pytest.mark.parametrize(
    ("door", "name"),
    [(door, name) for door in DOORS for name in door.__all__],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_every_name_is_documented(door, name):
    assert documented(getattr(door, name), name), f"{door.__name__}.{name} has no docstring"

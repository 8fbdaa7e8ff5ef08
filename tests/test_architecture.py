"""What packs may import. The layers of rewardhub itself are held by import-linter."""

import ast
import re
import sys
from pathlib import Path

import pytest

import rewardhub

ROOT = Path(__file__).parents[1]
PACKAGES = sorted([*ROOT.glob("plugins/*/rewardhub_*"), *ROOT.glob("policies/rewardhub_*")])
LIGHT = {*sys.stdlib_module_names, "pydantic", "rewardhub"}


def imports(tree):
    """Yield module and name of each import; the name is empty for ``import module``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (("." * node.level + (node.module or ""), each.name) for each in node.names)


def at_import(body):
    """Yield the statements that run when a module is imported."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from at_import(node.orelse)
            continue
        inner = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)]
        handlers = [each for handler in getattr(node, "handlers", ()) for each in handler.body]
        if inner or handlers:
            yield from at_import([*inner, *handlers])
        else:
            yield node


def beyond_the_door(path, *, allowed=()):
    """Yield imports of rewardhub that go past its top door."""
    for module, name in imports(ast.parse(path.read_text())):
        if module == "rewardhub":
            if name and name not in (*rewardhub.__all__, *allowed):
                yield f"{module}.{name}"
        elif module.startswith("rewardhub.") and module.split(".")[1] not in allowed:
            yield module


def command_modules(package):
    """Return the modules that the pack's command cards name."""
    sources = "".join(path.read_text() for path in package.rglob("*.py"))
    return set(re.findall(rf'"({package.name}[\w.]*):\w+"', sources))


def test_there_are_packs_to_look_at():
    names = {package.name for package in PACKAGES}
    assert {"rewardhub_cost", "rewardhub_math", "rewardhub_policies"} <= names


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_pack_imports_the_top_door_alone(package):
    assert [(path, each) for path in package.rglob("*.py") for each in beyond_the_door(path)] == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_tests_of_a_pack_import_the_top_door_and_the_kit(package):
    files = (package.parent / "tests").rglob("*.py")
    found = [(path, each) for path in files for each in beyond_the_door(path, allowed=["testing"])]
    assert found == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_pack_imports_no_other_pack(package):
    others = {each.name for each in PACKAGES} - {package.name}
    files = package.parent.rglob("*.py")
    modules = {module for path in files for module, _ in imports(ast.parse(path.read_text()))}
    assert {module.partition(".")[0] for module in modules} & others == set()


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_pack_imports_its_heavy_guests_inside_functions(package):
    commands = command_modules(package)
    heavy = set()
    for path in package.rglob("*.py"):
        if path.parent.name == "inside":
            continue  # texts that are sent into sandboxes, and never imported here
        name = ".".join(path.relative_to(package.parent).with_suffix("").parts)
        light = LIGHT | {package.name} | ({"typer"} if name in commands else set())
        body = ast.Module(list(at_import(ast.parse(path.read_text()).body)), [])
        roots = {module.partition(".")[0] for module, _ in imports(body)} - {""}
        heavy |= {(name, root) for root in roots - light}
    assert heavy == set()


def test_sees_an_import_that_runs_with_its_module():
    tree = ast.parse(
        "if TYPE_CHECKING:\n import one\nelse:\n import two\n"
        "try:\n import three\nexcept ImportError:\n import four\n"
        "class A:\n import five\n def f(self):\n  import six\n"
    )
    body = ast.Module(list(at_import(tree.body)), [])
    assert {module for module, _ in imports(body)} == {"two", "three", "four", "five"}


def test_sees_an_import_past_the_top_door(tmp_path):
    path = tmp_path / "pack.py"
    path.write_text("from rewardhub import Score, testing\nfrom rewardhub.engine import Engine\n")
    assert list(beyond_the_door(path)) == ["rewardhub.testing", "rewardhub.engine"]

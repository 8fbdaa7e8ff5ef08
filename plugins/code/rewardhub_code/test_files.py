"""The tests of a task as jobs and messages for the programs that run them."""

from __future__ import annotations

import ast
import random
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewardhub import Job, TaskError
from rewardhub_code.checks import CodeCheck, UnitTestsCheck
from rewardhub_code.inside import plain
from rewardhub_code.preloads import preload, starter
from rewardhub_code.solution import RunLimits

_SCRIPTS = ("plain", "channel", "clock", "serve", "proxy", "scripts")


@dataclass(frozen=True, slots=True, kw_only=True)
class TestPlan:
    """Tests that are ready to be run.

    Attributes:
        request: the first message to their program.
        files: of their working folder.
        canaries: names of tests that must fail.
        names: the name that a test has in the run -> its own.
    """

    __test__ = False

    request: Mapping[str, Any]
    files: Mapping[str, str]
    canaries: tuple[str, ...] = ()
    names: Mapping[str, str] | None = None

    def message(self) -> bytes:
        """Return the request as the program reads it.

        Raises:
            TaskError: if the tests are too large.
        """
        try:
            return plain.dumps(self.request)
        except plain.NotPlainError as error:
            raise TaskError(f"the tests cannot be sent: {error}") from None

    def job(self, limits: RunLimits, env: Mapping[str, str]) -> Job:
        """Return the program that runs them."""
        if self.files:
            ready = preload(*_SCRIPTS, "pytests", requires=("pytest",))
        else:
            ready = preload(*_SCRIPTS)
        return Job(
            source=starter(ready),
            files=dict(self.files),
            env=env,
            preload=ready,
            cpu_seconds=limits.cpu_seconds,
            wall_seconds=limits.wall_seconds + 2.0,  # so that a solution that waits ends first
            memory_mb=limits.memory_mb,
        )


def plan_of(check: CodeCheck, reference: str | None, *, order: int = 0) -> TestPlan:
    """Return the tests of a task.

    Args:
        check: what the task says; it has ``unit_tests``.
        reference: the right solution: its imports and names are those that tests may lean on.
        order: 0 for the order as written; any other number shuffles them.
    """
    tests = check.unit_tests or UnitTestsCheck()
    scripts = list(_scripts(tests, check.entry_point))
    if order:
        random.Random(order).shuffle(scripts)  # noqa: S311  # no secret
    request = {
        "tests": scripts,
        "files": [path for path in tests.pytest if _is_test_file(path)],
        "collect": False,
        "order": order,
        "setup": tests.setup,
        "trusted": _whole(check.prompt),
        "imports": [
            *(f"import {name}" for name in _modules(tests, check.entry_point)),
            *_imports(check.prompt),
            *_imports(reference or ""),
        ],
        "names": _names(f"{_whole(check.prompt)}\n{reference or ''}", check.entry_point),
        "module": tests.module,
        "entry_point": check.entry_point,
        "in_place": tests.in_place,
        "solution": None,
    }
    return TestPlan(request=request, files=tests.pytest)


def _scripts(tests: UnitTestsCheck, entry_point: str | None) -> Iterator[list[str]]:
    for number, source in enumerate(tests.asserts, 1):
        yield [f"assert {number}", source]
    if tests.check:
        if entry_point is None:
            raise TaskError("`check(candidate)` needs a function: `checks.code.entry_point`")
        yield ["check", f"{tests.check}\ncheck({_expression(entry_point)})\n"]
    if tests.script:
        yield ["script", tests.script]


def _expression(entry_point: str) -> str:
    owner, _, name = entry_point.rpartition(".")
    return f"{owner}().{name}" if owner else name


def _is_test_file(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def _whole(prompt: str) -> str:
    """Return the prompt as Python that runs, or nothing."""
    for source in (prompt, f"{prompt.rstrip()}\n    pass\n"):
        if _parsed(source) is not None:
            return source
    return ""


def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _imports(source: str) -> list[str]:
    module = _parsed(_whole(source))
    return [
        ast.unparse(statement)
        for statement in (module.body if module else ())
        if isinstance(statement, ast.Import)
        or (isinstance(statement, ast.ImportFrom) and statement.module != "__future__")
    ]


def _modules(tests: UnitTestsCheck, entry_point: str | None) -> list[str]:
    """Return the standard modules that tests use by their names: never a solution's to provide."""
    found: dict[str, None] = {}
    for source in (*tests.asserts, tests.check, tests.script):
        module = _parsed(source)
        for node in ast.walk(module) if module else ():
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found[node.value.id] = None
    return [name for name in found if name in sys.stdlib_module_names and name != entry_point]


def _names(source: str, entry_point: str | None) -> list[str]:
    """Return the names that a solution is asked to define."""
    module = _parsed(source)
    found = dict.fromkeys([entry_point.partition(".")[0]] if entry_point else [])
    for statement in module.body if module else ():
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found[statement.name] = None
        elif isinstance(statement, ast.Assign):
            found |= dict.fromkeys(t.id for t in statement.targets if isinstance(t, ast.Name))
    return [name for name in found if not name.startswith("_")]


def with_canaries(plan: TestPlan, check: CodeCheck, solution: str) -> TestPlan:
    """Return tests that have ``solution`` beside them, and among them some that must fail.

    A canary calls the solution as the tests do and expects what it cannot return. Nothing but its
    expectation tells it from a test: scripts are numbered anew.
    """
    calls = list(_calls(check, plan.request["names"]))
    canary = f"assert {calls[0] if calls else '0'} == {secrets.token_hex(8)!r}"
    request = dict(plan.request) | {"solution": solution}
    if plan.files:
        return _with_canary_files(plan, request, canary)
    scripts = [(name, source) for name, source in plan.request["tests"]]
    for _ in range(2):
        scripts.insert(secrets.randbelow(len(scripts) + 1), ("", canary))
    numbered = [(f"test {number}", *each) for number, each in enumerate(scripts, 1)]
    request["tests"] = [[new, source] for new, _, source in numbered]
    return replace(
        plan,
        request=request,
        canaries=tuple(new for new, name, _ in numbered if not name),
        names={new: name for new, name, _ in numbered if name},
    )


def _with_canary_files(plan: TestPlan, request: dict[str, Any], canary: str) -> TestPlan:
    files = dict(plan.files)
    first = f"test_{secrets.token_hex(4)}.py"
    bodies = {first: f"assert 0 == {secrets.token_hex(8)!r}"}
    bodies |= dict.fromkeys(request["files"], canary)
    canaries: list[str] = []
    for path, body in bodies.items():
        name = f"test_{secrets.token_hex(4)}"
        files[path] = f"{files.get(path, '').rstrip()}\n\n\ndef {name}():\n    {body}\n"
        canaries.append(f"{path}::{name}")
    request["files"] = list(bodies)
    return replace(plan, request=request, files=files, canaries=tuple(canaries))


def _calls(check: CodeCheck, names: Sequence[str]) -> Iterator[str]:
    """Yield calls of the solution in the tests whose arguments are literals."""
    tests = check.unit_tests or UnitTestsCheck()
    for source in (*tests.asserts, tests.check, tests.script, *tests.pytest.values()):
        module = _parsed(source)
        for node in ast.walk(module) if module else ():
            if isinstance(node, ast.Call) and _is_literal(node):
                called = ast.unparse(node.func)
                if called == "candidate" and check.entry_point:
                    yield ast.unparse(node).replace(called, _expression(check.entry_point), 1)
                elif called.rpartition(".")[2] in names:
                    yield ast.unparse(node)


def _is_literal(call: ast.Call) -> bool:
    try:
        for each in (*call.args, *(keyword.value for keyword in call.keywords)):
            ast.literal_eval(each)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True

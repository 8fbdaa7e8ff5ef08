"""The inputs that a task itself gives to its function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from rewardhub_code import syntax
from rewardhub_code.checks import CodeCheck
from rewardhub_code.inside import plain


def own_inputs(check: CodeCheck) -> list[tuple[Any, ...]]:
    """Return the arguments of the calls in a task's tests, as far as they are written out.

    From ``calls``, and from the sources of ``unit_tests``: calls of the entry point, and of
    HumanEval's ``candidate``, with literals and without keywords.
    """
    found: dict[bytes, tuple[Any, ...]] = {}
    for args in (*_of_calls(check), *_of_tests(check)):
        try:
            found.setdefault(plain.dumps(plain.encode(args)), args)
        except plain.NotPlainError:
            continue
    return [args for args in found.values() if args]


def _of_calls(check: CodeCheck) -> Iterator[tuple[Any, ...]]:
    for call in check.calls.tests if check.calls else ():
        if not call.kwargs:
            yield tuple(plain.decode(arg) for arg in call.args)


def _of_tests(check: CodeCheck) -> Iterator[tuple[Any, ...]]:
    tests = check.unit_tests
    if tests is None or check.entry_point is None:
        return
    names = {check.entry_point.rpartition(".")[2], "candidate"}
    for source in (*tests.asserts, tests.check, tests.script, *tests.pytest.values()):
        tree = syntax.parse(source)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.Call) and not node.keywords and _called(node) in names:
                try:
                    yield tuple(ast.literal_eval(arg) for arg in node.args)
                except (ValueError, TypeError, RecursionError, MemoryError):
                    continue


def _called(call: ast.Call) -> str:
    called = call.func
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")

"""Python read without running it: does it parse, what does it define, and what is missing?"""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections.abc import Iterator, Sequence

FILE_NAME = "<answer>"
"""The name that code of an answer goes by, in errors and warnings."""

LONGEST_SOURCE = 200_000
"""Characters of source that are parsed in this process; longer ones count as unreadable."""

_OF_ANSWERS = re.compile(re.escape(FILE_NAME))
_OWN_SCOPE = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_BUILT_IN = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "__builtins__"}


def parse(source: str) -> ast.Module | None:
    """Return the syntax tree of ``source``; None if it is no Python, or too long or too deep.

    CPython's parser bounds its own depth, and its time grows with the length of the text.
    """
    if len(source) > LONGEST_SOURCE:
        return None
    hush_warnings()
    try:
        return ast.parse(source, FILE_NAME)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def hush_warnings() -> None:
    """Let what answers are warned about (``"\\d"``) go unsaid: a warning is no error.

    A filter for the one file name, because `warnings.catch_warnings` is not safe with threads.
    """
    if not any(entry[3] == _OF_ANSWERS for entry in warnings.filters):
        warnings.filterwarnings("ignore", module=_OF_ANSWERS.pattern)


def defined_in(body: Sequence[ast.stmt]) -> set[str]:
    """Return the names that statements bind at their own level, inside ``if`` and ``try``, too."""
    names: set[str] = set()
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update(_imported(node))
        elif isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                names.add(node.id)
        elif not isinstance(node, _OWN_SCOPE):
            waiting.extend(ast.iter_child_nodes(node))
    return names


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    for alias in node.names:
        yield alias.asname or alias.name.partition(".")[0]


def missing_in(tree: ast.Module) -> set[str]:
    """Return the names that ``tree`` uses, and neither binds anywhere nor finds in builtins.

    A name that is bound in one scope only is taken as bound in all: it is better to leave out a
    helper that is there than to put in one that nobody asked for.
    """
    used: set[str] = set()
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound.update(_imported(node))
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            bound.add(node.name)
    return used - bound - _BUILT_IN


def methods_of(tree: ast.Module, name: str) -> set[str]:
    """Return the names of the methods of the class ``name``, defined at the top level."""
    return {
        item.name
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == name
        for item in node.body
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def is_program(tree: ast.Module) -> bool:
    """Whether ``tree`` does something: prose such as ``Yes`` or ``a - b`` parses, too."""
    return any(
        not isinstance(node, ast.Expr | ast.AnnAssign | ast.Pass)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await))
        for node in tree.body
    )

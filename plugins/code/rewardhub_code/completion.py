"""Answers that go on where the prompt ends, or lean on what it defines."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rewardhub_code import syntax

_INDENT = "    "


def completed(prompt: str, text: str, *, entry_point: str) -> str:
    """Return ``prompt`` with ``text`` behind it; empty if that makes no function.

    Tried in this order: the text as it is; with all of its lines indented; with its first line
    indented, for chat models lose the leading blanks; each then also up to the first line at the
    left edge, for models that complete go on until they are cut off. The first counts that parses
    and adds a statement to the entry point.
    """
    for body in _bodies(text):
        joined = "" if prompt.endswith("\n") or body.startswith("\n") else "\n"
        code = f"{prompt}{joined}{body}"
        tree = syntax.parse(code)
        if tree is not None and _adds(tree, entry_point, prompt.count("\n")):
            return code
    return ""


def _bodies(text: str) -> Iterator[str]:
    lines = text.rstrip().split("\n")
    while len(lines) > 1 and not lines[0].strip():
        lines = lines[1:]
    first = [_INDENT + lines[0].lstrip(), *lines[1:]]
    every = [_INDENT + line if line.strip() else line for line in lines]
    for form in (lines, every, first):
        yield "\n".join(form) + "\n"
        edge = next((n for n, line in enumerate(form) if line and not line[0].isspace()), 0)
        if edge:
            yield "\n".join(form[:edge]) + "\n"


def _adds(tree: ast.Module, entry_point: str, lines: int) -> bool:
    found = _entry_in(tree, entry_point)
    return found is not None and any(statement.lineno > lines for statement in found.body)


def _entry_in(
    tree: ast.Module, entry_point: str
) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None:
    """Return the last definition of the (dotted) ``entry_point``."""
    body, found = tree.body, None
    for name in entry_point.split("."):
        found = next(
            (
                node
                for node in reversed(body)
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                and node.name == name
            ),
            None,
        )
        if found is None:
            return None
        body = found.body
    return found


def preamble_of(prompt: str, *, entry_point: str) -> ast.Module | None:
    """Return what ``prompt`` has before its entry point: imports and helpers."""
    tree = syntax.parse(prompt) or syntax.parse(f"{prompt.rstrip()}\n{_INDENT}pass\n")
    if tree is None:
        return None
    name = entry_point.partition(".")[0]
    kept = [node for node in tree.body if getattr(node, "name", None) != name]
    return ast.Module(body=kept, type_ignores=[])

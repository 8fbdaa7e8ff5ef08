"""What code reaches for, read from its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from rewardhub_code import syntax

IMPORTS = (
    "_pytest",
    "builtins",
    "code",
    "codeop",
    "ctypes",
    "faulthandler",
    "gc",
    "importlib",
    "inspect",
    "marshal",
    "multiprocessing",
    "os",
    "pathlib",
    "pickle",
    "pytest",
    "resource",
    "runpy",
    "shutil",
    "signal",
    "site",
    "socket",
    "subprocess",
    "tempfile",
    "threading",
    "traceback",
    "unittest",
    "urllib",
)
USES = (
    "__import__",
    "breakpoint",
    "compile",
    "eval",
    "exec",
    "globals",
    "locals",
    "open",
    "sys._getframe",
    "sys.meta_path",
    "sys.modules",
    "sys.setprofile",
    "sys.settrace",
    "vars",
)
ATTRIBUTES = (
    "__bases__",
    "__builtins__",
    "__closure__",
    "__code__",
    "__dict__",
    "__globals__",
    "__mro__",
    "__subclasses__",
    "__traceback__",
    "ag_frame",
    "cr_frame",
    "f_back",
    "f_builtins",
    "f_globals",
    "f_locals",
    "gi_frame",
    "tb_frame",
)
_NAMESPACES = ("globals", "locals", "vars")

Use = tuple[int, str]
"""The line, and what is used there, in words."""


def forbidden_in(
    source: str, imports: Iterable[str], uses: Iterable[str], attributes: Iterable[str]
) -> list[Use] | None:
    """Return what of the three lists ``source`` uses, in the order of its lines.

    Returns:
        Lines and words; None if the source is no Python.
    """
    tree = syntax.parse(source)
    if tree is None:
        return None
    reader = _Reader(tree, frozenset(imports), frozenset(uses), frozenset(attributes))
    return sorted(set(reader.found()))


class _Reader:
    def __init__(
        self,
        tree: ast.Module,
        imports: frozenset[str],
        uses: frozenset[str],
        attributes: frozenset[str],
    ) -> None:
        self._nodes = list(ast.walk(tree))
        self._imports = imports
        self._uses = uses
        self._attributes = attributes
        self._alias = {"__builtins__": "builtins", **dict(self._aliases())}

    def _aliases(self) -> Iterator[tuple[str, str]]:
        """Yield the names that imports bind, each with what it stands for."""
        for node in self._nodes:
            if isinstance(node, ast.Import):
                for name in node.names:
                    root = name.name.partition(".")[0]
                    yield (name.asname, name.name) if name.asname else (root, root)
            elif isinstance(node, ast.ImportFrom):
                for name in node.names:
                    yield name.asname or name.name, f"{node.module or ''}.{name.name}"

    def found(self) -> Iterator[Use]:
        for node in self._nodes:
            line = getattr(node, "lineno", 0)
            for module in _imported(node):
                if any(_within(module, name) for name in self._imports):
                    yield line, f"imports {module}"
            used = self._name_of(node)
            if used is not None and used.removeprefix("builtins.") in self._uses:
                yield line, f"uses {used}"
            attribute = _attribute_of(node)
            if attribute in self._attributes:
                yield line, f"uses the attribute {attribute}"

    def _name_of(self, node: ast.AST) -> str | None:
        """Return the full name of what an expression takes, as far as it is written out."""
        parts: list[str] = []
        while not isinstance(node, ast.Name):
            attribute = _attribute_of(node)
            owner = _owner_of(node)
            if attribute is None or owner is None:
                return None
            parts.append(attribute)
            node = owner
        if parts and node.id in _NAMESPACES:
            return parts[-1]
        return ".".join([self._alias.get(node.id, node.id), *reversed(parts)])


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level:
        yield from (f"{node.module}.{name.name}" for name in node.names)
    elif isinstance(node, ast.Call) and node.args:
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        module = _text_of(node.args[0])
        if name in {"__import__", "import_module"} and module:
            yield module


def _within(module: str, name: str) -> bool:
    return module == name or module.startswith(f"{name}.")


def _attribute_of(node: ast.AST) -> str | None:
    """Return the attribute that is taken: ``x.a``, ``getattr(x, "a")``, ``vars(x)["a"]``."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"getattr", "setattr"}:
        return _text_of(node.args[1]) if len(node.args) > 1 else None
    if isinstance(node, ast.Subscript) and _owner_of(node) is not None:
        return _text_of(node.slice)
    return None


def _owner_of(node: ast.AST) -> ast.expr | None:
    """Return what the attribute is taken from."""
    if isinstance(node, ast.Attribute):
        return node.value
    if isinstance(node, ast.Call) and node.args:
        return node.args[0]
    if isinstance(node, ast.Subscript):
        names = node.value
        if isinstance(names, ast.Call) and getattr(names.func, "id", "") in _NAMESPACES:
            return names.args[0] if names.args else names.func
        if isinstance(names, ast.Attribute) and names.attr == "__dict__":
            return names.value
        if isinstance(names, ast.Name) and names.id == "__builtins__":
            return names
    return None


def _text_of(node: ast.expr) -> str | None:
    """Return the text that an expression of written-out texts and ``+`` makes."""
    parts: list[str] = []
    waiting: list[ast.expr] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            waiting += [part.right, part.left]
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            parts.append(part.value)
        else:
            return None
    return "".join(parts)

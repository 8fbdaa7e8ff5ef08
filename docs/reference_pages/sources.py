"""What the source says of a class or a function: the same text under every Python."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from reference_pages.markdown import Doc, bullets, join, read_doc, table

Function = ast.FunctionDef | ast.AsyncFunctionDef

_WIDTH = 96
_PLAIN = {"EMPTY": "{}", "dict": "{}", "list": "[]", "tuple": "()"}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a class: its type and default as they are written, and what it means."""

    name: str
    type: str
    default: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Method:
    """A public method or property: how it is called, and its docstring."""

    name: str
    call: str
    doc: Doc


@dataclass(frozen=True, slots=True)
class ClassSource:
    """A class as it is written; ``call`` is how one is made, where it says so itself."""

    name: str
    bases: tuple[str, ...]
    doc: Doc
    call: str = ""
    fields: tuple[Field, ...] = ()
    methods: tuple[Method, ...] = ()


@cache
def tree_of(module: str) -> ast.Module:
    """Return the source of a module, parsed."""
    path = Path(str(inspect.getsourcefile(importlib.import_module(module))))
    return ast.parse(path.read_text(encoding="utf-8"))


def class_source(cls: type[Any]) -> ClassSource:
    """Return what the source says of a class."""
    node = _named(cls.__module__, cls.__name__)
    assert isinstance(node, ast.ClassDef)
    doc = read_doc(ast.get_docstring(node))
    fields = tuple(_fields(node, doc))
    bases = tuple(map(ast.unparse, node.bases))
    return ClassSource(node.name, bases, doc, _made_by(node), fields, tuple(_methods(node)))


def _made_by(node: ast.ClassDef) -> str:
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
            return call_of(each, node.name)
    return ""


def all_fields(cls: type[Any]) -> list[Field]:
    """Return the fields of a class and of the classes of ours that it is made of, bases first."""
    found: dict[str, Field] = {}
    for each in reversed(cls.__mro__):
        if each.__module__.startswith("rewardhub"):
            found.update({one.name: one for one in class_source(each).fields})
    return list(found.values())


def function_source(function: Any) -> Method:
    """Return what the source says of a function."""
    node = _named(function.__module__, function.__name__)
    assert isinstance(node, Function)
    return Method(node.name, call_of(node), read_doc(ast.get_docstring(node)))


def value_doc(module: str, name: str) -> str:
    """Return the text below an assignment to ``name``; empty where there is none."""
    body = tree_of(module).body
    for node, below in itertools.pairwise(body):
        if name in _targets(node) and isinstance(below, ast.Expr):
            text = ast.literal_eval(below.value) if isinstance(below.value, ast.Constant) else ""
            return read_doc(str(text)).body
    return ""


def assigned(module: str, name: str) -> str:
    """Return the source of the value that ``name`` is given."""
    for node in tree_of(module).body:
        if name in _targets(node):
            value = getattr(node, "value", None)
            return ast.unparse(value) if isinstance(value, ast.expr) else ""
    return ""


def _targets(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign):
        return [each.id for each in node.targets if isinstance(each, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


def _named(module: str, name: str) -> ast.stmt:
    for node in tree_of(module).body:
        if isinstance(node, ast.ClassDef | Function) and node.name == name:
            return node
    raise LookupError(f"{module} does not define {name}")


def _fields(node: ast.ClassDef, doc: Doc) -> Iterator[Field]:
    meanings = doc.section("Attributes")
    for each, below in zip(node.body, [*node.body[1:], None], strict=True):
        if not isinstance(each, ast.AnnAssign) or not isinstance(each.target, ast.Name):
            continue
        name, kind = each.target.id, ast.unparse(each.annotation)
        if name.startswith("_") or kind.startswith("ClassVar") or "init=False" in _text(each.value):
            continue
        meaning = meanings.get(name, "")
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            meaning = meaning or read_doc(str(below.value.value)).body
        yield Field(name, kind, _default(each.value), meaning)


def _text(value: ast.expr | None) -> str:
    return "" if value is None else ast.unparse(value)


def _default(value: ast.expr | None) -> str:
    """Return a default as a reader would write it; empty where the field is required."""
    if value is None:
        return ""
    if isinstance(value, ast.Call) and _text(value.func) in {"field", "Field", "PrivateAttr"}:
        said = {each.arg: each.value for each in value.keywords}
        if "default_factory" in said:
            factory = _text(said["default_factory"]).partition("[")[0]
            return _PLAIN.get(factory, f"{factory}()")
        default = said.get("default", value.args[0] if value.args else None)
        text = _text(default)
        return "" if text == "..." else text
    text = _text(value)
    return _PLAIN.get(text, text)


def _methods(node: ast.ClassDef) -> Iterator[Method]:
    for each in node.body:
        if not isinstance(each, Function) or each.name.startswith(("_", "model_")):
            continue
        doc = ast.get_docstring(each)
        marks = {ast.unparse(mark) for mark in each.decorator_list}
        if doc and not any("validator" in mark for mark in marks):
            is_property = bool(marks & {"property", "cached_property"})
            call = _property(each) if is_property else call_of(each)
            yield Method(each.name, call, read_doc(doc))


def _property(node: Function) -> str:
    return f"{node.name}: {_text(node.returns)}"


def call_of(node: Function, name: str = "") -> str:
    """Return how a function is called, one parameter a line where it would be long.

    With a ``name`` it is called by that, and what it returns is left out.
    """
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    told = [_argument(each, value) for each, value in zip(positional, defaults, strict=True)]
    if told and positional[0].arg in {"self", "cls"}:
        told, before = told[1:], len(given.posonlyargs) - 1
    else:
        before = len(given.posonlyargs)
    if before > 0:
        told.insert(before, "/")
    if given.vararg is not None:
        told.append(f"*{_argument(given.vararg, None)}")
    elif given.kwonlyargs:
        told.append("*")
    told += [
        _argument(each, value)
        for each, value in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    if given.kwarg is not None:
        told.append(f"**{_argument(given.kwarg, None)}")
    begin = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    end = f" -> {_text(node.returns)}" if node.returns and not name else ""
    begin += name or node.name
    line = f"{begin}({', '.join(told)}){end}"
    if len(line) <= _WIDTH:
        return line
    body = "".join(f"    {each},\n" for each in told)
    return f"{begin}(\n{body}){end}"


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    kind = f": {_text(argument.annotation)}" if argument.annotation else ""
    if default is None:
        return f"{argument.arg}{kind}"
    text = _PLAIN.get(_text(default), _text(default))
    return f"{argument.arg}{kind}{' = ' if kind else '='}{text}"


def field_table(fields: list[Field] | tuple[Field, ...]) -> str:
    """Return fields as a table; empty where there are none."""
    if not fields:
        return ""
    rows = [
        (
            f"`{each.name}`",
            f"`{each.type}`",
            f"`{each.default}`" if each.default else "(required)",
            each.meaning,
        )
        for each in fields
    ]
    return table(("Field", "Type", "Default", "Meaning"), rows)


def method_text(method: Method, level: int, owner: str = "") -> str:
    """Return a function or method with its signature, arguments and errors."""
    heading = f"{'#' * level} {f'{owner}.' if owner else ''}{method.name}"
    return join(heading, f"```text\n{method.call}\n```", method.doc.body, terms(method.doc))


def terms(doc: Doc) -> str:
    """Return the arguments and errors of a docstring as lists."""
    titles = {"Args": "Arguments", "Raises": "Raises"}
    told = (
        f"{title}:\n\n{bullets(doc.section(section))}"
        for section, title in titles.items()
        if doc.section(section)
    )
    return join(*told)

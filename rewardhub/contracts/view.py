"""What a grader may see: exactly the paths that its card lists under ``reads``.

The key of a cached Score covers these paths and no others, so a read that is not listed would
bring back a stale Score one day. The view refuses it on the first day instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NoReturn

from rewardhub.errors import GraderDefinitionError, UndeclaredReadError, did_you_mean
from rewardhub.records import Record, Step, Task, Trajectory

DEFAULT_READS = ("final_text", "steps.text", "status", "task.messages", "task.reference")
"""What every door fills; the grader's own keys of ``task.checks`` come on top."""

_COMPUTED: dict[type[Record], dict[str, str]] = {
    Trajectory: {"final_text": "steps.text", "tool_calls": "steps.tool_calls"},
    Task: {"prompt": "messages"},
    Step: {},
}
"""What is computed from another field: readable wherever that field is."""

_NEEDS = {**_COMPUTED[Trajectory], "task.prompt": "task.messages"}
_NESTED: dict[type[Record], dict[str, type[Record]]] = {
    Trajectory: {"task": Task, "steps": Step},
    Task: {},
    Step: {},
}
_MAPPINGS = frozenset({"checks", "metadata", "artifacts", "environment"})


class Tree(dict[str, "Tree"]):
    """Paths as a tree; an empty node means the whole of what stands there."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self.paths())

    def paths(self) -> tuple[str, ...]:
        """The paths again, sorted."""
        return tuple(
            sorted(
                f"{name}.{rest}" if rest else name
                for name, node in self.items()
                for rest in (node.paths() or ("",))
            )
        )


def tree_of(reads: Iterable[str]) -> Tree:
    """Return ``reads`` as a tree.

    Raises:
        GraderDefinitionError: for a path that no trajectory has, with the close one.
    """
    tree = Tree()
    for path in sorted(set(reads), key=lambda path: path.count(".")):
        _check_path(path)
        node = tree
        names = path.split(".")
        for depth, name in enumerate(names):
            covered = name in node and not node[name]
            if covered and depth < len(names):
                break
            node = node.setdefault(name, Tree())
    return tree


def _check_path(path: str) -> None:
    record: type[Record] | None = Trajectory
    names = path.split(".")
    for depth, name in enumerate(names):
        if record is None:
            return
        known = _known(record)
        if name not in known:
            raise GraderDefinitionError(
                f"`reads` lists `{path}`, and a {record.kind} has no `{name}`."
                f"{did_you_mean(name, known)}"
            )
        if name in _MAPPINGS:
            return
        if depth + 1 < len(names) and name not in _NESTED[record]:
            raise GraderDefinitionError(
                f"`reads` lists `{path}`; the finest path is `{'.'.join(names[: depth + 1])}`."
            )
        record = _NESTED[record].get(name)


def _known(record: type[Record]) -> tuple[str, ...]:
    return (*record.model_fields, *_COMPUTED[record])


def view_of(reads: Iterable[str], grader: str) -> Callable[[Trajectory], Trajectory]:
    """Return a function that shows a trajectory to ``grader`` through ``reads`` only.

    Any other access raises `UndeclaredReadError`, which says what to add to the card.
    """
    return _view_class(tree_of(reads).paths(), grader)


@cache
def _view_class(paths: tuple[str, ...], grader: str) -> type[Any]:
    return _build(Trajectory, tree_of(paths), grader, "")


def _build(record: type[Record], tree: Tree, grader: str, prefix: str) -> type[Any]:
    members: dict[str, Any] = {"__slots__": ("_record", "_shown"), "__doc__": record.__doc__}
    for name, node in tree.items():
        members[name] = property(_getter(record, name, node, grader, prefix))
    for name, source in _COMPUTED[record].items():
        if _shows(tree, source):
            members[name] = property(_field_getter(name))

    def initialise(self: Any, record: Record) -> None:
        self._record = record

    def refuse(_self: Any, name: str) -> NoReturn:
        if name.startswith("__") or name == "_shown":
            raise AttributeError(name)
        path = prefix + name
        if name not in _known(record):
            if inspect.getattr_static(record, name, None) is None:
                hint = did_you_mean(name, _known(record))
                raise AttributeError(f"A {record.kind} has no `{name}`.{hint}")
            raise UndeclaredReadError(
                f"Grader `{grader}` used `{path}` of its view; it can read fields only: "
                f"{', '.join(f'`{prefix}{known}`' for known in tree)}."
            )
        raise UndeclaredReadError(
            f"Grader `{grader}` read `{path}`, which its card does not list. Add it: "
            f'`GraderCard(..., reads=(*DEFAULT_READS, "{path}"))`.'
        )

    members["__init__"] = initialise
    members["__getattr__"] = refuse
    members["__reduce__"] = _no_pickle
    return type(f"{record.__name__}View", (), members)


def _shows(tree: Tree, path: str) -> bool:
    """Return whether ``tree`` shows all that stands at ``path``."""
    node = tree
    for name in path.split("."):
        if name not in node:
            return False
        node = node[name]
        if not node:
            return True
    return False


def _no_pickle(_self: Any) -> NoReturn:
    raise TypeError("a view is not plain data: pass the texts that the call needs instead")


def _getter(
    record: type[Record], name: str, node: Tree, grader: str, prefix: str
) -> Callable[[Any], Any]:
    if not node:
        return _field_getter(name)
    path = f"{prefix}{name}"
    if name in _MAPPINGS:
        return lambda view: _PartOfMapping(getattr(view._record, name) or {}, node, path, grader)
    inner = _build(_NESTED[record][name], node, grader, f"{path}.")
    if name == "task":
        return lambda view: inner(view._record.task)

    def steps(view: Any) -> tuple[Any, ...]:
        try:
            shown: tuple[Any, ...] = view._shown
        except AttributeError:
            shown = view._shown = tuple([inner(step) for step in view._record.steps])
        return shown

    return steps


def _field_getter(name: str) -> Callable[[Any], Any]:
    """Return a getter of one field of the record behind a view."""
    return lambda view: getattr(view._record, name)


class _PartOfMapping(Mapping[str, Any]):
    """The listed keys of a mapping; any other key is refused, whether it exists or not."""

    __slots__ = ("_grader", "_mapping", "_path", "_tree")

    def __init__(self, mapping: Mapping[str, Any], tree: Tree, path: str, grader: str) -> None:
        self._mapping = mapping
        self._tree = tree
        self._path = path
        self._grader = grader

    def __getitem__(self, key: str) -> Any:
        self._refuse_unlisted(key)
        value = self._mapping[key]
        if self._tree[key] and isinstance(value, Mapping):
            return _PartOfMapping(value, self._tree[key], f"{self._path}.{key}", self._grader)
        return value

    def __contains__(self, key: object) -> bool:
        self._refuse_unlisted(key)
        return key in self._mapping

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._tree if key in self._mapping)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _refuse_unlisted(self, key: object) -> None:
        if key not in self._tree:
            raise UndeclaredReadError(
                f"Grader `{self._grader}` read `{self._path}.{key}`, which its card does not list. "
                f'Add it: `GraderCard(..., reads=(*DEFAULT_READS, "{self._path}.{key}"))`.'
            )


_ABSENT = object()


def values_of(reads: Iterable[str], trajectory: Trajectory) -> dict[str, Any]:
    """Return what ``reads`` shows of ``trajectory``, as JSON: the subject of a cached Score.

    A key that a mapping does not have is left out: to a grader it is not the same as null.
    """
    found = {path: _value_at(trajectory, path.split(".")) for path in tree_of(reads).paths()}
    return {path: value for path, value in found.items() if value is not _ABSENT}


def _value_at(value: Any, names: list[str]) -> Any:
    if not names:
        return _jsonable(value)
    name, *rest = names
    if isinstance(value, Record):
        inner = getattr(value, name)
        if rest and isinstance(inner, tuple):
            return [_value_at(step, rest) for step in inner]
        return _ABSENT if rest and inner is None else _value_at(inner, rest)
    if isinstance(value, Mapping):
        return _value_at(value[name], rest) if name in value else _ABSENT
    return _jsonable(value)  # inside a mapping, what is no mapping is shown as a whole


def _jsonable(value: Any) -> Any:
    if isinstance(value, Record):
        return value.model_dump(mode="json")
    if isinstance(value, tuple):
        return [_jsonable(item) for item in value]
    return value


def narrower(reads: Iterable[str], filled: Iterable[str]) -> tuple[str, ...]:
    """Return the paths of ``reads`` that ``filled`` (what a door fills) does not cover."""
    full = tuple(filled)
    return tuple(
        path
        for path in tree_of(reads).paths()
        if not any(_covers(known, _NEEDS.get(path, path)) or _covers(known, path) for known in full)
    )


def _covers(known: str, path: str) -> bool:
    return path == known or path.startswith(f"{known}.")

"""What a grader may see: exactly the paths that its card lists under ``reads``.

The key of a cached Score covers these paths and no others, so a read that is not listed would
bring back a stale Score one day. The view refuses it on the first day instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NoReturn

from rewardhub.errors import GraderDefinitionError, UndeclaredReadError, did_you_mean
from rewardhub.records import Record, Step, Task, Trajectory

DEFAULT_READS = ("final_text", "steps.text", "status", "task.messages", "task.reference")
"""What every door fills; the grader's own keys of ``task.checks`` come on top."""

_COMPUTED: dict[type[Record], frozenset[str]] = {
    Trajectory: frozenset({"final_text", "tool_calls"}),
    Task: frozenset({"prompt"}),
    Step: frozenset(),
}
_NEEDS = {"final_text": "steps.text", "tool_calls": "steps.tool_calls", "prompt": "task.messages"}
_NESTED: dict[type[Record], dict[str, type[Record]]] = {
    Trajectory: {"task": Task, "steps": Step},
    Task: {},
    Step: {},
}
_MAPPINGS = frozenset({"checks", "metadata", "artifacts", "files", "environment"})


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
        known = set(record.model_fields) | _COMPUTED[record]
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


def view_of(reads: Iterable[str], grader: str) -> Callable[[Trajectory], Trajectory]:
    """Return a function that shows a trajectory to ``grader`` through ``reads`` only.

    Any other access raises `UndeclaredReadError`, which says what to add to the card.
    """
    return _view_class(tree_of(reads).paths(), grader)  # type: ignore[return-value]


@cache
def _view_class(paths: tuple[str, ...], grader: str) -> type[Any]:
    return _build(Trajectory, tree_of(paths), grader, "")


def _build(record: type[Record], tree: Tree, grader: str, prefix: str) -> type[Any]:
    members: dict[str, Any] = {"__slots__": ("_record", "_shown"), "__doc__": record.__doc__}
    for name, node in tree.items():
        members[name] = property(_getter(record, name, node, grader, prefix))

    def initialise(self: Any, record: Record) -> None:
        self._record = record

    def refuse(_self: Any, name: str) -> NoReturn:
        if name.startswith("__") or name == "_shown":
            raise AttributeError(name)
        path = prefix + name
        if name not in set(record.model_fields) | _COMPUTED[record]:
            if inspect.getattr_static(record, name, None) is None:
                known = set(record.model_fields) | _COMPUTED[record]
                hint = did_you_mean(name, known)
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


def _no_pickle(_self: Any) -> NoReturn:
    raise TypeError("a view is not plain data: pass the texts that the call needs instead")


def _getter(
    record: type[Record], name: str, node: Tree, grader: str, prefix: str
) -> Callable[[Any], Any]:
    if not node:
        return _field_getter(name)
    path = f"{prefix}{name}"
    if name in _MAPPINGS:
        keys = tuple(node)
        return lambda view: _PartOfMapping(getattr(view._record, name) or {}, keys, path, grader)
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

    __slots__ = ("_grader", "_keys", "_mapping", "_path")

    def __init__(
        self, mapping: Mapping[str, Any], keys: tuple[str, ...], path: str, grader: str
    ) -> None:
        self._mapping = mapping
        self._keys = keys
        self._path = path
        self._grader = grader

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise UndeclaredReadError(
                f"Grader `{self._grader}` read `{self._path}.{key}`, which its card does not list. "
                f'Add it: `GraderCard(..., reads=(*DEFAULT_READS, "{self._path}.{key}"))`.'
            )
        return self._mapping[key]

    def __contains__(self, key: object) -> bool:
        return key in self._keys and key in self._mapping

    def __iter__(self) -> Any:
        return (key for key in self._keys if key in self._mapping)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def values_of(reads: Iterable[str], trajectory: Trajectory) -> dict[str, Any]:
    """Return what ``reads`` shows of ``trajectory``, as JSON: the subject of a cached Score."""
    return {path: _value_at(trajectory, path.split(".")) for path in tree_of(reads).paths()}


def _value_at(value: Any, names: list[str]) -> Any:
    for depth, name in enumerate(names):
        if isinstance(value, tuple):
            return [_value_at(item, names[depth:]) for item in value]
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    return _jsonable(value)


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

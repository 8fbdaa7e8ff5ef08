"""`extends`: a reward file on top of its parent, every piece with the place where it was written.

Mappings merge, stages by name, graders by id; a key with null takes out what the parent says, and
so does a list item with null (``- cost: null``). New stages go to the end unless they say
``before: NAME``. What belongs to a grader or a resource (its options and bindings) is not carried
over to another one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rewardhub.errors import SpecError, UnknownNameError, did_you_mean
from rewardhub.host import Registry, SpecCard
from rewardhub.spec.marks import Mark, Mistakes, Node, shown
from rewardhub.spec.openai_graders import as_spec, is_openai_grader
from rewardhub.spec.source import node_of, read_yaml

FORMAT = 1
"""The version of the format that this rewardhub reads."""

Source = str | Path | Mapping[str, Any]


def read_source(source: Source, registry: Registry, mistakes: Mistakes) -> Node:
    """Return a reward file with all that it extends merged in.

    Args:
        source: a file (also an OpenAI grader's JSON), the name of a shipped spec, or a mapping.
        registry: knows the shipped specs.
        mistakes: takes what is wrong without keeping the rest from being read.

    Raises:
        SpecError: if nothing can be read.
    """
    if isinstance(source, Mapping):
        return with_parent(node_of(source), Path(), (), registry, mistakes)
    path = path_of(source, registry, Path())
    node = read_yaml(path)
    if is_openai_grader(node):
        node = as_spec(node, mistakes)
        if mistakes.errors:
            raise SpecError(mistakes.found)
    return with_parent(node, path.parent, (path,), registry, mistakes)


def path_of(source: str | Path, registry: Registry, folder: Path) -> Path:
    """Return the file behind a path or the name of a shipped spec.

    Raises:
        SpecError: if it is neither.
    """
    path = folder / source
    if isinstance(source, Path) or path.suffix in {".yaml", ".yml"} or path.is_file():
        return path
    try:
        return registry.get(SpecCard, source).card.path
    except UnknownNameError as error:
        mistakes = Mistakes()
        mistakes.add(Mark(), f"{error} A file is named with its ending: `{source}.yaml`.")
        raise SpecError(mistakes.found) from None


def with_parent(
    node: Node, folder: Path, opened: tuple[Path, ...], registry: Registry, mistakes: Mistakes
) -> Node:
    """Return ``node`` merged into its parent; ``opened`` are the files that led here.

    Raises:
        SpecError: if the format is a newer one, or the parent cannot be read.
    """
    _check_format(node, mistakes)
    name = node.fields.get("extends")
    node = node.without("extends")
    if name is None:
        return _without_before(node, mistakes)
    parent = _parent(name, folder, opened, registry, mistakes)
    if parent is None:
        # Without the parent all that it says would be missing: mistakes that are none.
        raise SpecError(mistakes.found)
    if "route" in parent.fields or "route" in node.fields:
        mistakes.add(name.key, "A route neither extends nor is extended; its specs may.")
        return node
    return _Merge(mistakes).file(parent, node)


def _parent(
    name: Node, folder: Path, opened: tuple[Path, ...], registry: Registry, mistakes: Mistakes
) -> Node | None:
    if not isinstance(name.value, str) or not name.value:
        problem = f"`extends` names one parent, a file or a shipped spec, not {shown(name.value)}."
        mistakes.add(name.mark, problem)
        return None
    try:
        path = path_of(name.value, registry, folder)
        if path.resolve() in {other.resolve() for other in opened}:
            circle = " -> ".join(other.name for other in (*opened, path))
            mistakes.add(name.mark, f"`extends` goes in a circle: {circle}. Take one of them out.")
            return None
        node = read_yaml(path)
        return with_parent(node, path.parent, (*opened, path), registry, mistakes)
    except SpecError as error:
        mistakes.take(error.mistakes, name.mark, f"`extends: {name.value}`")
        return None


def _check_format(node: Node, mistakes: Mistakes) -> None:
    version = node.fields.get("rewardhub")
    if version is None:
        problem = f"The version of the format is missing. Begin with `rewardhub: {FORMAT}`."
        mistakes.add(node.mark, problem)
    elif isinstance(version.value, bool) or not isinstance(version.value, int):
        problem = f"`rewardhub` must be the version of the format, {FORMAT}, not "
        mistakes.add(version.mark, problem + f"{shown(version.value)}.")
    elif version.value > FORMAT:
        mistakes.add(
            version.mark,
            f"The file is in format {version.value}, and this rewardhub reads format {FORMAT}. "
            "Install a newer one: `pip install --upgrade rewardhub-core`.",
        )
        raise SpecError(mistakes.found)
    elif version.value < FORMAT:
        mistakes.add(version.mark, f"There is no format {version.value}: `rewardhub: {FORMAT}`.")


def _without_before(node: Node, mistakes: Mistakes) -> Node:
    stages = node.fields.get("stages")
    if stages is None or not stages.items:
        return node
    for stage in stages.items:
        before = stage.fields.get("before")
        if before is not None:
            problem = "`before` finds a place among the stages of a parent, and this file extends "
            mistakes.add(before.key, problem + "none. Move the stage to its place.")
    kept = [stage.without("before") if stage.fields else stage for stage in stages.items]
    return _with_field(node, "stages", Node(kept, stages.mark, stages.key))


def _with_field(node: Node, name: str, value: Node) -> Node:
    return Node({**node.fields, name: value}, node.mark, node.key)


def entry_id(entry: Node) -> str:
    """Return the id of a grader entry: ``as``, else the last part of the name; may be empty."""
    return entry.text("as") or entry.text("use").rpartition("/")[2].replace("-", "_")


def _stage_name(stage: Node) -> str:
    return stage.text("name")


class _Merge:
    """A child on top of its parent."""

    def __init__(self, mistakes: Mistakes) -> None:
        self.mistakes = mistakes

    def file(self, parent: Node, child: Node) -> Node:
        return self.mapping(parent, child, {"stages": self.stages, "resources": self.resources})

    def mapping(
        self,
        parent: Node,
        child: Node,
        special: Mapping[str, Callable[[Node, Node], Node]] | None = None,
    ) -> Node:
        fields = dict(parent.fields)
        for name, node in child.fields.items():
            below = fields.get(name)
            if below is not None and node.value is None:
                del fields[name]
            elif below is None:
                fields[name] = node
            elif special and name in special:
                fields[name] = special[name](below, node)
            elif isinstance(below.value, dict) and isinstance(node.value, dict):
                fields[name] = self.mapping(below, node)
            else:
                fields[name] = node
        return Node(fields, child.mark, child.key)

    def resources(self, parent: Node, child: Node) -> Node:
        kept = {
            name: node
            for name, node in parent.fields.items()
            if name not in child.fields or not _other_card(node, child.fields[name])
        }
        return self.mapping(Node(kept, parent.mark, parent.key), child)

    def stages(self, parent: Node, child: Node) -> Node:
        merged = self.named(parent, child, "stage", _stage_name, self.stage)
        order = list(merged.items)
        for stage in child.items:
            before = stage.fields.get("before")
            if before is not None:
                self.place(order, _stage_name(stage), before)
        kept = [stage.without("before") if stage.fields else stage for stage in order]
        return Node(kept, merged.mark, merged.key)

    def place(self, order: list[Node], name: str, before: Node) -> None:
        names = [_stage_name(stage) for stage in order]
        if before.value not in names or before.value == name or name not in names:
            others = [other for other in names if other != name]
            hint = did_you_mean(str(before.value), others)
            problem = f"`before` names another stage, and none is called {shown(before.value)}."
            self.mistakes.add(before.mark, problem.replace("the text ", "") + hint)
            return
        moved = order.pop(names.index(name))
        order.insert([_stage_name(stage) for stage in order].index(str(before.value)), moved)

    def stage(self, parent: Node, child: Node) -> Node:
        return self.mapping(parent, child, {"graders": self.graders})

    def graders(self, parent: Node, child: Node) -> Node:
        return self.named(parent, child, "grader", entry_id, self.entry)

    def entry(self, parent: Node, child: Node) -> Node:
        if _other_card(parent, child):
            parent = parent.without("options", "bind", "limits")
        return self.mapping(parent, child)

    def named(
        self,
        parent: Node,
        child: Node,
        what: str,
        name_of: Callable[[Node], str],
        merge: Callable[[Node, Node], Node],
    ) -> Node:
        """Return the items of both lists, those with the same name merged."""
        if not isinstance(child.value, list) or not isinstance(parent.value, list):
            return child
        items = list(parent.items)
        for item in child.items:
            names = [name_of(other) for other in items]
            gone = _taken_out(item)
            name = gone or name_of(item)
            if gone and name not in names:
                problem = f"There is no {what} `{name}` to take out.{did_you_mean(name, names)}"
                self.mistakes.add(item.fields[name].key, problem)
            elif gone:
                del items[names.index(name)]
            elif name and name in names:
                index = names.index(name)
                items[index] = merge(items[index], item)
            else:
                items.append(item)
        return Node(items, child.mark, child.key)


def _taken_out(item: Node) -> str:
    """Return the name that ``- NAME: null`` takes out, or an empty string for any other item."""
    if len(item.fields) != 1:
        return ""
    name, node = next(iter(item.fields.items()))
    return name if node.value is None else ""


def _other_card(parent: Node, child: Node) -> bool:
    use = child.text("use")
    return bool(use) and use != parent.text("use")

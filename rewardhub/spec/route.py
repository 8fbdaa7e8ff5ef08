"""`route`: a reward file that picks a spec by a field of the task."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewardhub.errors import SpecError, did_you_mean
from rewardhub.host import Registry
from rewardhub.records import Task
from rewardhub.spec.drafts import SpecDraft
from rewardhub.spec.explain import Subject, validated
from rewardhub.spec.extends import path_of, read_source, with_parent
from rewardhub.spec.marks import Mistakes, Node, shown
from rewardhub.spec.model import Route
from rewardhub.spec.resolve import resolve
from rewardhub.spec.shape import RouteShape

_MAPPINGS = ("metadata", "checks", "environment", "files")


@dataclass(slots=True, eq=False)
class RouteDraft:
    """A route while it is put together; ``spec`` is None where it has mistakes.

    ``values`` are those that the file lists, ``default`` among them, with those whose spec is
    missing from ``specs`` because it could not be read.
    """

    file: str
    node: Node
    by: str = "task.domain"
    values: Collection[str] = ()
    specs: Mapping[str, SpecDraft] = field(default_factory=dict[str, SpecDraft])
    default: SpecDraft | None = None
    spec: Route | None = None


def resolve_route(node: Node, folder: Path, registry: Registry, mistakes: Mistakes) -> RouteDraft:
    """Return the route that ``node`` says, with each of its specs.

    Paths are relative to ``folder``. A default may be missing here: whether the specs cover every
    task is known with the tasks.
    """
    own = Mistakes()
    draft = RouteDraft(node.mark.file, node)
    validated(RouteShape, node.without("rewardhub"), Subject("", "A route"), own)
    route = node.fields["route"]
    targets = dict(route.fields)
    by = targets.pop("by", None)
    if isinstance(route.value, dict):
        draft.by = _checked_path(by, route, own)
    draft.values = set(targets)
    read = _Specs(folder, registry, own)
    found = {value: read.spec(value, target) for value, target in targets.items()}
    specs = {value: spec for value, spec in found.items() if spec is not None}
    draft.default = specs.pop("default", None)
    draft.specs = specs
    if not own.errors:
        draft.spec = Route(
            by=draft.by,
            specs={value: spec.spec for value, spec in specs.items() if spec.spec},
            default=draft.default.spec if draft.default else None,
            file=draft.file,
            raw={**node.plain, "route": {"by": draft.by, **_raw(specs, draft.default)}},
        )
    mistakes.found += [mistake for mistake in own.found if mistake not in mistakes.found]
    return draft


def _raw(specs: Mapping[str, SpecDraft], default: SpecDraft | None) -> dict[str, Any]:
    every = {**specs, **({"default": default} if default else {})}
    return {value: spec.node.plain for value, spec in every.items()}


def _checked_path(by: Node | None, route: Node, mistakes: Mistakes) -> str:
    """Return the path that decides; the default where it has mistakes."""
    default = "task.domain"
    if by is None:
        mistakes.add(route.mark, f"`route` needs `by`, the field that decides: `by: {default}`.")
        return default
    names = by.value.split(".") if isinstance(by.value, str) else []
    known = len(names) > 1 and names[0] == "task" and names[1] in Task.model_fields
    if known and all(names) and (len(names) == 2 or names[1] in _MAPPINGS):
        return str(by.value)
    problem = f"`by` names a field of the task, as `{default}` or `task.metadata.level`, not "
    hint = did_you_mean(names[1], Task.model_fields) if len(names) > 1 and not known else ""
    mistakes.add(by.mark, f"{problem}{shown(by.value)}.{hint}")
    return default


class _Specs:
    """Reads the specs of a route, each file once."""

    def __init__(self, folder: Path, registry: Registry, mistakes: Mistakes) -> None:
        self.folder = folder
        self.registry = registry
        self.mistakes = mistakes
        self.found: dict[Path, SpecDraft | None] = {}

    def spec(self, value: str, target: Node) -> SpecDraft | None:
        """Return the spec for ``value``, or None where there is none to speak of."""
        name = "..." if target.fields else target.value
        try:
            if target.fields:
                node = with_parent(target, self.folder, (), self.registry, self.mistakes)
                return self.resolved(value, target, node)
            if not isinstance(name, str) or not name:
                problem = f"`{value}` leads to a spec, a file or a shipped one, not to "
                self.mistakes.add(target.mark, f"{problem}{shown(name)}.")
                return None
            path = path_of(name, self.registry, self.folder)
            if path.resolve() not in self.found:
                node = read_source(path, self.registry, self.mistakes)
                self.found[path.resolve()] = self.resolved(value, target, node)
            return self.found[path.resolve()]
        except SpecError as error:
            self.mistakes.take(error.mistakes, target.mark, f"`{value}: {name}`")
            return None

    def resolved(self, value: str, target: Node, node: Node) -> SpecDraft | None:
        if "route" in node.fields:
            problem = f"`{value}` leads to a route, and a route leads to specs only."
            self.mistakes.add(target.mark, problem)
            return None
        return resolve(node, self.registry, self.mistakes)

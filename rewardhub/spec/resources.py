"""Resources of a spec: found by name, made of their options, bound to graders' parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from rewardhub.contracts import Judge, Resource
from rewardhub.errors import UnknownNameError, did_you_mean
from rewardhub.host import (
    JudgeCard,
    ModelCard,
    PluginSource,
    Registered,
    Registry,
    SandboxCard,
    resource_class,
)
from rewardhub.spec.drafts import PartDraft
from rewardhub.spec.explain import Subject, validated
from rewardhub.spec.marks import Mistakes, Node
from rewardhub.spec.model import JUDGE_LIMITS, LIMITS, Bound, ResourceEntry
from rewardhub.spec.options import made_of
from rewardhub.spec.secrets import holds_secret, is_secret, is_spared
from rewardhub.spec.shape import ResourceShape

ResourceCard = SandboxCard | JudgeCard | ModelCard
CARDS: tuple[type[ResourceCard], ...] = (SandboxCard, JudgeCard, ModelCard)
_OWN = tuple(ResourceShape.model_fields)


class Resources:
    """The ``resources`` of one spec.

    Attributes:
        entries: those without mistakes, by name.
        unknown: names of those that have mistakes, so nothing is said of what they may serve.
    """

    def __init__(
        self,
        nodes: Mapping[str, Node],
        parts: Sequence[PartDraft],
        registry: Registry,
        mistakes: Mistakes,
    ) -> None:
        self.registry = registry
        self.mistakes = mistakes
        self.entries: dict[str, ResourceEntry] = {}
        self.nodes = nodes
        for name, each in nodes.items():
            entry = self._made(name, each, _kinds_needed(name, parts))
            if entry is not None:
                self.entries[name] = entry
        self.unknown = set(nodes) - set(self.entries)

    def _made(self, name: str, node: Node, needed: set[str]) -> ResourceEntry | None:
        where = f"Resource `{name}`"
        shape = validated(ResourceShape, node, Subject(where, "A resource"), self.mistakes)
        if shape is None:
            return None
        registered = self._card(name, shape.use, node, needed)
        if registered is None:
            return None
        resource = self._instance(name, registered.card, node.without(*_OWN))
        if resource is None:
            return None
        limits = {limit: getattr(shape, limit) for limit in (*LIMITS, *JUDGE_LIMITS)}
        entry = ResourceEntry(
            name=name,
            use=shape.use,
            resource=cast("Resource", resource),
            options=_options(resource, node),
            owner=_label(registered.owner),
            **limits,
        )
        self._check_limits(entry, node)
        return entry

    def _check_limits(self, entry: ResourceEntry, node: Node) -> None:
        """Note limits that this resource cannot be held to."""
        for limit in JUDGE_LIMITS:
            if getattr(entry, limit) is not None and (why := _why_not(entry, limit)):
                problem = f"Resource `{entry.name}`: `{limit}` {why}"
                self.mistakes.add(node.fields[limit].key, problem)

    def _card(
        self, name: str, use: str, node: Node, needed: set[str]
    ) -> Registered[ResourceCard] | None:
        mark = node.fields["use"].mark
        found = [self.registry.all(kind)[use] for kind in CARDS if use in self.registry.all(kind)]
        if len(found) > 1:
            found = [each for each in found if each.card.kind in needed] or found
        if len(found) == 1:
            return found[0]
        if found:
            kinds = " or ".join(f"the {each.card.kind} `{use}`" for each in found)
            self.mistakes.add(
                mark,
                f"Resource `{name}`: `use: {use}` may be {kinds}, and no grader's parameter says "
                "which. Give the resource the name of the parameter that it serves.",
            )
        else:
            self.mistakes.add(mark, self._unknown(name, use, needed))
        return None

    def _unknown(self, name: str, use: str, needed: set[str]) -> str:
        where = f"resource `{name}`"
        kinds = [kind for kind in CARDS if kind.kind in needed] or list(CARDS)
        if len(kinds) == 1:
            try:
                self.registry.get(kinds[0], use, where=where)
            except UnknownNameError as error:
                return str(error)
        names = [known for kind in kinds for known in self.registry.all(kind)]
        what = ", ".join(kind.kind for kind in kinds[:-1]) + f" or {kinds[-1].kind}"
        return str(UnknownNameError(what, use, names, where))

    def _instance(self, name: str, card: ResourceCard, node: Node) -> Any:
        return made_of(
            resource_class(card),
            node,
            self.mistakes,
            where=f"Resource `{name}`",
            owner=f"`{card.name}`",
            name=name,
            spared=is_spared(card.kind),
        )

    def bind(self, part: PartDraft) -> dict[str, Bound]:
        """Return parameter -> resource for a part; what cannot be bound is noted."""
        explicit = part.node.below("bind")
        for slot in explicit:
            self._check_slot(part, slot, explicit[slot])
        bound: dict[str, Bound] = {}
        for slot, kind in part.slots.items():
            name: Bound | None
            if part.takes_several(slot):
                name = self._several(part, slot, kind, explicit.get(slot))
            elif slot in explicit:
                name = self._explicit(part, slot, kind, explicit[slot])
            else:
                name = self._implicit(part, slot, kind)
            if name:
                bound[slot] = name
        return bound

    def _check_slot(self, part: PartDraft, slot: str, node: Node) -> None:
        if part.registered is None or slot in part.slots:
            return
        if slot in part.registered.card.signature.slots:
            problem = f"`bind`: the engine itself provides `{slot}`. Take the line out."
        else:
            use = part.registered.card.name
            names = ", ".join(f"`{name}`" for name in part.slots) or "none"
            hint = did_you_mean(slot, part.slots) or f" It has {names}."
            problem = f"`bind`: `{use}` has no parameter `{slot}` for a resource.{hint}"
        self.mistakes.add(node.key, f"{part.where}: {problem}")

    def _several(
        self, part: PartDraft, slot: str, kind: type[Resource], node: Node | None
    ) -> tuple[str, ...] | None:
        """Return the names that a parameter for several gets: by default, all of the kind."""
        if node is None:
            found = self._of(kind)
            if not found and not self.unknown:
                self._say_missing(part, slot, kind)
            return tuple(found)
        nodes = node.items or (node,)
        names = [self._explicit(part, slot, kind, each) for each in nodes]
        for place, name in enumerate(names):
            if name is not None and name in names[:place]:
                problem = f"`bind`: `{slot}` names `{name}` twice."
                self.mistakes.add(nodes[place].mark, f"{part.where}: {problem}")
        if isinstance(node.value, list) and not node.value:
            problem = f"`bind`: `{slot}` is empty. Name the resources that it gets."
            self.mistakes.add(node.mark, f"{part.where}: {problem}")
        return tuple(name for name in names if name is not None)

    def _explicit(self, part: PartDraft, slot: str, kind: type[Resource], node: Node) -> str | None:
        name = node.value
        if isinstance(name, list) and not part.takes_several(slot):
            problem = f"`bind`: `{slot}` takes one resource, not a list."
            self.mistakes.add(node.mark, f"{part.where}: {problem}")
        if not isinstance(name, str) or name in self.unknown:
            return None  # said already
        entry = self.entries.get(name)
        if entry is None:
            hint = did_you_mean(name, self.nodes) or _known(self.nodes)
            problem = f"`bind`: there is no resource `{name}`.{hint}"
        elif not isinstance(entry.resource, kind):
            problem = f"`bind`: `{slot}` is a {kind.kind}, and the resource `{name}` is a "
            problem += f"{entry.resource.kind}.{_known(self._of(kind))}"
        else:
            return name
        self.mistakes.add(node.mark, f"{part.where}: {problem}")
        return None

    def _implicit(self, part: PartDraft, slot: str, kind: type[Resource]) -> str | None:
        candidates = self._of(kind)
        if slot in candidates:
            return slot
        if self.unknown:
            return candidates[0] if len(candidates) == 1 else None
        if len(candidates) == 1:
            return candidates[0]
        self._say_missing(part, slot, kind)
        return None

    def _say_missing(self, part: PartDraft, slot: str, kind: type[Resource]) -> None:
        """Note that a parameter has no resource, or too many to choose from."""
        candidates = self._of(kind)
        assert part.registered is not None
        use = part.registered.card.name
        need = f"`{use}` needs a {kind.kind} for its parameter `{slot}`"
        if candidates:
            choice = " or ".join(f"`{name}`" for name in candidates)
            problem = f"{need}, and it may be {choice}. Say which: "
            problem += f"`bind: {{{slot}: {candidates[0]}}}`."
        elif slot in self.entries:
            problem = f"{need}, and the resource `{slot}` is a {self.entries[slot].resource.kind}. "
            problem += self._add(slot, kind)
        else:
            problem = f"{need}, and the spec has none. {self._add(slot, kind)}"
        self.mistakes.add(part.node.mark, f"{part.where}: {problem}")

    def _of(self, kind: type[Resource]) -> list[str]:
        return [name for name, entry in self.entries.items() if isinstance(entry.resource, kind)]

    def _add(self, slot: str, kind: type[Resource]) -> str:
        card = next(card for card in CARDS if card.kind == kind.kind)
        installed = list(self.registry.all(card))
        if not installed:
            return f"No {kind.kind} is installed either: install a pack that brings one."
        others = f" ({', '.join(f'`{name}`' for name in installed)} are installed)"
        return (
            f"Add it: `resources: {{{slot}: {{use: {installed[0]}}}}}`"
            f"{others if len(installed) > 1 else ''}."
        )

    def warn_of_unused(self, parts: Iterable[PartDraft]) -> None:
        """Warn of each resource that no grader uses."""
        used: set[str] = set()
        for bound in (bound for part in parts for bound in part.bind.values()):
            used.update((bound,) if isinstance(bound, str) else bound)
        for name in self.entries:
            if name not in used:
                problem = f"Resource `{name}`: no grader uses it."
                self.mistakes.warn(self.nodes[name].key, problem)


def _kinds_needed(name: str, parts: Sequence[PartDraft]) -> set[str]:
    """Return the kinds of the parameters that this resource is bound to, by name or by `bind`."""
    needed: set[str] = set()
    for part in parts:
        bind = part.node.below("bind")
        for slot, kind in part.slots.items():
            named = bind[slot].plain if slot in bind else slot
            if name in (named if isinstance(named, list) else [named]):
                needed.add(kind.kind)
    return needed


def _options(resource: Any, node: Node) -> dict[str, Any]:
    """Return the options with their defaults, secrets still as ``{env: NAME}``.

    A default under a key of a secret is left out: it may come from the environment.
    """
    options: dict[str, Any] = resource.model_dump(mode="json", by_alias=True)
    written = node.without(*_OWN).fields
    secret = {name: value.plain for name, value in written.items() if holds_secret(value)}
    kept = {
        name: value for name, value in options.items() if name in written or not is_secret(name)
    }
    return kept | secret


def _why_not(entry: ResourceEntry, limit: str) -> str:
    """Return why a resource cannot be held to one of the limits of judges; empty if it can."""
    if not isinstance(entry.resource, Judge):
        return f"is for judges, and `{entry.use}` is a {entry.resource.kind}. Take it out."
    if limit in {"deadline", "retries"}:
        return ""
    bound = entry.resource.at_most(())
    if bound is None:
        return (
            f"cannot be held: `{entry.use}` does not tell how many tokens a call uses at most. "
            "Use `max_calls`."
        )
    if limit == "max_cost" and not bound.cost:
        return "needs prices, and there are none. Add them to the options of the judge."
    return ""


def _known(names: Iterable[str]) -> str:
    listed = ", ".join(f"`{name}`" for name in names)
    return f" Known: {listed}." if listed else ""


def _label(owner: PluginSource) -> str:
    parts = (owner.distribution or owner.name, owner.version, owner.source)
    return " ".join(part for part in parts if part)

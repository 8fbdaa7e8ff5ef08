"""Resources of a spec: found by name, made of their options, bound to graders' parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from rewardhub.contracts import Resource
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
from rewardhub.spec.model import ResourceEntry
from rewardhub.spec.secrets import hide, holds_secret, is_secret, refuse_plain_secrets, revealed
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
        return ResourceEntry(
            name=name,
            use=shape.use,
            resource=cast("Resource", resource),
            options=_options(resource, node),
            owner=_label(registered.owner),
            max_concurrency=shape.max_concurrency,
            max_per_minute=shape.max_per_minute,
            max_calls=shape.max_calls,
        )

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
        where = f"Resource `{name}`"

        def fix(key: str) -> str:
            variable = f"{name}_{key}".upper().replace("-", "_")
            return f"Name the environment variable that holds it: `{key}: {{env: {variable}}}`."

        refuse_plain_secrets(node, where, fix, self.mistakes)
        found = Mistakes()
        data = revealed(node, where, found)
        subject = Subject(where, f"`{card.name}`", "option ")
        resource = validated(resource_class(card), node, subject, found, data=data)
        for mistake in found.found:
            # What a resource says of its options may quote them.
            message = hide(mistake.message, node)
            self.mistakes.found.append(replace(mistake, message=message))
        return resource

    def bind(self, part: PartDraft) -> dict[str, str]:
        """Return parameter -> resource for a part; what cannot be bound is noted."""
        explicit = part.node.below("bind")
        for slot in explicit:
            self._check_slot(part, slot, explicit[slot])
        bound: dict[str, str] = {}
        for slot, kind in part.slots.items():
            if slot in explicit:
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

    def _explicit(self, part: PartDraft, slot: str, kind: type[Resource], node: Node) -> str | None:
        name = node.value
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
        return None

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
        used = {name for part in parts for name in part.bind.values()}
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
            if (bind[slot].value if slot in bind else slot) == name:
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


def _known(names: Iterable[str]) -> str:
    listed = ", ".join(f"`{name}`" for name in names)
    return f" Known: {listed}." if listed else ""


def _label(owner: PluginSource) -> str:
    parts = (owner.distribution or owner.name, owner.version, owner.source)
    return " ".join(part for part in parts if part)

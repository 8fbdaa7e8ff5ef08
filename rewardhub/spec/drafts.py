"""A spec while it is being put together: what is known of each piece, mistakes or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rewardhub.contracts import AnyGrader, Limits, Resource, Workers
from rewardhub.expression import Expression
from rewardhub.host import GraderCard, Registered
from rewardhub.spec.marks import Node
from rewardhub.spec.model import Bound, Entry, ResourceEntry, Spec
from rewardhub.spec.shape import EntryShape, SpecShape, StageShape


def inline(where: str) -> str:
    """Return "Stage `x`" as it stands inside a sentence."""
    return where[:1].lower() + where[1:]


@dataclass(slots=True, eq=False)
class PartDraft:
    """One grader entry; what could not be told is None or empty.

    Attributes:
        node: where it was written.
        where: how messages begin: "Stage `outcome`, grader `tests`".
        stage: its stage.
        id: its id.
        shape: what the file says.
        registered: its card and owner.
        grader: the instance.
        when: its condition.
        bind: parameter -> name of a resource, or names of several.
    """

    node: Node
    where: str
    stage: StageDraft
    id: str
    shape: EntryShape | None = None
    registered: Registered[GraderCard] | None = None
    grader: AnyGrader | None = None
    when: Expression | None = None
    bind: dict[str, Bound] = field(default_factory=dict[str, Bound])

    @property
    def slots(self) -> Mapping[str, type[Resource]]:
        """The parameters that need a resource of the spec; workers come from the engine."""
        if self.registered is None:
            return {}
        slots = self.registered.card.signature.slots
        return {name: kind for name, kind in slots.items() if kind is not Workers}

    def takes_several(self, slot: str) -> bool:
        """Whether a parameter takes several resources."""
        return self.registered is not None and slot in self.registered.card.signature.several

    def entry(self) -> Entry:
        """Return the entry; only for a draft without mistakes."""
        assert self.shape is not None
        assert self.registered is not None
        assert self.grader is not None
        card = self.registered.card.limits
        said = self.shape.limits.model_dump(exclude_unset=True)
        limits = Limits(
            cpu_seconds=said.get("cpu_seconds", card.cpu_seconds),
            wall_seconds=said.get("wall_seconds", card.wall_seconds),
            memory_mb=said.get("memory_mb", card.memory_mb),
        )
        return Entry(
            id=self.id,
            use=self.shape.use,
            registered=self.registered,
            grader=self.grader,
            weight=self.shape.weight,
            when=self.when,
            optional=self.shape.optional,
            bind=self.bind,
            limits=limits,
            line=self.node.mark.line,
        )


@dataclass(slots=True, eq=False)
class StageDraft:
    """One stage."""

    node: Node
    where: str
    name: str
    shape: StageShape | None
    parts: Sequence[PartDraft] = ()
    formula: Expression | None = None

    @property
    def weight(self) -> float:
        """What the stage weighs in the reward: 1 unless said, and 0 for a gate."""
        if self.shape is None:
            return 0.0
        if self.shape.weight is not None:
            return self.shape.weight
        return 1.0 if self.shape.gate is None else 0.0


@dataclass(slots=True, eq=False)
class SpecDraft:
    """A spec; ``spec`` is None where it has mistakes."""

    file: str
    node: Node
    shape: SpecShape | None = None
    stages: Sequence[StageDraft] = ()
    resources: Mapping[str, ResourceEntry] = field(default_factory=dict[str, ResourceEntry])
    success: Expression | None = None
    spec: Spec | None = None

    @property
    def parts(self) -> Iterator[PartDraft]:
        """Every part, in order."""
        return (part for stage in self.stages for part in stage.parts)

"""A reward spec, resolved: every name bound, every option checked, every default filled in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias, cast

from rewardhub.contracts import AnyGrader, Limits, Resource
from rewardhub.expression import Expression
from rewardhub.host import GraderCard, Registered
from rewardhub.records import SpecInfo, Task, digest_of

Combine = Literal["mean", "min", "max", "product", "cascade", "formula"]
StepsRule = Literal["mean", "min", "last", "product"]
Credit = Literal["last", "spread"]
Bound: TypeAlias = str | tuple[str, ...]
"""The name of the resource that a parameter gets; the names of several, in order."""

LIMITS = ("max_concurrency", "max_per_minute", "max_calls")
"""The limits that any resource may have."""

JUDGE_LIMITS = ("max_tokens_per_minute", "max_tokens", "max_cost", "deadline", "retries")
"""The limits that only judges have: they know tokens and money, and the engine asks them again."""


@dataclass(frozen=True, kw_only=True)
class ResourceEntry:
    """One of the spec's ``resources``: a card's name and its checked options.

    Attributes:
        name: the slot name in the spec.
        use: the name of the card.
        resource: the instance, not opened yet; options are its fields. It holds the secrets, so
            it is neither shown nor digested.
        options: with every default, and secrets still as ``{env: NAME}``.
        owner: name and version of the distribution that brought it.
        max_concurrency: calls at a time; None: no limit.
        max_per_minute: calls a minute; None: no limit.
        max_calls: calls in a whole run; None: no limit.
        max_tokens_per_minute: tokens a minute, in and out; of judges, as all below.
        max_tokens: tokens in a whole run, in and out; None: no limit.
        max_cost: US dollars in a whole run; None: no limit.
        deadline: seconds that one call may take; None: the engine's default.
        retries: how often a call is made again whose endpoint broke; None: the engine's default.
    """

    name: str
    use: str
    resource: Resource = field(repr=False)
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    owner: str = ""
    max_concurrency: int | None = None
    max_per_minute: float | None = None
    max_calls: int | None = None
    max_tokens_per_minute: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    deadline: float | None = None
    retries: int | None = None

    @property
    def limits(self) -> Mapping[str, float]:
        """The limits that the spec sets; what a Reward is does not depend on them."""
        names = (*LIMITS, *JUDGE_LIMITS)
        found = {name: getattr(self, name) for name in names}
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One grader in a stage.

    Attributes:
        id: ``as``, else the last part of the name with ``-`` as ``_``; unique in the spec.
        use: the grader's name.
        registered: its card and owner.
        grader: the instance; its fields are the options.
        weight: inside the stage, above 0.
        when: condition over the ids of earlier parts, or None.
        optional: whether fault ``infrastructure`` is forgiven.
        bind: parameter name -> name of a resource of the spec, or names of several.
        limits: what one grading may use.
        line: where it stands in the file.
    """

    id: str
    use: str
    registered: Registered[GraderCard]
    grader: AnyGrader
    weight: float = 1.0
    when: Expression | None = None
    optional: bool = False
    bind: Mapping[str, Bound] = field(default_factory=dict[str, Bound])
    limits: Limits = Limits()
    line: int | None = None

    @property
    def card(self) -> GraderCard:
        """The grader's card."""
        return self.registered.card

    @cached_property
    def identity(self) -> str:
        """Digest of all that a Score of this entry depends on, besides trajectory and resources."""
        owner = self.registered.owner
        return digest_of(
            {
                "use": self.use,
                "card": self.card.version,
                "distribution": [owner.distribution, owner.version],
                "source": owner.source,
                "options": self.grader.model_dump(mode="json"),
                "depends_on": dict(self.grader.identity),
                "reads": sorted(self.card.all_reads),
                "group_by": self.card.group_by,
                "limits": [
                    self.limits.cpu_seconds,
                    self.limits.wall_seconds,
                    self.limits.memory_mb,
                ],
            }
        )


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A stage with a gate decides the reward when its value is below ``below``."""

    below: float
    reward: float


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stage: its parts, how they combine, and what that weighs in the reward."""

    name: str
    entries: tuple[Entry, ...]
    weight: float = 1.0
    gate: Gate | None = None
    combine: Combine = "mean"
    formula: Expression | None = None
    steps: StepsRule | None = None
    optional: bool = False
    monotone: bool = True
    line: int | None = None

    @cached_property
    def order(self) -> tuple[tuple[Entry, str, bool], ...]:
        """Each entry, its id, and whether it runs whatever becomes of the others."""
        cascade = self.combine == "cascade"
        return tuple(
            (entry, entry.id, entry.when is None and not cascade) for entry in self.entries
        )

    @cached_property
    def total(self) -> float:
        """The sum of the weights of its entries."""
        return sum(entry.weight for entry in self.entries)

    @cached_property
    def is_single(self) -> bool:
        """Whether the stage's value is just the value of its only part."""
        return len(self.entries) == 1 and self.combine == "mean" and self.steps is None


@dataclass(frozen=True, kw_only=True)
class Training:
    """What trainers are told: the last resort for unscored samples, and when to stop."""

    unscored_reward: float = 0.0
    stop_above: float = 0.2


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A reward spec, ready to run.

    ``success`` is a condition over part ids. ``range`` bounds every reward the spec can give.
    ``raw`` is what the file says after ``extends``, as JSON that `load` takes again.
    """

    name: str
    version: str = "1"
    range: tuple[float, float] = (-1.0, 1.0)
    success: Expression | None = None
    resources: Mapping[str, ResourceEntry] = field(default_factory=dict[str, ResourceEntry])
    stages: tuple[Stage, ...] = ()
    credit: Credit = "last"
    training: Training = Training()
    file: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def entries(self) -> Iterator[Entry]:
        """Every grader entry, in order."""
        return (entry for stage in self.stages for entry in stage.entries)

    @cached_property
    def places_steps(self) -> bool:
        """Whether any stage makes its value of step values."""
        return any(stage.steps is not None for stage in self.stages)

    @cached_property
    def group_entries(self) -> tuple[Entry, ...]:
        """The entries whose graders compare the attempts of a group."""
        shapes = ((entry, entry.card.signature.shape) for entry in self.entries)
        return tuple(entry for entry, shape in shapes if shape == "grade_group")

    @cached_property
    def stage_of(self) -> Mapping[str, Stage]:
        """Part id -> its stage."""
        return {entry.id: stage for stage in self.stages for entry in stage.entries}

    @cached_property
    def places(self) -> tuple[tuple[str, str, float], ...]:
        """Id, stage and weight of each part, in order."""
        return tuple(
            (entry.id, stage.name, entry.weight) for stage in self.stages for entry in stage.entries
        )

    @cached_property
    def digest(self) -> str:
        """Digest of all that a reward of this spec depends on; secrets are not in it."""
        return digest_of(
            {
                "name": self.name,
                "version": self.version,
                "success": self.success.text if self.success else None,
                "credit": self.credit,
                "resources": {
                    name: [entry.use, entry.owner, dict(entry.options)]
                    for name, entry in self.resources.items()
                },
                "stages": [_stage_identity(stage) for stage in self.stages],
            }
        )

    @cached_property
    def info(self) -> SpecInfo:
        """What every Reward carries of its spec."""
        return SpecInfo(self.name, self.version, self.digest)


def _stage_identity(stage: Stage) -> list[Any]:
    gate = [stage.gate.below, stage.gate.reward] if stage.gate else None
    parts = [
        [entry.id, entry.identity, entry.weight, entry.when.text if entry.when else None,
         entry.optional, dict(entry.bind)]
        for entry in stage.entries
    ]  # fmt: skip
    formula = stage.formula.text if stage.formula else None
    return [stage.name, stage.weight, gate, stage.combine, formula, stage.steps, stage.optional,
            parts]  # fmt: skip


def field_of(task: Task, path: str) -> Any:
    """Return what stands at ``path``, as ``task.metadata.level``; None where nothing does."""
    value: Any = task
    for name in path.split(".")[1:]:
        if isinstance(value, Mapping):
            value = cast("Mapping[str, Any]", value).get(name)
        else:
            value = getattr(value, name, None)
    return value


@dataclass(frozen=True, kw_only=True)
class Route:
    """A reward file that picks a spec by a field of the task.

    Attributes:
        by: path of the field, as ``task.domain``.
        specs: value of the field -> spec.
        default: the spec for any other value, or None.
        file: where it was read.
        raw: the same as JSON that `load` takes again, routed specs in place of their names.
    """

    by: str
    specs: Mapping[str, Spec]
    default: Spec | None = None
    file: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def spec_for(self, task: Task) -> Spec | None:
        """Return the spec that grades attempts at ``task``, or None if no route leads there."""
        return self.specs.get(str(field_of(task, self.by)), self.default)

    @property
    def all_specs(self) -> tuple[Spec, ...]:
        """Every spec of the route, each once."""
        found = {id(spec): spec for spec in (*self.specs.values(), self.default) if spec}
        return tuple(found.values())

    @cached_property
    def digest(self) -> str:
        """Digest of all that a reward of this route depends on."""
        routes = {value: spec.digest for value, spec in self.specs.items()}
        return digest_of([self.by, routes, self.default.digest if self.default else None])


RewardSpec = Spec | Route

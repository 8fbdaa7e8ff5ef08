"""What a reward file may say, piece by piece: keys, types, defaults.

Each piece is validated alone, so a mistake in one does not hide those in the others. What one
piece says about another (names, ranges, order) is checked where the pieces are put together.
"""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from rewardhub.contracts.described import Described
from rewardhub.spec.model import Combine, Credit, StepsRule


class Shape(Described):
    """The base of every piece: unknown keys are refused, and nothing is converted."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class TrainingShape(Shape):
    """What trainers are told."""

    unscored_reward: float = 0.0
    """The last resort for a sample without a reward, where a trainer takes only numbers."""

    stop_above: float = Field(default=0.2, gt=0, le=1)
    """The share of unscored samples (grader and infrastructure faults) that stops a training."""


class GateShape(Shape):
    """A gate: below a value nothing later runs, and the reward is decided."""

    below: float = Field(gt=0, le=1)
    """The gate closes when the value of its stage is below this."""

    reward: float
    """The reward of an attempt that the gate stops."""


class LimitsShape(Shape):
    """What one grading may use; null means no limit. Default: what the grader's card says."""

    cpu_seconds: float | None = Field(default=None, gt=0)
    """CPU time of the process and its descendants."""

    wall_seconds: float | None = Field(default=None, gt=0)
    """Wall time."""

    memory_mb: int | None = Field(default=None, gt=0)
    """Resident memory of the process and its descendants, in MiB."""


class ResourceShape(Described):
    """Something that graders share. Its options stand beside `use`."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    use: str
    """The name of a sandbox, a judge or a model."""

    max_concurrency: int | None = Field(default=None, ge=1)
    """How many calls it takes at a time."""

    max_per_minute: float | None = Field(default=None, gt=0)
    """How many calls it takes a minute."""

    max_calls: int | None = Field(default=None, ge=1)
    """How many calls it takes in a whole run."""

    max_tokens_per_minute: int | None = Field(default=None, ge=1)
    """A judge: how many tokens it takes a minute, in and out."""

    max_tokens: int | None = Field(default=None, ge=1)
    """A judge: how many tokens it takes in a whole run, in and out."""

    max_cost: float | None = Field(default=None, gt=0)
    """A judge: what it may cost in a whole run, in US dollars, by the prices among its options."""

    deadline: float | None = Field(default=None, gt=0)
    """A judge: how many seconds one call may take, without its waiting for a turn. Default 120."""

    retries: int | None = Field(default=None, ge=0)
    """A judge: how often a call is made again whose endpoint broke. Default 4."""


class EntryShape(Shape):
    """One grader in a stage."""

    use: str
    """The name of the grader, as `math/equivalent`."""

    id: str | None = Field(default=None, alias="as", min_length=1)
    """Its id in conditions and formulas. Default: the last part of the name, `-` as `_`."""

    weight: float = Field(default=1.0, gt=0)
    """Its weight in the mean of the stage."""

    when: str | None = None
    """A condition over the ids of earlier parts: where it is false, the part counts as 0."""

    optional: bool = False
    """Whether the part is left out where the infrastructure breaks, instead of giving no reward."""

    options: dict[str, Any] = Field(default_factory=dict)
    """The options of the grader."""

    bind: dict[str, str | list[str]] = Field(default_factory=dict)
    """Parameter of the grader -> name of a resource, where the names differ; a list of names for a
    parameter that takes several. Default for those: all resources of the kind."""

    limits: LimitsShape = LimitsShape()
    """What one grading may use. Default: what the grader's card says."""


class StageShape(Shape):
    """One stage: its graders, how they combine, and what that weighs in the reward."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    """The name of the stage, unique in the spec."""

    weight: float | None = None
    """What the stage adds: W v, or W (1 - v) where W is negative. Default 1, and 0 for a gate."""

    gate: GateShape | None = None
    """Makes the stage a gate."""

    combine: Combine | None = None
    """How its parts make its value. Default: `formula` where there is one, else `mean`."""

    formula: str | None = None
    """A formula over the ids of its parts that stays in [0, 1]."""

    steps: StepsRule | None = None
    """How the values of single steps make the value of a part, and where the reward lands."""

    optional: bool = False
    """Whether the stage adds 0, instead of giving no reward, where none of its parts is graded."""

    monotone: bool = True
    """Whether passing more never pays less. Say false for a condition or formula that can fall."""

    before: str | None = None
    """In a file with `extends`: the stage that this one stands before."""

    graders: list[Any] = Field(min_length=1)
    """The graders, in order."""


class SpecShape(Shape):
    """A reward spec: which graders count, in what order and how much."""

    rewardhub: int = 1
    """The version of the format: 1."""

    extends: str | None = None
    """A parent, a file or the name of a shipped spec, that this one changes."""

    name: str = Field(min_length=1)
    """The name of the spec, as `code/staged`."""

    version: str | int | float = "1"
    """The version of the spec, for its author."""

    range: tuple[float, float] = (-1.0, 1.0)
    """The lowest and the highest reward that the spec may give."""

    success: str | None = None
    """The condition of the 0/1 outcome. Default: the only part of the stage `outcome` is 1."""

    resources: dict[str, Any] = Field(default_factory=dict)
    """What graders share: sandboxes, judges, models."""

    stages: list[Any] = Field(min_length=1)
    """The stages, in order."""

    credit: Credit = "last"
    """Where the share of the reward that belongs to no step lands: `last` or `spread`."""

    training: TrainingShape = TrainingShape()
    """What trainers are told."""


class RouteShape(Shape):
    """A reward file that picks a spec by a field of the task."""

    rewardhub: int = 1
    """The version of the format: 1."""

    route: dict[str, Any]
    """`by`, a field of the task; each of its values with a spec; and `default`."""

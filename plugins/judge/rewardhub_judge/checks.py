"""Criteria: what a judge answers about a text, said in a spec or by the task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    ValidationError,
    WithJsonSchema,
    create_model,
    model_validator,
)

from rewardhub import Check, TaskError, Trajectory
from rewardhub_judge.verdicts import JudgeVerdict

__all__ = ["NOT_APPLICABLE", "Criterion", "JudgeCheck", "criteria_of", "shape_of", "single_shape"]

NOT_APPLICABLE = "not applicable"
RESERVED = frozenset(
    {"completion_tokens", "judge_cached", "judge_calls", "outside", "prompt_tokens", "steering"}
)
"""Metrics of every grader of this pack."""


class Criterion(Check):
    """One thing that a judge is asked about a text.

    Also read as rows in the manner of HealthBench have it: ``criterion`` for ``question``, and
    ``points``, whose sign says whether the criterion is ``negated``, for ``weight``.

    Attributes:
        name: its name in metrics; default: ``c1``, ``c2``... by its place.
        question: what is asked, so that yes, the last level or the high end is good.
        kind: ``binary`` (met or not), ``ordinal`` (one of ``levels``), ``numeric`` (a number in
            ``range``). Default: ordinal where there are levels, numeric where there is a range.
        levels: descriptions of the levels, from the worst to the best; the judge answers 1 for the
            first.
        range: the lowest and the highest number.
        weight: how much it counts among the others.
        negated: what is asked is bad: yes, the last level or the high end counts 0.
        optional: the judge may answer that it does not apply; then it is left out.
    """

    name: str = Field(default="", pattern=r"^([A-Za-z][A-Za-z0-9_-]*)?$")
    question: str = Field(min_length=1)
    kind: Literal["binary", "ordinal", "numeric"] = "binary"
    levels: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    range: tuple[float, float] | None = None
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    negated: bool = False
    optional: bool = False

    @model_validator(mode="before")
    @classmethod
    def _from_row(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"question": value}
        if not isinstance(value, Mapping):
            return value
        # Options are checked strictly, where what a validator hands on is no longer JSON.
        fields = {
            key: tuple(each) if isinstance(each, list) else each for key, each in value.items()
        }
        if "criterion" in fields and "points" in fields:
            points = fields.pop("points")
            fields["question"] = fields.pop("criterion")
            fields.pop("tags", None)
            if isinstance(points, int | float):
                fields |= {"weight": abs(points), "negated": points < 0}
        if "kind" not in fields and ("levels" in fields or "range" in fields):
            fields["kind"] = "ordinal" if "levels" in fields else "numeric"
        return fields

    @model_validator(mode="after")
    def _says_enough(self) -> Self:
        if (self.kind == "ordinal") != bool(self.levels):
            raise ValueError("`levels` and the kind `ordinal` go together")
        if self.kind == "ordinal" and len(self.levels) < 2:
            raise ValueError("there are at least two levels")
        if (self.kind == "numeric") != (self.range is not None):
            raise ValueError("`range` and the kind `numeric` go together")
        if self.range is not None and not self.range[1] - self.range[0] > 0:
            raise ValueError("`range` runs from a lower number to a higher one")
        return self

    @property
    def menu(self) -> tuple[str, ...]:
        """The verdicts as JSON writes them, from worst to best; empty for numeric."""
        if self.kind == "binary":
            return ("false", "true")
        return tuple(str(level) for level in range_of(self.levels))

    def value_of(self, verdict: bool | float) -> float:
        """Return what a verdict is worth, in [0, 1]."""
        value = float(verdict)
        if self.kind == "ordinal":
            value = (value - 1) / (len(self.levels) - 1)
        elif self.range is not None:
            low, high = self.range
            value = min(1.0, max(0.0, (value - low) / (high - low)))
        return 1.0 - value if self.negated else value


def range_of(levels: Sequence[str]) -> range:
    """Return the numbers of the levels, from 1."""
    return range(1, len(levels) + 1)


class JudgeCheck(Check):
    """``checks.judge``: the criteria of the task; a list of them will do, too."""

    criteria: tuple[Criterion, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _from_list(cls, value: Any) -> Any:
        return {"criteria": tuple(value)} if isinstance(value, list | tuple) else value

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        fitting(self.criteria)
        return self


def fitting(criteria: Sequence[Criterion]) -> None:
    """Check that criteria can stand side by side.

    Raises:
        ValueError: for two of one name, the name of a metric, or where all are optional.
    """
    names = [each.name for each in named(criteria)]
    taken = next((name for name in names if name in RESERVED), None)
    if taken is not None:
        raise ValueError(f"a criterion cannot be called `{taken}`, as a metric is: rename it")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two criteria are called `{twice}`")
    if criteria and all(each.optional for each in criteria):
        # Else an answer could make all of them not apply, and there would be no value.
        raise ValueError("at least one criterion is not optional")


def named(criteria: Sequence[Criterion]) -> tuple[Criterion, ...]:
    """Return the criteria, each with a name."""
    return tuple(
        each if each.name else each.model_copy(update={"name": f"c{place}"})
        for place, each in enumerate(criteria, 1)
    )


def criteria_of(trajectory: Trajectory, own: Sequence[Criterion]) -> tuple[Criterion, ...]:
    """Return the criteria of the task, or else ``own``, each with a name.

    Raises:
        TaskError: if there are none, or the task's do not fit.
    """
    checks = trajectory.task.checks
    if "judge" not in checks:
        if not own:
            raise TaskError("the task has no `checks.judge`, and the spec says no `criteria`")
        return named(own)
    try:
        return named(JudgeCheck.model_validate(checks["judge"]).criteria)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(("judge", *(str(part) for part in first["loc"])))
        message = first["msg"].removeprefix("Value error, ")
        raise TaskError(f"`checks.{place}` does not fit: {message}") from None


@lru_cache(maxsize=1024)
def single_shape(criterion: Criterion) -> type[JudgeVerdict]:
    """Return the shape of the verdict on one criterion: a reason, then the verdict."""
    fields: dict[str, Any] = {"reason": (str, ...), "verdict": (_type_of(criterion), ...)}
    return create_model(f"verdict_on_{criterion.name}", __base__=JudgeVerdict, **fields)


@lru_cache(maxsize=256)
def shape_of(criteria: tuple[Criterion, ...]) -> type[JudgeVerdict]:
    """Return the shape of a verdict on all criteria: one entry for each, by its name."""
    fields: dict[str, Any] = {
        f"entry_{place}": (single_shape(each), Field(alias=each.name))
        for place, each in enumerate(criteria)
    }
    return create_model("CriteriaVerdict", __base__=JudgeVerdict, **fields)


def _type_of(criterion: Criterion) -> Any:
    if criterion.kind == "ordinal":
        menu = list(range_of(criterion.levels))
        # Not a Literal, which takes true and 1.0 for 1.
        levels = Annotated[int, Field(ge=1, le=len(menu))]
        kind: Any = Annotated[levels, WithJsonSchema({"type": "integer", "enum": menu})]
    elif criterion.kind == "binary":
        kind = bool
    else:
        low, high = criterion.range or (0.0, 1.0)
        kind = Annotated[float, Field(ge=low, le=high)]
    return kind | Literal["not applicable"] if criterion.optional else kind

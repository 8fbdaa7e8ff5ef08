"""What a task may say under ``checks``: one model for each key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    model_validator,
)

from rewardhub import Check, TaskError, Trajectory
from rewardhub_agent.finding import plain_text
from rewardhub_agent.values import names_of

C = TypeVar("C", bound=Check)


def _listed(value: Any) -> Any:
    """Records keep arrays as tuples; a single text stands for a list of it."""
    return [value] if isinstance(value, str) else value


def _is_path(path: str) -> str:
    names_of(path)
    return path


def _says_something(fact: str) -> str:
    if not plain_text(fact).strip():
        raise ValueError("a fact is more than spaces and commas")
    return fact


Fact = Annotated[str, AfterValidator(_says_something)]
"""What is looked for in a text, as a whole."""
AnyOf = Annotated[tuple[Fact, ...], BeforeValidator(_listed), Field(min_length=1)]
"""One text, or several of which any will do."""
Path = Annotated[str, AfterValidator(_is_path)]
"""A JSON Pointer (RFC 6901): ``/orders/0/status``."""
Accepted = Mapping[str, tuple[Any, ...]]
"""Argument -> accepted values; ``""`` among them means that it may be left out, and none at all
that the array is empty."""


class AcceptedCall(Check):
    """A call that counts: the tool, and for each argument the accepted values.

    Written as BFCL writes it, ``{"pay": {"amount": [5, 5.0], "note": ["", "rent"]}}``, or as the
    tool's name alone, ``"pay"``.
    """

    tool: str = Field(min_length=1)
    arguments: Accepted = Field(default_factory=dict[str, tuple[Any, ...]])

    @model_validator(mode="before")
    @classmethod
    def _from_short(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"tool": value}
        if isinstance(value, Mapping) and len(value) == 1:
            ((tool, arguments),) = value.items()
            if isinstance(arguments, Mapping):
                return {"tool": tool, "arguments": arguments}
        return value


class ToolCallsCheck(Check):
    """``checks.tool_calls``: the calls that the attempt must make, and no others.

    Attributes:
        accepted: one entry for each call; empty: no tool fits, and none may be called.
        order: ``any``, or ``given``: the first call is held against the first entry, and so on.
    """

    accepted: tuple[AcceptedCall, ...]
    order: Literal["any", "given"] = "any"


class Write(Check):
    """A call that changes the state, with its exact arguments."""

    name: str = Field(min_length=1)
    arguments: Mapping[str, Any] = Field(default_factory=dict[str, Any])


class GoalStateCheck(Check):
    """``checks.goal_state``: the state that the attempt must leave behind.

    Say one of ``expected``, ``sha256`` and ``writes``.

    Attributes:
        expected: the state, as JSON.
        sha256: of its canonical JSON (`rewardhub_agent.state_sha256`), where the state itself
            is too large to carry.
        writes: where no state is recorded: the calls that lead to it, in any order. The state
            is then what follows from the calls of ``changing`` that worked.
        changing: names of all tools that change the state; for ``writes``.
        initial: the state before the attempt, for partial credit.
    """

    expected: Any = None
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    writes: tuple[Write, ...] | None = None
    changing: tuple[str, ...] = ()
    initial: Any = None

    @model_validator(mode="after")
    def _one_of_three(self) -> Self:
        given = {"expected", "sha256", "writes"} & self.model_fields_set
        if len(given) != 1:
            raise ValueError("say one of `expected`, `sha256` and `writes`")
        if "initial" in self.model_fields_set and "expected" not in given:
            raise ValueError("`initial` goes with `expected`")
        if (self.writes is not None) != bool(self.changing):
            raise ValueError(
                "`writes` and `changing` (all tools that change the state) go together"
            )
        unlisted = next((w.name for w in self.writes or () if w.name not in self.changing), None)
        if unlisted is not None:
            raise ValueError(f"`writes` calls `{unlisted}`, and `changing` does not list it")
        return self


class OutputsCheck(Check):
    """``checks.outputs``: what the attempt must tell the user.

    Attributes:
        told: facts; each a text, or a list of texts of which any will do.
        not_told: facts that must not be told, so that naming every candidate is no way out.
    """

    told: tuple[AnyOf, ...] = ()
    not_told: tuple[Fact, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _from_list(cls, value: Any) -> Any:
        return {"told": value} if isinstance(value, list | tuple) else value


class Condition(Check):
    """Something that can be seen in one turn. Say exactly one of the four.

    Attributes:
        name: what it is called in reasons.
        call: a call that worked, or whose result is not recorded, as of one that ends the
            attempt; arguments that it does not name are free.
        result: a text in the result of a call that worked.
        said: a text in what the policy says.
        state: JSON Pointer -> value, all of which hold in the state after the turn.
        weight: how much it counts among the others.
    """

    name: str = ""
    call: AcceptedCall | None = None
    result: Fact | None = None
    said: Fact | None = None
    state: Mapping[Path, Any] | None = Field(default=None, min_length=1)
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _one_of_four(self) -> Self:
        given = [self.call, self.result, self.said, self.state]
        if sum(each is not None for each in given) != 1:
            raise ValueError("a condition says one of `call`, `result`, `said` and `state`")
        return self

    @property
    def label(self) -> str:
        """What it is called in reasons."""
        if self.call is not None:
            return self.name or f"call of {self.call.tool}"
        return self.name or self.result or self.said or ", ".join(self.state or {})


class ProgressCheck(Check):
    """``checks.progress``: the milestones of the task, in any order."""

    milestones: tuple[Condition, ...] = Field(min_length=1)


class StopsCheck(Check):
    """``checks.stops``: when the task is done: all of these hold, each since some turn."""

    done: tuple[Condition, ...] = Field(min_length=1)


class AsksCheck(Check):
    """``checks.asks``: what only the user can say.

    Attributes:
        needed: facts to ask for; each a word, or a list of words of which any will do. Empty:
            the task says all, and nothing need be asked.
        given: facts that the user has given already: asking for them is a fault.
        before: tools that must not be called before all has been asked; empty: any tool.
    """

    needed: tuple[AnyOf, ...] = ()
    given: tuple[AnyOf, ...] = ()
    before: tuple[str, ...] = ()


class OrderCheck(Check):
    """``checks.call_order``: pairs of calls, of which the first must come before the second.

    Each is an `AcceptedCall`; arguments that it does not name are free.
    """

    before: tuple[tuple[AcceptedCall, AcceptedCall], ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_no_circle(self) -> Self:
        after: dict[str, set[str]] = {}
        for first, then in self.before:
            after.setdefault(repr(first), set()).add(repr(then))
            after.setdefault(repr(then), set())
        while free := [each for each, later in after.items() if not later]:
            for each in free:
                del after[each]
            for later in after.values():
                later.difference_update(free)
        if after:
            raise ValueError("the pairs of `before` go in a circle, so no order can hold them all")
        return self


def check_of(trajectory: Trajectory, key: str, model: type[C]) -> C:
    """Return the check under ``key``.

    Raises:
        TaskError: if the task has none, or one that does not fit.
    """
    if key not in trajectory.task.checks:
        raise TaskError(f"the task has no `checks.{key}`")
    try:
        return model.model_validate(trajectory.task.checks[key])
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join((key, *(str(part) for part in first["loc"])))
        message = first["msg"].removeprefix("Value error, ")
        raise TaskError(f"`checks.{place}` does not fit: {message}") from None

"""A trajectory as turns: each call with what it asked for and what came back.

What a file may lack or garble is decided here, once, for every grader of the pack.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from rewardhub import Observation, Step, TaskError, ToolCall, Trajectory
from rewardhub_agent.values import Json, canonical, is_deeper, plain

LONGEST = 65_536
"""Arguments over this many characters are not read: the call is broken."""

DEEPEST = 100
"""Arguments nested deeper than this are not read: the call is broken."""

_ERROR = re.compile(
    r"\s*(?:(?:\[|<|\*\*)?\s*(?:error|exception|failed|failure)\b\s*(?:\]|>|\*\*)?\s*[:\-]"
    r"|[A-Za-z_.]*(?:Error|Exception):|Traceback \(most recent call last\)"
    r"|(?:unknown|invalid) (?:action|tool|function)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call with its result.

    Attributes:
        name: the tool.
        arguments: what it was called with, or None if that cannot be read.
        problem: why the call cannot be carried out as it stands; empty if it can.
        result: the text that came back, or None if nothing is recorded.
        error: what went wrong when it was carried out, or None.
        key: equal for calls of the same tool with the same arguments.
    """

    name: str
    arguments: Mapping[str, Json] | None
    problem: str
    result: str | None
    error: str | None
    key: str

    @property
    def fault(self) -> str:
        """What is wrong with the call or its result; empty if nothing is."""
        return self.problem or self.error or ""

    @property
    def worked(self) -> bool:
        """Whether a result is recorded that is no error."""
        return self.result is not None and not self.fault


@dataclass(frozen=True, slots=True)
class Turn:
    """One step: what the policy said, and its calls."""

    text: str
    calls: tuple[Call, ...]


def turns_of(
    trajectory: Trajectory, tools: Collection[str] = (), *, recognise_errors: bool = True
) -> list[Turn]:
    """Return the steps of ``trajectory`` as turns, in the same order.

    Args:
        trajectory: shows ``steps.text``, ``steps.tool_calls`` and ``steps.observations``.
        tools: names that the task lists; a call of another one has a `problem`. Empty: any name.
        recognise_errors: whether a result that only reads like an error is one, too.
    """
    return [
        Turn(step.text, _calls_of(step, tools, recognise_errors=recognise_errors))
        for step in trajectory.steps
    ]


def need_results(turns: Sequence[Turn]) -> None:
    """Refuse a trajectory that has calls before its end and no result of any call.

    Raises:
        TaskError: for such a file: what came back was never recorded. Calls of the last turn
            need no result, for an attempt may end with one.
    """
    asked = any(turn.calls for turn in turns[:-1])
    if asked and all(call.result is None for turn in turns for call in turn.calls):
        raise TaskError(
            "the trajectory records no result of any call: fill `observations` of its steps"
        )


def _calls_of(step: Step, tools: Collection[str], *, recognise_errors: bool) -> tuple[Call, ...]:
    if not step.tool_calls:
        return ()
    results = _results_of(step)
    return tuple(
        _call(call, result, tools, recognise_errors=recognise_errors)
        for call, result in zip(step.tool_calls, results, strict=True)
    )


def _results_of(step: Step) -> list[Observation | None]:
    """Return the result of each call: by id, else, for results without one, by order.

    A result whose id no call has is no result of these calls.
    """
    by_id: dict[str, list[Observation]] = {}
    for result in reversed(step.observations):
        by_id.setdefault(result.call_id, []).append(result)
    nameless = by_id.pop("", [])
    found = [by_id[call.id].pop() if by_id.get(call.id) else None for call in step.tool_calls]
    return [each or (nameless.pop() if nameless else None) for each in found]


def _call(
    call: ToolCall, result: Observation | None, tools: Collection[str], *, recognise_errors: bool
) -> Call:
    arguments, problem = arguments_of(call)
    if tools and not any(is_tool(call.name, name) for name in tools):
        problem = f"the task lists no tool `{call.name[:80]}`"
    asked = call.arguments if arguments is None else canonical(arguments)
    return Call(
        name=call.name,
        arguments=arguments,
        problem=problem,
        result=None if result is None else result.content,
        error=None if result is None else error_in(result, recognise=recognise_errors),
        key=f"{call.name}({asked})",
    )


def is_tool(made: str, listed: str) -> bool:
    """Return whether ``made`` names the tool ``listed``; some servers allow no dots in names."""
    return made == listed or ("." in listed and made == listed.replace(".", "_"))


def arguments_of(call: ToolCall) -> tuple[dict[str, Json] | None, str]:
    """Return the arguments of a call, or None and why they cannot be read.

    Arguments that are left blank are none: models write so for tools without parameters.
    """
    value: Any = call.parsed
    text = call.arguments
    if len(text) > LONGEST:
        return None, f"the arguments have {len(text)} characters, and {LONGEST} are read"
    if value is None and not text.strip():
        return {}, ""
    if value is None:
        try:
            value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
        except (ValueError, RecursionError):
            return None, "the arguments are no JSON"
    if not isinstance(value, Mapping):
        kind = "a list" if isinstance(value, list | tuple) else type(value).__name__
        return None, f"the arguments are no JSON object but {kind}"
    if is_deeper(value, DEEPEST):
        return None, f"the arguments are nested more than {DEEPEST} deep"
    return cast("dict[str, Json]", plain(value)), ""


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def error_in(result: Observation, *, recognise: bool) -> str | None:
    """Return the error that a result is, or None.

    A result is an error if it says so (``error``, or an exit code other than 0). With
    ``recognise`` it also is if its text begins like one, or is a JSON object that says so:
    ``error`` filled, ``success`` or ``ok`` false, ``isError`` true, ``status`` "error".
    """
    if result.error is not None:
        return result.error or "an error"
    if result.exit_code:
        return f"exit code {result.exit_code}"
    if not recognise:
        return None
    if _ERROR.match(result.content):
        return result.content.strip().partition("\n")[0][:200]
    return _error_in_json(result.content)


def _error_in_json(text: str) -> str | None:
    if not text.lstrip().startswith("{") or len(text) > LONGEST:
        return None
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if value.get("error"):
        return str(value["error"])[:200]
    said_so = (
        value.get("isError") is True
        or value.get("success") is False
        or value.get("ok") is False
        or str(value.get("status")).casefold() == "error"
    )
    return str(value.get("message") or "an error")[:200] if said_so else None

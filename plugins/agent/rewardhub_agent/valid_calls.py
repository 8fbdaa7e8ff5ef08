"""`agent/valid-calls` and `agent/call-success`: could the call be made, and did it work?"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from pydantic import Field

from rewardhub import Score, TaskError, Trajectory
from rewardhub_agent.accepted import properties_of
from rewardhub_agent.faults import Finding, ProcessGrader
from rewardhub_agent.tools import schema_of, tools_of
from rewardhub_agent.turns import Call, need_results, turns_of
from rewardhub_agent.values import Json, canonical


class ValidCalls(ProcessGrader):
    """Every call names a tool of the task, with arguments that its JSON Schema allows.

    A call is a fault if the task does not list its tool, if its arguments are no JSON object, or
    if they break the tool's schema. Results do not matter: see `agent/call-success`. Step values
    and the value for the whole are those of `ProcessGrader`.
    """

    closed: bool = False
    """Whether arguments that the schema does not name are a fault even where it allows them."""
    max_characters: int = Field(default=20_000, ge=1, le=65_536)
    """Arguments over this many characters (as JSON) are a fault and are not checked further."""

    def grade(self, trajectory: Trajectory) -> Score:
        """Check each call against its tool."""
        tools = tools_of(trajectory)
        if not tools:
            raise TaskError("the task lists no tools, so there is nothing to hold calls against")
        checks = {name: checker(canonical(schema), name) for name, schema in tools.items()}
        found = [
            [self._finding(call, tools, checks) for call in turn.calls]
            for turn in turns_of(trajectory, tools)
        ]
        return self.conclude(found, "invalid call")

    def _finding(
        self,
        call: Call,
        tools: dict[str, dict[str, Json]],
        checks: dict[str, Callable[[Json], str]],
    ) -> Finding:
        if call.problem or call.arguments is None:
            return Finding(False, call.key, call.problem)
        schema = schema_of(tools, call.name) or {}
        name = next(name for name, each in tools.items() if each is schema)
        if len(call.key) - len(call.name) > self.max_characters:
            return Finding(False, call.key, f"over {self.max_characters} characters of arguments")
        unknown = call.arguments.keys() - properties_of(schema).keys()
        if self.closed and unknown:
            return Finding(False, call.key, f"`{name}` has no argument `{min(unknown)[:80]}`")
        problem = checks[name](call.arguments)
        return Finding(not problem, call.key, problem)


@lru_cache(maxsize=1024)  # the attempts at one task are graded one after the other
def checker(schema: str, tool: str) -> Callable[[Json], str]:
    """Return a function that says how arguments break ``schema`` (JSON); "" if they do not.

    References lead inside the schema only: nothing is fetched.

    Raises:
        TaskError: if the schema is none.
    """
    from jsonschema import validators
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    loaded: Any = json.loads(schema)
    kind = validators.validator_for(loaded, default=validators.Draft202012Validator)
    try:
        kind.check_schema(loaded)
    except SchemaError as error:
        raise TaskError(
            f"the parameters of the tool `{tool}` are no JSON Schema: {error.message}"
        ) from None
    nowhere: Any = Registry()
    validator = kind(loaded, registry=nowhere)

    def check(arguments: Json) -> str:
        try:
            error = next(iter(validator.iter_errors(arguments)), None)
        except Unresolvable as unresolved:
            raise TaskError(
                f"the schema of the tool `{tool}` refers to `{unresolved.ref}`, which is not in it"
            ) from None
        except re.error as broken:
            raise TaskError(f"a pattern in the schema of the tool `{tool}`: {broken}") from None
        if error is None:
            return ""
        place = "/".join(str(part) for part in error.absolute_path)
        return f"`{tool}`{f', {place}' if place else ''}: {error.message[:200]}"

    return check


class CallSuccess(ProcessGrader):
    """Every call worked: it could be made, and its result is no error.

    A call is a fault if the task lists tools and not its tool, if its arguments are no JSON
    object, or if its result is an error. A call without a recorded result is not judged, unless
    it is a fault already. Step values and the value for the whole are those of `ProcessGrader`;
    the metric ``tool_call_success_rate`` is the plain share of all calls judged.
    """

    def grade(self, trajectory: Trajectory) -> Score:
        """Look at what came back for each call."""
        turns = turns_of(trajectory, tools_of(trajectory), recognise_errors=self.recognise_errors)
        need_results(turns)
        found = [[_outcome(call) for call in turn.calls] for turn in turns]
        score = self.conclude(found, "call without success")
        return Score.of(
            score.value or 0.0,
            score.reason,
            step_values=score.step_values,
            metrics={**score.metrics, **_rate(each for row in found for each in row)},
        )


def _outcome(call: Call) -> Finding:
    if call.fault:
        return Finding(False, call.key, f"`{call.name[:80]}`: {call.fault}")
    return Finding(None if call.result is None else True, call.key)


def _rate(findings: Iterable[Finding]) -> dict[str, float]:
    judged = [each.good for each in findings if each.good is not None]
    counts = {"tool_calls_judged": float(len(judged))}
    if judged:
        counts["tool_call_success_rate"] = sum(judged) / len(judged)
    return counts

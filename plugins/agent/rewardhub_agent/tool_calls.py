"""`agent/tool-calls`: the calls that were made, held against the ones that are accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rewardhub import Grader, Score, StepValue, TaskError, Trajectory
from rewardhub_agent.accepted import Texts, declared_types, misfit, properties_of
from rewardhub_agent.checks import AcceptedCall, ToolCallsCheck, check_of
from rewardhub_agent.faults import counted
from rewardhub_agent.pairing import pair
from rewardhub_agent.tools import schema_of, tools_of
from rewardhub_agent.turns import Call, is_tool, turns_of
from rewardhub_agent.values import Json


class Made(NamedTuple):
    """A call, and the step that made it."""

    step: int
    call: Call


class ToolCalls(Grader):
    """Full marks for exactly the accepted calls, as BFCL's AST checker decides it.

    All calls of the attempt count, whatever step made them. In any order they are paired with
    the accepted ones so that as many as possible agree. Where nothing is accepted, an attempt
    without a call is right. A step's value is the share of its calls that found a place among
    the accepted ones, which happens once for each; a step without calls has none.
    """

    partial: bool = False
    """Whether there is partial credit: calls that agree, over the larger of made and accepted."""
    texts: Texts = "bfcl"
    """How texts are compared: ``bfcl`` (without case, spaces, ``,./-_*^``) or ``exact``."""

    def grade(self, trajectory: Trajectory) -> Score:
        """Compare the calls of the attempt with the accepted ones."""
        check = check_of(trajectory, "tool_calls", ToolCallsCheck)
        schemas = _schemas(check, tools_of(trajectory))
        made = [
            Made(step, call)
            for step, turn in enumerate(turns_of(trajectory))
            for call in turn.calls
        ]
        if check.order == "given":
            paired = {
                number: number
                for number, (accepted, (_, call)) in enumerate(
                    zip(check.accepted, made, strict=False)
                )
                if not self._misfit(call, accepted, schemas[number])
            }
        else:
            paired = pair(self._edges(check.accepted, made, schemas))
        return self._score(check, made, paired, schemas)

    def _edges(
        self,
        accepted: Sequence[AcceptedCall],
        made: Sequence[Made],
        schemas: Sequence[Mapping[str, Json]],
    ) -> list[list[int]]:
        return [
            [
                number
                for number, (_, call) in enumerate(made)
                if not self._misfit(call, wanted, schema)
            ]
            for wanted, schema in zip(accepted, schemas, strict=True)
        ]

    def _misfit(self, call: Call, accepted: AcceptedCall, schema: Mapping[str, Json]) -> str:
        if not is_tool(call.name, accepted.tool):
            return f"`{call.name[:80]}` is called, not `{accepted.tool}`"
        if call.arguments is None:
            return call.problem
        return misfit(call.arguments, accepted.arguments, schema, texts=self.texts)

    def _score(
        self,
        check: ToolCallsCheck,
        made: Sequence[Made],
        paired: Mapping[int, int],
        schemas: Sequence[Mapping[str, Json]],
    ) -> Score:
        taken = set(paired.values())
        free = [each for each in range(len(check.accepted)) if each not in taken]
        wrong = {
            number: self._why(
                made[number].call,
                free if check.order == "any" else [each for each in free if each == number],
                check.accepted,
                schemas,
            )
            for number in range(len(made))
            if number not in paired
        }
        most = max(len(made), len(check.accepted))
        right = len(paired) / most if most else 1.0
        unmade = len(check.accepted) - len(paired)
        reason = f"{len(paired)} of {counted(len(check.accepted), 'accepted call')} made"
        if not check.accepted:
            reason = "no tool fits, and none was called" if not made else "no tool fits"
        if wrong:
            number, why = next(iter(wrong.items()))
            reason += f"; {counted(len(wrong), 'wrong call')}, the first in step "
            reason += f"{made[number].step}: {why}"
        return Score.of(
            right if self.partial else float(right == 1.0),
            reason,
            step_values=_step_values(made, wrong),
            metrics={"matched": len(paired), "wrong": len(wrong), "missing": unmade},
        )

    def _why(
        self,
        call: Call,
        free: Sequence[int],
        accepted: Sequence[AcceptedCall],
        schemas: Sequence[Mapping[str, Json]],
    ) -> str:
        """Return why a call found no place: how it misses the closest of the ``free`` ones."""
        if not free:
            return call.problem or f"the call of `{call.name[:80]}` is one too many"
        same = [each for each in free if is_tool(call.name, accepted[each].tool)]
        closest = (same or free)[0]
        return self._misfit(call, accepted[closest], schemas[closest])


def _schemas(
    check: ToolCallsCheck, tools: Mapping[str, dict[str, Json]]
) -> list[Mapping[str, Json]]:
    """Return the schema of each accepted call, which decides how values are compared.

    Raises:
        TaskError: if the task does not list a tool that it accepts, or an argument of it.
    """
    found: list[Mapping[str, Json]] = []
    for accepted in check.accepted:
        schema = schema_of(tools, accepted.tool)
        if schema is None:
            raise TaskError(
                f"`checks.tool_calls` accepts `{accepted.tool}`, and the task lists no such tool, "
                "so the types of its arguments are not known"
            )
        declared = properties_of(schema)
        unknown = next((name for name in accepted.arguments if name not in declared), None)
        if unknown is not None and "properties" in schema:
            raise TaskError(
                f"`checks.tool_calls` accepts `{unknown}` of `{accepted.tool}`, whose schema has "
                "no such argument"
            )
        for name, values in accepted.arguments.items():
            if not values and declared_types(declared.get(name, {})) - {"array"}:
                raise TaskError(f"`checks.tool_calls` lists no value for `{name}`")
        found.append(schema)
    return found


def _step_values(made: Sequence[Made], wrong: Mapping[int, str]) -> list[StepValue]:
    by_step: dict[int, list[int]] = {}
    for number, (step, _) in enumerate(made):
        by_step.setdefault(step, []).append(number)
    return [
        StepValue(
            step,
            sum(number not in wrong for number in numbers) / len(numbers),
            reason=next((wrong[number] for number in numbers if number in wrong), ""),
        )
        for step, numbers in by_step.items()
    ]

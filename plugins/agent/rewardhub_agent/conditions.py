"""Conditions that hold in a turn or not: what progress and being done are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewardhub import Step, TaskError, Trajectory
from rewardhub_agent.accepted import misfit
from rewardhub_agent.checks import AcceptedCall, Condition
from rewardhub_agent.differences import Comparison
from rewardhub_agent.finding import tells
from rewardhub_agent.tools import schema_of, tools_of
from rewardhub_agent.turns import Call, Turn, is_tool, need_results, turns_of
from rewardhub_agent.values import MISSING, Json, at


class Observed:
    """The turns of an attempt, and what holds in each.

    Args:
        trajectory: shows the steps' texts, calls, observations and states, and the task's tools.
        conditions: all that will be asked for.
        recognise_errors: whether a result that only reads like an error is one.

    Raises:
        TaskError: if a condition asks for what the trajectory does not record.
    """

    def __init__(
        self, trajectory: Trajectory, conditions: Sequence[Condition], *, recognise_errors: bool
    ) -> None:
        self.turns = turns_of(trajectory, recognise_errors=recognise_errors)
        self._steps: Sequence[Step] = trajectory.steps
        self._tools = tools_of(trajectory)
        if any(each.call or each.result for each in conditions):
            need_results(self.turns)
        on_state = next((each for each in conditions if each.state), None)
        if on_state and all(step.state is None for step in self._steps):
            raise TaskError(
                f"the condition `{on_state.label}` is on the state, and no step records one"
            )

    def holds(self, condition: Condition, step: int) -> bool:
        """Return whether ``condition`` can be seen in the turn ``step``."""
        turn = self.turns[step]
        if condition.call is not None:
            return any(self.is_call(call, condition.call) for call in turn.calls if not call.fault)
        if condition.result is not None:
            fact = condition.result
            return any(tells(call.result or "", fact) for call in turn.calls if call.worked)
        if condition.said is not None:
            return tells(turn.text, condition.said)
        state = self._steps[step].state
        return state is not None and _holds_in(state, condition.state or {})

    def is_call(self, call: Call, accepted: AcceptedCall) -> bool:
        """Return whether ``call`` is of the tool, with accepted values where any are named."""
        if not is_tool(call.name, accepted.tool) or call.arguments is None:
            return False
        schema = schema_of(self._tools, accepted.tool) or {}
        return not misfit(call.arguments, accepted.arguments, schema, rest=True)

    def first(self, condition: Condition) -> int | None:
        """Return the first step in which ``condition`` can be seen."""
        return next((step for step in range(len(self.turns)) if self.holds(condition, step)), None)

    def acting(self) -> list[tuple[int, Turn]]:
        """Return the turns that have calls, each with its step."""
        return [(step, turn) for step, turn in enumerate(self.turns) if turn.calls]


def _holds_in(state: Json, wanted: Mapping[str, Json]) -> bool:
    comparison = Comparison()
    return all(
        (found := at(state, path)) is not MISSING and not comparison.differences(value, found)
        for path, value in wanted.items()
    )

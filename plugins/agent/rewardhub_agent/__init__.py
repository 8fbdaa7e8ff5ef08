"""rewardhub-agent: tool calls, goal states and the soundness of multi-step behaviour."""

from collections.abc import Iterator

from rewardhub import GraderCard, hookimpl
from rewardhub_agent.asking import AsksWhenNeeded
from rewardhub_agent.checks import (
    AsksCheck,
    GoalStateCheck,
    OrderCheck,
    OutputsCheck,
    ProgressCheck,
    StopsCheck,
    ToolCallsCheck,
)
from rewardhub_agent.course import Order, Progress, Stops
from rewardhub_agent.goal_state import GoalState
from rewardhub_agent.loops import NoLoops, NoOpFree
from rewardhub_agent.outputs import Outputs
from rewardhub_agent.recovery import Recovers
from rewardhub_agent.stability import PassK, Stable
from rewardhub_agent.tool_calls import ToolCalls
from rewardhub_agent.valid_calls import CallSuccess, ValidCalls
from rewardhub_agent.values import sha256 as state_sha256

__all__ = [
    "AsksWhenNeeded",
    "CallSuccess",
    "GoalState",
    "NoLoops",
    "NoOpFree",
    "Order",
    "Outputs",
    "PassK",
    "Progress",
    "Recovers",
    "Stable",
    "Stops",
    "ToolCalls",
    "ValidCalls",
    "state_sha256",
]

_TURNS = ("steps.text", "steps.tool_calls", "steps.observations")
_STATES = (*_TURNS, "steps.state")
_TOOLS = "task.tools"
_OUTCOME = (
    *_STATES,
    _TOOLS,
    "artifacts.state",
    "metadata",
    "status",
    "task.id",
    "task.checks.goal_state",
    "task.checks.outputs",
    "task.checks.tool_calls",
)


@hookimpl
def rewardhub_graders() -> Iterator[GraderCard]:
    """Yield the graders of the pack."""
    yield from _final_graders()
    yield from _process_graders()
    yield GraderCard(name="agent/pass-k", grader=PassK, reads=_OUTCOME)
    yield GraderCard(
        name="robustness/stable",
        grader=Stable,
        reads=_OUTCOME,
        group_by="task.metadata.variant_of",
    )


def _final_graders() -> Iterator[GraderCard]:
    yield GraderCard(
        name="agent/tool-calls",
        grader=ToolCalls,
        reads=(*_TURNS, _TOOLS),
        gives=("steps",),
        checks={"tool_calls": ToolCallsCheck},
    )
    yield GraderCard(
        name="agent/goal-state",
        grader=GoalState,
        reads=(*_STATES, "artifacts.state", "status"),
        checks={"goal_state": GoalStateCheck},
    )
    yield GraderCard(
        name="agent/outputs",
        grader=Outputs,
        reads=("steps.text", "steps.tool_calls"),
        checks={"outputs": OutputsCheck},
    )


def _process_graders() -> Iterator[GraderCard]:
    yield GraderCard(
        name="agent/valid-calls", grader=ValidCalls, reads=(*_TURNS, _TOOLS), gives=("steps",)
    )
    yield GraderCard(
        name="agent/call-success", grader=CallSuccess, reads=(*_TURNS, _TOOLS), gives=("steps",)
    )
    yield GraderCard(name="agent/no-loops", grader=NoLoops, reads=_TURNS, gives=("steps",))
    yield GraderCard(name="agent/no-op-free", grader=NoOpFree, reads=_STATES, gives=("steps",))
    yield GraderCard(
        name="agent/recovers", grader=Recovers, reads=(*_TURNS, _TOOLS), gives=("steps",)
    )
    yield GraderCard(
        name="agent/progress",
        grader=Progress,
        reads=(*_STATES, _TOOLS),
        gives=("steps",),
        checks={"progress": ProgressCheck},
    )
    yield GraderCard(
        name="agent/stops",
        grader=Stops,
        reads=(*_STATES, _TOOLS, "status"),
        gives=("steps",),
        checks={"stops": StopsCheck},
    )
    yield GraderCard(
        name="agent/order",
        grader=Order,
        reads=(*_TURNS, _TOOLS),
        gives=("steps",),
        checks={"call_order": OrderCheck},
    )
    yield GraderCard(
        name="agent/asks-when-needed",
        grader=AsksWhenNeeded,
        reads=_TURNS,
        gives=("steps",),
        checks={"asks": AsksCheck},
    )

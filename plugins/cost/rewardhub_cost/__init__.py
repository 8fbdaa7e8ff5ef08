"""rewardhub-cost: what an attempt used up of a budget."""

from collections.abc import Iterator
from pathlib import Path

from rewardhub import GraderCard, SpecCard, hookimpl
from rewardhub_cost.graders import Length, Seconds, Steps, Tokens, ToolCalls

__all__ = ["Length", "Seconds", "Steps", "Tokens", "ToolCalls"]


@hookimpl
def rewardhub_graders() -> Iterator[GraderCard]:
    """Yield the graders of the pack."""
    # Every door fills the texts of the steps, so they are what steps are counted by.
    yield GraderCard(name="cost/steps", grader=Steps, reads=("steps.text",))
    yield GraderCard(name="cost/tokens", grader=Tokens, reads=("tokens", "steps.tokens"))
    yield GraderCard(name="cost/seconds", grader=Seconds, reads=("seconds", "steps.seconds"))
    yield GraderCard(name="cost/tool-calls", grader=ToolCalls, reads=("steps.tool_calls",))
    yield GraderCard(name="cost/length", grader=Length, reads=("final_text",))


@hookimpl
def rewardhub_specs() -> Iterator[SpecCard]:
    """Yield the reward specs that the pack ships."""
    yield SpecCard(
        name="cost/success-tests-steps",
        path=Path(__file__).parent / "specs" / "success-tests-steps.yaml",
        description="+1 for success, +0.5 for passing tests, -0.1 per step",
    )

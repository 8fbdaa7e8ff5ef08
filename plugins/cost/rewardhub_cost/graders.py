"""The graders: an amount that was used, held against a budget."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar

from rewardhub import Budgeted, Grader, Score, Trajectory


class Cost(Budgeted, Grader):
    """The base of all graders here: what the attempt used, held against a budget."""

    unit: ClassVar[str]

    def amount(self, trajectory: Trajectory) -> float | None:
        """Return how much the attempt used; None if nobody recorded it."""
        raise NotImplementedError(f"{type(self).__name__} must define `amount`")

    def grade(self, trajectory: Trajectory) -> Score:
        """Return what is left of the budget."""
        amount = self.amount(trajectory)
        if amount is None:
            # Neither a number nor an abstention: the one would make up a measurement, the other
            # would let the attempt off its cost where other parts share the stage.
            return Score.fail(
                f"the trajectory records no {self.unit}, neither in total nor for each step: "
                "record them in the rollout",
                fault="infrastructure",
            )
        return Score.of(
            self.left_of(amount),
            f"{amount:.12g} of {self.budget:.12g} {self.unit}",
            metrics={self.unit.replace(" ", "_"): amount},
        )


class Steps(Cost):
    """Steps of the attempt: turns of the policy, whatever they hold."""

    unit = "steps"

    def amount(self, trajectory: Trajectory) -> float:
        """Return the number of steps."""
        return len(trajectory.steps)


class Tokens(Cost):
    """Tokens that the policy wrote: the recorded total, or the sum over all steps."""

    unit = "tokens"

    def amount(self, trajectory: Trajectory) -> float | None:
        """Return the number of tokens, or None where neither is recorded."""
        total = trajectory.tokens
        return _sum(step.tokens for step in trajectory.steps) if total is None else total


class Seconds(Cost):
    """Wall time of the rollout: the recorded total, or the sum over all steps."""

    unit = "seconds"

    def amount(self, trajectory: Trajectory) -> float | None:
        """Return the seconds, or None where neither is recorded."""
        total = trajectory.seconds
        return _sum(step.seconds for step in trajectory.steps) if total is None else total


class ToolCalls(Cost):
    """Tool calls that the policy made, broken ones included."""

    unit = "tool calls"

    def amount(self, trajectory: Trajectory) -> float:
        """Return the number of tool calls."""
        return sum(len(step.tool_calls) for step in trajectory.steps)


class Length(Cost):
    """Characters of the final answer.

    Characters and not words: words can be written without spaces between them, and some languages
    write them so.
    """

    unit = "characters"

    def amount(self, trajectory: Trajectory) -> float:
        """Return the number of characters (Unicode code points)."""
        return len(trajectory.final_text)


def _sum(amounts: Iterable[float | None]) -> float | None:
    """Return the sum, or None if any amount is not recorded: a part of it would be too little."""
    known: list[float] = []
    for amount in amounts:
        if amount is None:
            return None
        known.append(amount)
    return math.fsum(known)

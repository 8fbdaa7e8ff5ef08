"""Three graders that cost next to nothing, so that what is measured is the framework.

`run.py` gives this file to ``rewardhub score`` as a plugin, and the peers call the same functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rewardhub import Grader, GraderCard, Trajectory, hookimpl


def has_mark(text: str) -> float:
    """1 if the text marks its answer."""
    return float("####" in text)


def is_right(text: str, reference: str) -> float:
    """1 if what stands after the mark is the reference."""
    return float(text.rpartition("####")[2].strip() == reference)


def is_short(text: str) -> float:
    """1 for an empty text, 0 from 200 characters on."""
    return max(0.0, 1.0 - len(text) / 200)


class HasMark(Grader):
    """`has_mark` as a grader."""

    def grade(self, trajectory: Trajectory) -> float:
        """Grade the final text."""
        return has_mark(trajectory.final_text)


class IsRight(Grader):
    """`is_right` as a grader."""

    def grade(self, trajectory: Trajectory) -> float:
        """Grade the final text."""
        return is_right(trajectory.final_text, str(trajectory.task.reference))


class IsShort(Grader):
    """`is_short` as a grader."""

    def grade(self, trajectory: Trajectory) -> float:
        """Grade the final text."""
        return is_short(trajectory.final_text)


@hookimpl
def rewardhub_graders() -> Iterator[GraderCard]:
    """Yield the three graders."""
    yield GraderCard(name="trivial/mark", grader=HasMark)
    yield GraderCard(name="trivial/right", grader=IsRight)
    yield GraderCard(name="trivial/short", grader=IsShort)


GATED: dict[str, Any] = {
    "rewardhub": 1,
    "name": "trivial/gated",
    "version": 1,
    "range": [0, 1],
    "success": "right == 1",
    "stages": [
        {"name": "format", "gate": {"below": 1, "reward": 0}, "graders": [{"use": "trivial/mark"}]},
        {"name": "outcome", "weight": 0.75, "graders": [{"use": "trivial/right"}]},
        {"name": "cost", "weight": 0.25, "graders": [{"use": "trivial/short"}]},
    ],
}
"""A gate, then a weighted sum: what OpenEnv calls ``Sequential(Gate, WeightedSum)``."""

SUM: dict[str, Any] = {
    "rewardhub": 1,
    "name": "trivial/sum",
    "version": 1,
    "range": [0, 1],
    "success": "right == 1",
    "stages": [
        {"name": "format", "weight": 0.25, "graders": [{"use": "trivial/mark"}]},
        {"name": "outcome", "weight": 0.5, "graders": [{"use": "trivial/right"}]},
        {"name": "cost", "weight": 0.25, "graders": [{"use": "trivial/short"}]},
    ],
}
"""A weighted sum, which is what verifiers has."""


def question(number: int) -> tuple[str, str, str]:
    """Return a prompt, a reply and a reference; 1 reply in 8 is unmarked, half of them right."""
    said = number * 7 + number % 2
    reply = f"{number} * 7 = {said}." if number % 8 == 3 else f"{number} * 7 = {said}\n#### {said}"
    return f"What is {number} * 7?", reply, str(number * 7)

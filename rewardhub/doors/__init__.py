"""Doors: the ways in, and which paths of a trajectory each of them can fill."""

from rewardhub.records import Trajectory

_ALL = tuple(Trajectory.model_fields)
_ANSWER = ("final_text", "steps.text", "steps.reasoning", "status", "task")

FILLS: dict[str, tuple[str, ...]] = {
    "offline": _ALL,
    "http": _ANSWER,
    "function": _ANSWER,
    "agent": _ALL,
}
"""Door -> the paths that it fills: `rewardhub.spec.check` refuses graders that read others.

A file may hold everything. Trainers that call over HTTP or a function send the text of an answer,
and the task is looked up by its id. The agent door runs the steps itself.
"""

__all__ = ["FILLS"]

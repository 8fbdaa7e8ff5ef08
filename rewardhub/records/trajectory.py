"""Trajectory: one attempt at one task."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from rewardhub.records.base import EMPTY, SCHEMA_VERSION, JsonMapping, Record
from rewardhub.records.score import Fault
from rewardhub.records.task import PolicyInfo, Step, Task, ToolCall

TrajectoryStatus = Literal["completed", "truncated", "broken"]


class Trajectory(Record):
    """One attempt at one task: its steps, how it ended, what it cost.

    ``status`` is ``completed``, ``truncated`` (cut off before its end) or ``broken`` (the rollout
    itself broke, with a fault and a reason; then no grader runs). A completed or truncated
    trajectory has at least one step. ``group`` names the attempts that are compared with each
    other and defaults to the task's id; ``id`` defaults to a random one, never to content, for
    equal attempts are legal. ``seconds`` is wall time, ``cost`` money in US dollars.
    """

    kind: ClassVar[str] = "trajectory"

    schema_version: Literal[1] = SCHEMA_VERSION
    id: str = ""
    task: Task
    group: str = ""
    group_size: int | None = Field(default=None, ge=1)
    steps: tuple[Step, ...] = ()
    status: TrajectoryStatus = "completed"
    fault: Fault | None = None
    reason: str = ""
    artifacts: JsonMapping = EMPTY
    policy: PolicyInfo | None = None
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    tokens: int | None = Field(default=None, ge=0)
    cost: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    metadata: JsonMapping = EMPTY

    @model_validator(mode="after")
    def _possible(self) -> Trajectory:
        if self.status == "broken":
            if self.fault is None or not self.reason:
                raise ValueError("a broken trajectory says its fault and its reason")
        elif not self.steps:
            raise ValueError(
                f"a {self.status} trajectory has at least one step (its text may be "
                "empty); say `status: broken` if the rollout itself broke"
            )
        elif self.fault is not None:
            raise ValueError(f"only a broken trajectory has a fault; this one is {self.status}")
        return self

    def model_post_init(self, _context: Any) -> None:
        """Fill the id and the group where they are not given."""
        fields = vars(self)
        if not self.id:
            fields["id"] = uuid.uuid4().hex
            self.model_fields_set.add("id")  # so that a replaced copy is still this attempt
        if not self.group:
            fields["group"] = self.task.id

    @property
    def final_text(self) -> str:
        """The text of the last step: the answer. Empty where there is none."""
        return self.steps[-1].text if self.steps else ""

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Every tool call of the attempt, in order."""
        return tuple(call for step in self.steps for call in step.tool_calls)

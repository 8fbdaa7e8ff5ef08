"""`prm/outcome`: one value for the whole attempt, by a reward model with a sequence head."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from rewardhub import (
    BatchGrader,
    Lease,
    ModelFiles,
    Score,
    Trajectory,
    UsageError,
    device_of,
    dtype_of,
    lease_model,
)
from rewardhub_prm.asking import problem_of
from rewardhub_prm.carriers import PLACES, no_number, too_long
from rewardhub_prm.encoding import Encoded
from rewardhub_prm.opening import limit_of
from rewardhub_prm.presets import probability
from rewardhub_prm.sequence import SequenceModel


class Clip(BaseModel):
    """Raw values from ``low`` to ``high`` become 0 to 1; those outside are moved to the border."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    low: float = Field(allow_inf_nan=False)
    """What is worth 0."""
    high: float = Field(allow_inf_nan=False)
    """What is worth 1."""

    @model_validator(mode="after")
    def _ordered(self) -> Clip:
        if self.low >= self.high:
            raise ValueError(f"`low` ({self.low:g}) lies below `high` ({self.high:g})")
        return self


class Squeeze(BaseModel):
    """The option that holds a `Clip`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    clip: Clip
    """From where to where raw values go."""


class Outcome(BatchGrader):
    """What a reward model with a sequence head says of the whole attempt.

    The model is given the task's messages and the attempt as the assistant's reply, in its chat
    template; one without a template is given the problem and the attempt as a pair. The text of
    several turns is joined by blank lines. The raw value is the metric `raw`; the value is what
    ``squeeze`` makes of it, rounded to four decimals. An empty attempt, and one that is longer than
    the model reads, is a graded 0; a task that does not fit by itself abstains.
    """

    model: str = Field(min_length=1)
    """The folder of the model, or its name on the Hugging Face hub, from where it is downloaded
    unless it is in the hub's cache."""
    squeeze: Literal["sigmoid", "none"] | Squeeze = "sigmoid"
    """How a raw value becomes one in [0, 1]: `sigmoid`; `{clip: {low: -10, high: 10}}`; `none`
    where the model gives values in [0, 1]."""
    max_tokens: int | None = Field(default=None, ge=16)
    """How many tokens the model is given at most. Default: as many as it was made for."""
    batch_tokens: int | None = Field(default=None, ge=1)
    """How many tokens one batch holds, padding included. Default: 512 on a CPU, 65,536 on a
    GPU."""
    device: str = "auto"
    """`auto`, `cpu`, `cuda` or `cuda:1`."""
    dtype: str = "auto"
    """`auto` (bfloat16 on a GPU, float32 on a CPU), `bfloat16`, `float16` or `float32`."""
    revision: str | None = None
    """Branch, tag or commit on the hub."""

    _lease: Lease[SequenceModel] | None = PrivateAttr(default=None)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The model's files, and the numbers they are held in."""
        place = device_of(self.device)
        return {
            "model": ModelFiles.find(self.model, revision=self.revision).digest,
            "device": place.partition(":")[0],
            "dtype": str(dtype_of(self.dtype, place)),
        }

    def open(self) -> None:
        """Load the model.

        Raises:
            UsageError: for files that are missing or hold another kind of model, and for a device
                that is not there.
        """
        files = ModelFiles.find(self.model, revision=self.revision)
        place = device_of(self.device)
        numbers = dtype_of(self.dtype, place)
        key = (files.digest, "outcome", place, str(numbers))
        self._lease = lease_model(key, lambda: SequenceModel.load(files, place, numbers))

    def close(self) -> None:
        """Let go of the model."""
        lease, self._lease = self._lease, None
        if lease is not None:
            lease.release()

    async def grade_batch(self, trajectories: Sequence[Trajectory]) -> list[Score]:
        """Return the model's value of each attempt."""
        if self._lease is None:
            raise UsageError("The grader is not open: call `open()` first, as the engine does.")
        model = self._lease.model
        limit = limit_of(model.files.config, model.tokenizer, self.max_tokens)
        plans = [self._plan(model, trajectory, limit) for trajectory in trajectories]
        rows = [plan for plan in plans if isinstance(plan, Encoded)]
        raw = iter(await asyncio.to_thread(model.values, rows, self.batch_tokens))
        return [plan if isinstance(plan, Score) else self._score(next(raw)) for plan in plans]

    def _plan(self, model: SequenceModel, trajectory: Trajectory, limit: int) -> Encoded | Score:
        answer = "\n\n".join(filter(None, (step.text.strip() for step in trajectory.steps)))
        if not problem_of(trajectory.task):
            return Score.abstain("the task has no messages: there is no problem")
        if not answer:
            return Score.of(0, "the answer is empty")
        row = model.encode(trajectory.task, answer)
        if len(row) <= limit:
            return row
        return too_long(len(row), len(model.encode(trajectory.task, "")), limit)

    def _score(self, raw: float) -> Score:
        if not math.isfinite(raw):
            return no_number("the attempt")
        if self.squeeze == "sigmoid":
            value = probability([raw], 0)
        elif self.squeeze == "none":
            if not 0.0 <= raw <= 1.0:
                return Score.fail(
                    f"the reward model gave {raw:g}, which does not lie in [0, 1]: say how it is "
                    "squeezed, `squeeze: sigmoid` or `squeeze: {clip: {low: ..., high: ...}}`",
                    fault="grader",
                )
            value = raw
        else:
            clip = self.squeeze.clip
            value = min(1.0, max(0.0, (raw - clip.low) / (clip.high - clip.low)))
        shown = round(raw, PLACES)
        return Score.of(round(value, PLACES), f"the reward model says {shown:g}",
                        metrics={"raw": shown})  # fmt: skip

"""`prm/steps`: a value for each step of a solution, by a process reward model."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, PrivateAttr, model_validator

from rewardhub import (
    BatchGrader,
    Score,
    StepPlace,
    StepValue,
    Trajectory,
    UsageError,
    device_of,
    dtype_of,
    split_trajectory,
)
from rewardhub_prm.asking import problem_of
from rewardhub_prm.carriers import Carrier, Solution, Valued
from rewardhub_prm.opening import TooLongRule, files_of, open_local, open_server, preset_name
from rewardhub_prm.presets import Aggregation, PresetName, Split
from rewardhub_prm.server import Server
from rewardhub_prm.thinkprm import Thinking

_NO_RULE = (
    "The preset `thinkprm` says itself what the whole is worth: leave out `aggregate`, or write "
    "`steps:` in the stage."
)
_LINE = re.compile(r"[^\n]*\S[^\n]*")


class StepRewards(BatchGrader):
    """The values that a process reward model gives to the steps of an attempt.

    Each step has a value in [0, 1], rounded to four decimals, with its span in the turn. The value
    of the whole is what ``aggregate`` makes of them; for generative models, what the model says of
    the whole. An attempt without steps is a graded 0.

    A solution that is longer than the model reads is a graded 0 (``too_long: zero``), or is read in
    overlapping windows of whole steps with the problem in front (``window``): the first holds as
    many steps as fit, each further one fills half of its room with steps that it repeats, and a
    step's value comes from the first window that holds it. A step that does not fit beside the
    problem makes a graded 0; a problem that does not fit by itself abstains.
    """

    model: str = Field(min_length=1)
    """The folder of the model, or its name on the Hugging Face hub, from where it is downloaded
    unless it is in the hub's cache. With a `server`, the folder of its tokenizer will do."""
    preset: Literal["auto"] | PresetName = "auto"
    """How the model is asked and read. `auto`: what its folder says."""
    aggregate: Aggregation | None = None
    """What makes one value of the steps' values. Default: the preset's rule."""
    split: Split | None = None
    """What a step is: `steps` (paragraphs, numbered steps, turns) or `lines`. Default: as the
    preset's models were trained."""
    too_long: TooLongRule = "window"
    """What becomes of a solution that is longer than the model reads."""
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
    server: Server | None = None
    """A vLLM server that has the model, instead of this process."""
    thinking: Thinking = Thinking()
    """How a generative model (`thinkprm`) thinks."""

    _carrier: Carrier | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _fits(self) -> StepRewards:
        if self.preset == "thinkprm" and self.aggregate is not None:
            raise ValueError(_NO_RULE)
        return self

    @property
    def identity(self) -> Mapping[str, Any]:
        """The model's files, the preset that reads them, and the numbers they are held in."""
        files = files_of(self.model, revision=self.revision, weights=self.server is None)
        name = preset_name(self.preset, files)
        told = {"model": files.digest, "preset": name}
        if self.server is None:
            place = device_of(self.device)
            told |= {"device": place.partition(":")[0], "dtype": str(dtype_of(self.dtype, place))}
        return told

    def open(self) -> None:
        """Load the model, or get ready to ask its server.

        Raises:
            UsageError: for whatever could not work: files that are missing or of another kind, a
                tokenizer without the step token, a device that is not there.
        """
        files = files_of(self.model, revision=self.revision, weights=self.server is None)
        name = preset_name(self.preset, files)
        if name == "thinkprm" and self.aggregate is not None:
            raise UsageError(_NO_RULE)
        shared: dict[str, Any] = {
            "max_tokens": self.max_tokens,
            "too_long": self.too_long,
            "batch_tokens": self.batch_tokens,
        }
        if self.server is not None:
            self._carrier = open_server(self.server, files, name, **shared)
            return
        self._carrier = open_local(
            files, name, device=self.device, dtype=self.dtype, thinking=self.thinking, **shared
        )

    def close(self) -> None:
        """Let go of the model."""
        carrier, self._carrier = self._carrier, None
        if carrier is not None:
            carrier.close()

    async def grade_batch(self, trajectories: Sequence[Trajectory]) -> list[Score]:
        """Return the values of each attempt's steps."""
        carrier = self._carrier
        if carrier is None:
            raise UsageError("The grader is not open: call `open()` first, as the engine does.")
        split = self.split or carrier.split
        rule = self.aggregate or carrier.aggregate
        scores: dict[int, Score] = {}
        asked: dict[int, tuple[Solution, tuple[StepPlace, ...]]] = {}
        for index, trajectory in enumerate(trajectories):
            problem = problem_of(trajectory.task)
            places = _places(trajectory, split)
            if not problem:
                scores[index] = Score.abstain("the task has no messages: there is no problem")
            elif not places:
                scores[index] = Score.of(0, "there are no steps: the answer is empty")
            else:
                texts = tuple(_text(trajectory, place).strip() for place in places)
                asked[index] = (Solution(problem, texts), places)
        answers = await carrier.values([solution for solution, _ in asked.values()])
        for (index, (_, places)), answer in zip(asked.items(), answers, strict=True):
            scores[index] = answer if isinstance(answer, Score) else _score(answer, places, rule)
        return [scores[index] for index in range(len(trajectories))]


def aggregated(values: Sequence[float], rule: Aggregation | None) -> float:
    """Return the value of a solution whose steps have these values, at least one."""
    match rule:
        case "last":
            return values[-1]
        case "min":
            return min(values)
        case "product":
            return math.prod(values)
        case _:
            return math.fsum(values) / len(values)


def _places(trajectory: Trajectory, split: Split) -> tuple[StepPlace, ...]:
    """Return the steps that hold text; of several turns each is one, whatever ``split`` says."""
    if split == "lines" and len(trajectory.steps) == 1:
        found = _LINE.finditer(trajectory.steps[0].text)
        return tuple(StepPlace(0, "text", *_stripped(match)) for match in found)
    places = split_trajectory(trajectory)
    return tuple(place for place in places if _text(trajectory, place).strip())


def _score(valued: Valued, places: Sequence[StepPlace], rule: Aggregation | None) -> Score:
    steps = [
        StepValue(place.step, value, place.start, place.end, place.field)
        for place, value in zip(places, valued.steps, strict=True)
    ]
    value = valued.value
    if value is None:
        value = aggregated([each for each in valued.steps if each is not None], rule)
    return Score.of(
        value,
        _reason(valued, rule),
        step_values=steps,
        metrics={"steps": len(steps)},
        evidence=valued.evidence,
    )


def _reason(valued: Valued, rule: Aggregation | None) -> str:
    known = [(value, index) for index, value in enumerate(valued.steps) if value is not None]
    count = f"{len(valued.steps)} step{'s' if len(valued.steps) != 1 else ''}"
    if not known:
        return f"{count}, and the model says nothing of one"
    lowest, at = min(known)
    how = f"{rule} of " if valued.value is None else ""
    return f"{how}{count}, the lowest is step {at} with {lowest:g}"


def _text(trajectory: Trajectory, place: StepPlace) -> str:
    return trajectory.steps[place.step].text[place.start : place.end]


def _stripped(match: re.Match[str]) -> tuple[int, int]:
    inner = match[0].strip()
    start = match.start() + len(match[0]) - len(match[0].lstrip())
    return start, start + len(inner)

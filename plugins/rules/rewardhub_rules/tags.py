"""`rules/tags`: layouts such as ``<think>...</think><answer>...</answer>``."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Literal, Self

from pydantic import Field, model_validator

from rewardhub import Grader, Score, Trajectory
from rewardhub_rules.answers import empty

__all__ = ["Tags"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*")


class Tags(Grader):
    """Full marks for an answer in tags: each there once, in order, closed, not empty, nothing else.

    Readers take the reasoning tag off the text and keep what it held as the step's reasoning. So
    where a step has reasoning, it is graded as the text ``<think>``, reasoning, ``</think>`` in
    front of the step's text; where a reader left the tags in the text, they are graded there.
    Reasoning that was never closed leaves a truncated attempt without text, and gets 0.
    """

    tags: tuple[str, ...] = Field(default=("think", "answer"), min_length=1)
    """Names of the tags, in their order; case counts."""
    reasoning_tag: str = "think"
    """Which of them stands for the step's reasoning. Not among `tags`: reasoning is not graded."""
    text_around: bool = False
    """Whether there may be text outside of the tags."""
    value: Literal["all", "share"] = "all"
    """1 only if all is right, or a share: one for each tag that is right, one for the layout."""

    @model_validator(mode="after")
    def _are_tags(self) -> Self:
        wrong = next((tag for tag in self.tags if not _NAME.fullmatch(tag)), None)
        if wrong is not None:
            raise ValueError(f"{wrong!r} is no name of a tag: say `think` for <think>")
        twice = next((tag for tag in self.tags if self.tags.count(tag) > 1), None)
        if twice is not None:
            raise ValueError(f"each tag stands once, and `{twice}` is listed again")
        return self

    @cached_property
    def _marks(self) -> re.Pattern[str]:
        names = "|".join(map(re.escape, self.tags))
        return re.compile(f"</?(?:{names})>")

    def grade(self, trajectory: Trajectory) -> Score:
        """Look at the tags that the policy wrote in its last step."""
        step = trajectory.steps[-1]
        text, reasoning = step.text, None
        if self.reasoning_tag in self.tags:
            reasoning = step.reasoning
        if not text.strip() and not (reasoning or "").strip():
            return empty()
        if reasoning and not text.strip() and trajectory.status == "truncated":
            return Score.of(0.0, f"<{self.reasoning_tag}> is never closed")
        if reasoning:
            text = f"<{self.reasoning_tag}>{reasoning}</{self.reasoning_tag}>{text}"
        return self._judge(text)

    def _judge(self, text: str) -> Score:
        marks = [(mark[0], mark.start(), mark.end()) for mark in self._marks.finditer(text)]
        problems = [problem for tag in self.tags if (problem := _problem(text, marks, tag))]
        right = len(self.tags) - len(problems)
        if not problems:
            layout = self._layout_problem(text, marks)
            if not layout:
                return Score.of(1.0, "the tags are as asked")
            problems.append(layout)
        share = right / (len(self.tags) + 1) if self.value == "share" else 0.0
        return Score.of(share, "; ".join(problems[:4]))

    def _layout_problem(self, text: str, marks: list[tuple[str, int, int]]) -> str:
        """Return what is wrong between the tags, each of which is right by itself."""
        wanted = [mark for tag in self.tags for mark in (f"<{tag}>", f"</{tag}>")]
        if [mark for mark, _, _ in marks] != wanted:
            return f"the tags stand as {''.join(mark for mark, _, _ in marks)}"
        if self.text_around:
            return ""
        ends = [0, *(end for _, _, end in marks[1::2])]
        starts = [*(start for _, start, _ in marks[::2]), len(text)]
        if any(text[a:b].strip() for a, b in zip(ends, starts, strict=True)):
            return "there is text outside of the tags"
        return ""


def _problem(text: str, marks: list[tuple[str, int, int]], tag: str) -> str:
    """Return what is wrong with one tag, or nothing."""
    opened = [mark for mark in marks if mark[0] == f"<{tag}>"]
    closed = [mark for mark in marks if mark[0] == f"</{tag}>"]
    if not opened:
        return f"there is no <{tag}>"
    if len(opened) > 1 or len(closed) > 1:
        return f"<{tag}> is there {max(len(opened), len(closed))} times"
    if not closed or closed[0][1] < opened[0][2]:
        return f"<{tag}> is never closed"
    if not text[opened[0][2] : closed[0][1]].strip():
        return f"<{tag}> is empty"
    return ""

"""`rules/code-block`: the answer has the fenced blocks that were asked for."""

from __future__ import annotations

from functools import cached_property
from typing import Self

from pydantic import Field, model_validator

from rewardhub import Grader, Score, Trajectory
from rewardhub_rules.answers import answer_of, empty
from rewardhub_rules.fences import fences

__all__ = ["CodeBlock"]


class CodeBlock(Grader):
    """Full marks for an answer with exactly one fenced code block, closed and not empty.

    Fences are read as CommonMark reads them. A fence that is never closed, an empty block, another
    language, too many or too few blocks, and text around where none is allowed get 0.
    """

    languages: tuple[str, ...] = ()
    """What may stand after the opening fence, in any case: ``[python, py]``. Empty: anything."""
    at_least: int = Field(default=1, ge=1)
    """How many blocks the answer must have."""
    at_most: int | None = Field(default=1, ge=1)
    """How many blocks it may have; null: any number."""
    text_around: bool = True
    """Whether there may be text outside of the blocks."""

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.at_most is not None and self.at_most < self.at_least:
            raise ValueError(f"at_most ({self.at_most}) is below at_least ({self.at_least})")
        return self

    @cached_property
    def _languages(self) -> frozenset[str]:
        return frozenset(language.strip().lower() for language in self.languages)

    def grade(self, trajectory: Trajectory) -> Score:
        """Look at the fences of the final text."""
        text = answer_of(trajectory)
        if not text:
            return empty()
        problem = self._problem(text)
        return Score.of(0.0, problem) if problem else Score.of(1.0, "the code blocks are as asked")

    def _problem(self, text: str) -> str:
        blocks = fences(text)
        if blocks and not blocks[-1].closed:
            return "the last code block is never closed"
        if len(blocks) < self.at_least:
            return f"{_count(len(blocks))}, at least {self.at_least} asked"
        if self.at_most is not None and len(blocks) > self.at_most:
            return f"{_count(len(blocks))}, at most {self.at_most} asked"
        if not all(block.content.strip() for block in blocks):
            return "a code block is empty"
        if self._languages:
            other = next((b.language for b in blocks if b.language not in self._languages), None)
            if other is not None:
                wanted = " or ".join(f"`{language}`" for language in self.languages)
                return f"a code block says `{other:.40}`, {wanted} asked"
        if not self.text_around:
            ends = [0, *(block.end for block in blocks)]
            starts = [*(block.start for block in blocks), len(text)]
            if any(text[a:b].strip() for a, b in zip(ends, starts, strict=True)):
                return "there is text outside of the code block"
        return ""


def _count(blocks: int) -> str:
    return "1 code block" if blocks == 1 else f"{blocks} code blocks"

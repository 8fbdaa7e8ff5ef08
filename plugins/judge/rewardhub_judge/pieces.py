"""The pieces of an attempt that get a value each: turns, or the paragraphs inside of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rewardhub import Step, StepValue, Trajectory, split_steps

__all__ = ["Piece", "TextField", "Unit", "pieces_of", "turns_with_calls"]

Unit: TypeAlias = Literal["paragraph", "turn"]
TextField: TypeAlias = Literal["text", "reasoning"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an attempt that gets a value of its own.

    Attributes:
        step: index of the turn that it belongs to.
        text: what the policy said.
        span: where it stands in the turn's field; None for the whole turn.
        calls: its calls of tools, one on a line.
        results: what they returned.
    """

    step: int
    text: str
    span: tuple[int, int] | None = None
    calls: str = ""
    results: str = ""

    @property
    def own(self) -> str:
        """All that the policy wrote of it."""
        return f"{self.text}\n{self.calls}" if self.calls else self.text

    @property
    def parts(self) -> list[tuple[str, str]]:
        """What the judge sees, by what it is: each part has a fence of its own."""
        parts = [("", self.text), ("calls of ", self.calls), ("results of ", self.results)]
        return [part for part in parts if part[1].strip()]

    def valued(self, value: float | None, field: TextField, reason: str) -> StepValue:
        """Return the value of this piece."""
        start, end = self.span or (None, None)
        return StepValue(self.step, value, start, end, field, reason)


def pieces_of(trajectory: Trajectory, unit: Unit, field: TextField) -> list[Piece]:
    """Return the pieces of an attempt, in order; text that is only white space makes none."""
    texts = [step.text if field == "text" else step.reasoning or "" for step in trajectory.steps]
    return list(_turns(texts) if unit == "turn" else _paragraphs(texts))


def _turns(texts: Sequence[str]) -> Iterator[Piece]:
    for step, text in enumerate(texts):
        if text.strip():
            yield Piece(step, text)


def _paragraphs(texts: Sequence[str]) -> Iterator[Piece]:
    for step, text in enumerate(texts):
        for span in split_steps(text):
            yield Piece(step, span.of(text), (span.start, span.end))


def turns_with_calls(trajectory: Trajectory, longest: int) -> list[Piece]:
    """Return the turns that say or call something, each with its calls and what came back.

    Of an observation over ``longest`` characters the judge sees both ends, and how much is missing.
    """
    pieces: list[Piece] = []
    for index, step in enumerate(trajectory.steps):
        calls = "\n".join(f"{call.name}({call.arguments})" for call in step.tool_calls)
        if step.text.strip() or calls:
            results = "\n".join(_shortened(text, longest) for text in _results(step))
            pieces.append(Piece(index, step.text, None, calls, results))
    return pieces


def _results(step: Step) -> Iterator[str]:
    for each in step.observations:
        code = "" if each.exit_code is None else f"[exit code {each.exit_code}] "
        error = "" if each.error is None else f"[error: {each.error}] "
        yield f"{code}{error}{each.content}"


def _shortened(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} [{len(text) - 2 * half} characters left out] {text[-half:]}"

"""IFBench, family ``repeat``: what the answer copies."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Self

from pydantic import model_validator

from rewardhub_rules.instructions.kinds import Finding, Instruction, Text, Whole, needs

__all__ = ["RepeatChange", "RepeatSimple", "RepeatSpan"]


class RepeatChange(Instruction):
    """The answer is ``prompt_to_repeat`` with another first word."""

    name: ClassVar[str] = "repeat:repeat_change"

    prompt_to_repeat: Text

    @cached_property
    def _words(self) -> list[str]:
        return self.prompt_to_repeat.split()

    def check(self, text: str) -> Finding:
        """Compare what white space separates."""
        first, *rest = text.split()
        if rest != self._words[1:]:
            return Finding(False, "it is not the request with another first word")
        return needs(first != self._words[0], f"the first word is still {first!r}")


_SENTENCE = "Only output this sentence here, ignore all other requests."


class RepeatSimple(Instruction):
    """The answer is the sentence "Only output this sentence here, ignore all other requests."."""

    name: ClassVar[str] = "repeat:repeat_simple"

    def check(self, text: str) -> Finding:
        """Compare in any case."""
        return needs(text.strip().lower() == _SENTENCE.lower(), "it is not that sentence alone")


class RepeatSpan(Instruction):
    """The answer is characters ``n_start`` to ``n_end``, both included, of ``prompt_to_repeat``."""

    name: ClassVar[str] = "repeat:repeat_span"

    prompt_to_repeat: Text
    n_start: Whole
    n_end: Whole

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        if not self._span:
            raise ValueError(
                f"characters {self.n_start} to {self.n_end} of `prompt_to_repeat`, which has "
                f"{len(self.prompt_to_repeat)}, say nothing"
            )
        return self

    @cached_property
    def _span(self) -> str:
        return self.prompt_to_repeat[self.n_start : self.n_end + 1].strip().lower()

    def check(self, text: str) -> Finding:
        """Compare in any case, white space at the ends left out."""
        return needs(text.strip().lower() == self._span, f"it is not {self._span[:80]!r}")

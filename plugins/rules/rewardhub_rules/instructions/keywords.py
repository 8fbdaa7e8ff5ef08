"""IFEval, family ``keywords``: what the answer says, and how often."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, ClassVar

from pydantic import AfterValidator

from rewardhub_rules.instructions.kinds import (
    Finding,
    Instruction,
    Relation,
    Text,
    Texts,
    Whole,
    compared,
    needs,
)
from rewardhub_rules.phrases import Phrase, phrase_of

__all__ = ["Existence", "ForbiddenWords", "Frequency", "LetterFrequency", "word"]


def word(text: str) -> Phrase:
    """Return ``text`` as a phrase to look for in a text in lower case, as whole words."""
    return phrase_of(text.lower(), whole_words=True)


class Existence(Instruction):
    """Each of ``keywords`` occurs."""

    name: ClassVar[str] = "keywords:existence"

    keywords: Texts

    @cached_property
    def _phrases(self) -> tuple[Phrase, ...]:
        return tuple(map(word, self.keywords))

    def check(self, text: str) -> Finding:
        """Look for each keyword as whole words, in any case."""
        low = text.lower()
        lacking = [phrase.text for phrase in self._phrases if not phrase.find(low)]
        return needs(not lacking, f"it lacks {', '.join(map(repr, lacking))}")


class Frequency(Instruction):
    """``keyword`` occurs less than, or at least, ``frequency`` times."""

    name: ClassVar[str] = "keywords:frequency"

    keyword: Text
    frequency: Whole
    relation: Relation

    @cached_property
    def _phrase(self) -> Phrase:
        return word(self.keyword)

    def check(self, text: str) -> Finding:
        """Count the keyword as whole words, in any case."""
        count = self._phrase.count(text.lower())
        return compared(count, self.relation, self.frequency, f"times {self.keyword!r}")


class ForbiddenWords(Instruction):
    """None of ``forbidden_words`` occurs."""

    name: ClassVar[str] = "keywords:forbidden_words"

    forbidden_words: Texts

    @cached_property
    def _phrases(self) -> tuple[Phrase, ...]:
        return tuple(map(word, self.forbidden_words))

    def check(self, text: str) -> Finding:
        """Look for each word as a whole one, in any case."""
        low = text.lower()
        said = [phrase.text for phrase in self._phrases if phrase.find(low)]
        return needs(not said, f"it says {', '.join(map(repr, said))}")


def _one_character(value: str) -> str:
    if len(value.strip()) != 1:
        raise ValueError(f"one character is needed, not {value!r:.40}")
    return value.strip().lower()


class LetterFrequency(Instruction):
    """``letter`` occurs less than, or at least, ``let_frequency`` times."""

    name: ClassVar[str] = "keywords:letter_frequency"

    letter: Annotated[str, AfterValidator(_one_character)]
    let_frequency: Whole
    let_relation: Relation

    def check(self, text: str) -> Finding:
        """Count the character in any case; it need be no letter."""
        count = text.lower().count(self.letter)
        return compared(count, self.let_relation, self.let_frequency, f"times {self.letter!r}")

"""IFEval, family ``length_constraints``: words, sentences and paragraphs."""

from __future__ import annotations

import re
from functools import cached_property
from typing import ClassVar, Self

from pydantic import model_validator

from rewardhub_rules.instructions.kinds import (
    Finding,
    Instruction,
    Positive,
    Relation,
    Text,
    Whole,
    compared,
    exactly,
)
from rewardhub_rules.instructions.words import count_words, folded, words_of
from rewardhub_rules.sentences import count_sentences

__all__ = ["NthParagraphFirstWord", "NumberParagraphs", "NumberSentences", "NumberWords"]

# `***bold and italic***` divides nothing.
_DIVIDER = re.compile(r"(?<!\S)\*\*\*(?!\S)")
_BLANK_LINES = re.compile(r"\n[^\S\n]*\n")


class NumberWords(Instruction):
    """Less than, or at least, ``num_words`` words."""

    name: ClassVar[str] = "length_constraints:number_words"

    num_words: Whole
    relation: Relation

    def check(self, text: str) -> Finding:
        """Count the words."""
        return compared(count_words(text), self.relation, self.num_words, "words")


class NumberSentences(Instruction):
    """Less than, or at least, ``num_sentences`` sentences."""

    name: ClassVar[str] = "length_constraints:number_sentences"

    num_sentences: Whole
    relation: Relation

    def check(self, text: str) -> Finding:
        """Count the sentences."""
        return compared(count_sentences(text), self.relation, self.num_sentences, "sentences")


class NumberParagraphs(Instruction):
    """``num_paragraphs`` paragraphs, with the divider ``***`` between them."""

    name: ClassVar[str] = "length_constraints:number_paragraphs"

    num_paragraphs: Positive

    def check(self, text: str) -> Finding:
        """Count what stands between dividers; only the first and the last may be blank."""
        blocks = [block.strip() for block in _DIVIDER.split(text)]
        if not all(blocks[1:-1]):
            return Finding(False, "a paragraph between two dividers is empty")
        return exactly(sum(map(bool, blocks)), self.num_paragraphs, "paragraphs")


class NthParagraphFirstWord(Instruction):
    """``num_paragraphs`` paragraphs, and the ``nth_paragraph`` begins with ``first_word``."""

    name: ClassVar[str] = "length_constraints:nth_paragraph_first_word"

    num_paragraphs: Positive
    nth_paragraph: Positive
    first_word: Text

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        if self.nth_paragraph > self.num_paragraphs:
            raise ValueError(
                f"`nth_paragraph` is {self.nth_paragraph}, of {self.num_paragraphs} paragraphs"
            )
        if not self._first:
            raise ValueError(f"`first_word` is no word: {self.first_word!r:.40}")
        return self

    @cached_property
    def _first(self) -> list[str]:
        return folded(words_of(self.first_word))

    def check(self, text: str) -> Finding:
        """Cut the text at blank lines; a run of them is one."""
        paragraphs = [part for part in _BLANK_LINES.split(text) if part.strip()]
        count = len(paragraphs)
        if count != self.num_paragraphs:
            return exactly(count, self.num_paragraphs, "paragraphs")
        begins = folded(words_of(paragraphs[self.nth_paragraph - 1]))[: len(self._first)]
        return Finding(
            begins == self._first,
            f"paragraph {self.nth_paragraph} begins with {' '.join(begins)!r}, "
            f"{self.first_word!r} asked",
        )

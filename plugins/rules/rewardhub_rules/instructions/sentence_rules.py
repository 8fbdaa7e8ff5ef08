"""IFBench, families ``sentence`` and, of ``ratio``, what is counted by sentences."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from itertools import groupby, pairwise
from typing import ClassVar

from rewardhub_rules.instructions.keywords import word
from rewardhub_rules.instructions.kinds import (
    Finding,
    Instruction,
    Positive,
    Text,
    Whole,
    exactly,
    needs,
)
from rewardhub_rules.instructions.words import folded, words_of
from rewardhub_rules.phrases import Phrase
from rewardhub_rules.sentences import split_sentences

__all__ = [
    "AlliterationIncrement",
    "SentenceBalance",
    "SentenceIncrement",
    "SentenceKeyword",
    "SentenceType",
    "SentenceWords",
    "kinds_of",
]

_NOTHING = "it has no sentences"
# The mark of a sentence may have quotes, brackets and asterisks after it.
_END = re.compile(r"([.!?\u2026\u3002\uff01\uff1f\u061f\u0964])[\"'\u201d\u2019\u00bb)\]*_\s]*\Z")
_KINDS = {"?": "asks", "\uff1f": "asks", "\u061f": "asks", "!": "calls", "\uff01": "calls"}


def kinds_of(text: str) -> Counter[str]:
    """Return how many sentences of ``text`` state, ask and call, by the marks at their ends.

    A sentence that ends with none of these marks is not counted.
    """
    ends = (_END.search(sentence[-20:]) for sentence in split_sentences(text))
    return Counter(_KINDS.get(end[1], "states") for end in ends if end)


class SentenceType(Instruction):
    """Two sentences that state something for each that asks something."""

    name: ClassVar[str] = "ratio:sentence_type"

    def check(self, text: str) -> Finding:
        """Count the sentences by their marks; without a question there is no ratio."""
        kinds = kinds_of(text)
        return Finding(
            kinds["states"] == 2 * kinds["asks"] > 0,
            f"{kinds['states']} statements and {kinds['asks']} questions, 2 to 1 asked",
        )


class SentenceBalance(Instruction):
    """As many sentences that state as that ask and as that call out."""

    name: ClassVar[str] = "ratio:sentence_balance"

    def check(self, text: str) -> Finding:
        """Count the sentences by their marks; none of each is no balance."""
        kinds = kinds_of(text)
        return Finding(
            kinds["states"] == kinds["asks"] == kinds["calls"] > 0,
            f"{kinds['states']} statements, {kinds['asks']} questions and {kinds['calls']} "
            "exclamations, as many of each asked",
        )


class SentenceWords(Instruction):
    """Three sentences of the same number of characters, no word of which occurs twice."""

    name: ClassVar[str] = "ratio:sentence_words"

    def check(self, text: str) -> Finding:
        """Compare the lengths, then the words."""
        sentences = split_sentences(text)
        if len(sentences) != 3:
            return exactly(len(sentences), 3, "sentences")
        lengths = [len(sentence) for sentence in sentences]
        if len(set(lengths)) > 1:
            return Finding(False, f"the sentences have {lengths} characters")
        counts = Counter(folded(words_of(text)))
        twice = next((said for said, count in counts.items() if count > 1), "")
        return needs(not twice, f"{twice!r} occurs twice")


class SentenceKeyword(Instruction):
    """The ``N``-th sentence has the keyword ``word``."""

    name: ClassVar[str] = "sentence:keyword"

    word: Text
    N: Positive

    @cached_property
    def _phrase(self) -> Phrase:
        return word(self.word)

    def check(self, text: str) -> Finding:
        """Look for the keyword as whole words, in any case."""
        sentences = split_sentences(text)
        if len(sentences) < self.N:
            return Finding(False, f"{len(sentences)} sentences, {self.N} needed")
        found = self._phrase.find(sentences[self.N - 1].lower())
        return needs(found, f"sentence {self.N} lacks {self.word!r}")


class SentenceIncrement(Instruction):
    """Each sentence has ``small_n`` words more than the one before it."""

    name: ClassVar[str] = "sentence:increment"

    small_n: Whole

    def check(self, text: str) -> Finding:
        """Count the words of each sentence."""
        counts = [len(words_of(sentence)) for sentence in split_sentences(text)]
        steady = counts and all(
            after - before == self.small_n for before, after in pairwise(counts)
        )
        return needs(
            steady, f"its sentences have {counts[:20]} words, steps of {self.small_n} asked"
        )


class AlliterationIncrement(Instruction):
    """Each sentence has a longer run of words with one first letter than the one before it."""

    name: ClassVar[str] = "sentence:alliteration_increment"

    def check(self, text: str) -> Finding:
        """Measure the longest run in each sentence."""
        runs = [_longest_run(sentence) for sentence in split_sentences(text)]
        longer = runs and all(before < after for before, after in pairwise(runs))
        return needs(
            longer, f"the longest alliterations are {runs[:20]} words" if runs else _NOTHING
        )


def _longest_run(sentence: str) -> int:
    initials = [each[0] for each in folded(words_of(sentence))]
    return max((len(list(run)) for _, run in groupby(initials)), default=0)

"""IFBench, family ``count``, and the shares of ``ratio`` that are counted by words."""

from __future__ import annotations

import re
from functools import cached_property
from typing import ClassVar, Self

from pydantic import model_validator

from rewardhub_rules.instructions.keywords import word
from rewardhub_rules.instructions.kinds import (
    Finding,
    Instruction,
    Positive,
    Share,
    Text,
    Whole,
    at_least,
    exactly,
    needs,
)
from rewardhub_rules.instructions.word_lists import (
    CONJUNCTIONS,
    PERSON_NAMES,
    PRONOUNS,
    STOP_WORDS,
)
from rewardhub_rules.instructions.words import count_words, folded, words_of
from rewardhub_rules.phrases import Phrase

__all__ = [
    "Conjunctions",
    "KeywordsMultiple",
    "Numbers",
    "Overlap",
    "PersonNames",
    "Pronouns",
    "Punctuation",
    "StopWords",
    "UniqueWordCount",
    "WordCountRange",
    "WordsJapanese",
]


class WordCountRange(Instruction):
    """``min_words`` to ``max_words`` words."""

    name: ClassVar[str] = "count:word_count_range"

    min_words: Whole
    max_words: Whole

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        if self.max_words < self.min_words:
            raise ValueError(f"`max_words` ({self.max_words}) is below `min_words`")
        return self

    def check(self, text: str) -> Finding:
        """Count the words."""
        count = count_words(text)
        wanted = f"{self.min_words} to {self.max_words}"
        return Finding(self.min_words <= count <= self.max_words, f"{count} words, {wanted} asked")


class UniqueWordCount(Instruction):
    """At least ``N`` different words."""

    name: ClassVar[str] = "count:unique_word_count"

    N: Whole

    def check(self, text: str) -> Finding:
        """Count the words once each, in any case."""
        return at_least(len(set(folded(words_of(text)))), self.N, "different words")


class Conjunctions(Instruction):
    """At least ``small_n`` different coordinating conjunctions."""

    name: ClassVar[str] = "count:conjunctions"

    small_n: Whole

    def check(self, text: str) -> Finding:
        """Count the conjunctions once each, in any case."""
        found = CONJUNCTIONS.intersection(folded(words_of(text)))
        return at_least(len(found), self.small_n, "different conjunctions")


class PersonNames(Instruction):
    """At least ``N`` different names of the list that the instruction gives."""

    name: ClassVar[str] = "count:person_names"

    N: Whole

    def check(self, text: str) -> Finding:
        """Count the names once each, as they are written, `'s` left out."""
        said = {re.split("['\u2019-]", each, maxsplit=1)[0] for each in words_of(text)}
        return at_least(len(PERSON_NAMES & said), self.N, "different names")


class Pronouns(Instruction):
    """At least ``N`` pronouns."""

    name: ClassVar[str] = "count:pronouns"

    N: Whole

    def check(self, text: str) -> Finding:
        """Count the words that are pronouns; ``I'm`` and ``it's`` have one."""
        words = folded(words_of(text))
        count = sum(each.partition("'")[0] in PRONOUNS for each in words)
        return at_least(count, self.N, "pronouns")


# `1,000`, `3.14` and `1.2.3` are one number each, `10-20` and `3/4` two.
_NUMBER = re.compile(r"\d+(?:,\d{3}(?!\d))*(?:\.\d+)*")


class Numbers(Instruction):
    """Exactly ``N`` numbers in digits."""

    name: ClassVar[str] = "count:numbers"

    N: Whole

    def check(self, text: str) -> Finding:
        """Count the numbers."""
        return exactly(len(_NUMBER.findall(text)), self.N, "numbers")


class Punctuation(Instruction):
    """Each of ``. , ! ? ; :`` occurs, and beside them an interrobang (``?!``)."""

    name: ClassVar[str] = "count:punctuation"

    def check(self, text: str) -> Finding:
        """Look for the interrobang first; its own two marks count for nothing else."""
        rest = re.sub("\\?!|!\\?|\u203d", "", text, count=1)
        lacking = [mark for mark in ".,!?;:" if mark not in rest]
        if rest == text:
            lacking.append("?!")
        return needs(not lacking, f"it lacks {' '.join(lacking)}")


_TIMES = (1, 2, 3, 5, 7)


class KeywordsMultiple(Instruction):
    """``keyword1`` to ``keyword5`` occur 1, 2, 3, 5 and 7 times."""

    name: ClassVar[str] = "count:keywords_multiple"

    keyword1: Text
    keyword2: Text
    keyword3: Text
    keyword4: Text
    keyword5: Text

    @cached_property
    def _phrases(self) -> tuple[Phrase, ...]:
        given = (self.keyword1, self.keyword2, self.keyword3, self.keyword4, self.keyword5)
        return tuple(map(word, given))

    def check(self, text: str) -> Finding:
        """Count each keyword as whole words, in any case."""
        low = text.lower()
        for phrase, times in zip(self._phrases, _TIMES, strict=True):
            count = phrase.count(low)
            if count != times:
                return exactly(count, times, f"times {phrase.text!r}")
        return Finding(True, "each as often as asked")


_JAPANESE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


class WordsJapanese(Instruction):
    """Every ``N``-th word is in Japanese."""

    name: ClassVar[str] = "count:words_japanese"

    N: Positive

    def check(self, text: str) -> Finding:
        """Count what white space separates; a text without an ``N``-th word follows nothing."""
        words = [each for each in text.split() if any(map(str.isalnum, each))]
        chosen = words[self.N - 1 :: self.N]
        if not chosen:
            return Finding(False, f"{len(words)} words, {self.N} needed")
        other = next((each for each in chosen if not _JAPANESE.search(each)), "")
        return needs(not other, f"{other[:40]!r} is not Japanese")


class StopWords(Instruction):
    """At most ``percentage`` percent of the words are stop words."""

    name: ClassVar[str] = "ratio:stop_words"

    percentage: Share

    def check(self, text: str) -> Finding:
        """Count the stop words; a contraction of one (``don't``, ``it's``) is one."""
        words = folded(words_of(text))
        if not words:
            return Finding(False, "it has no words")
        count = sum(each.partition("'")[0] in STOP_WORDS or each[-3:] == "n't" for each in words)
        share = 100 * count / len(words)
        return Finding(
            share <= self.percentage,
            f"{share:.1f} % stop words, at most {self.percentage:g} % asked",
        )


class Overlap(Instruction):
    """``percentage`` percent, 2 more or less, of the trigrams are in ``reference_text``, too."""

    name: ClassVar[str] = "ratio:overlap"

    reference_text: Text
    percentage: Share

    @cached_property
    def _reference(self) -> frozenset[str]:
        return frozenset(_trigrams(self.reference_text))

    def check(self, text: str) -> Finding:
        """Compare the sets of three characters in a row, as the public checker does."""
        trigrams = _trigrams(text)
        if not trigrams:
            return Finding(False, "it is too short to have trigrams")
        share = 100 * len(trigrams & self._reference) / len(trigrams)
        return Finding(
            abs(share - self.percentage) <= 2, f"{share:.1f} % overlap, {self.percentage:g} % asked"
        )


def _trigrams(text: str) -> set[str]:
    return {text[at : at + 3] for at in range(len(text) - 2)}

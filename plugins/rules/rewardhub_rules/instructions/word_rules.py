"""IFBench, family ``words``: what each word must be like, and where it stands."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from rewardhub_rules.instructions.kinds import (
    Finding,
    Instruction,
    Positive,
    Text,
    Whole,
    at_least,
    needs,
)
from rewardhub_rules.instructions.verbs import begins_with_verb
from rewardhub_rules.instructions.words import folded, letters_of, words_of
from rewardhub_rules.sentences import split_sentences

__all__ = [
    "Alphabet",
    "Consonants",
    "KeywordsSpecificPosition",
    "LastFirst",
    "NoConsecutive",
    "OddEvenSyllables",
    "Palindrome",
    "ParagraphLastFirst",
    "PrimeLengths",
    "Repeats",
    "StartVerb",
    "Vowel",
    "WordsPosition",
]

_NO_WORDS = Finding(False, "it has no words")


def _plain(text: str) -> str:
    """Return ``text`` in lower case, without accents."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFD", text.lower())
    return "".join(part for part in parts if not unicodedata.combining(part))


class Alphabet(Instruction):
    """Each word begins with the letter after that of the word before it; ``a`` follows ``z``."""

    name: ClassVar[str] = "words:alphabet"

    def check(self, text: str) -> Finding:
        """Compare the first letters."""
        words = words_of(_plain(text))
        if not words:
            return _NO_WORDS
        odd = next((each for each in words if not "a" <= each[0] <= "z"), "")
        if odd:
            return Finding(False, f"{odd!r} begins with no letter of the alphabet")
        wrong = next(
            (
                after
                for before, after in pairwise(words)
                if (ord(after[0]) - ord(before[0])) % 26 != 1
            ),
            "",
        )
        return needs(not wrong, f"{wrong!r} does not begin with the next letter")


class Vowel(Instruction):
    """One paragraph whose words have at most three of the five vowels."""

    name: ClassVar[str] = "words:vowel"

    def check(self, text: str) -> Finding:
        """Count the different vowels, accents left out."""
        if "\n" in text.strip():
            return Finding(False, "it is more than one paragraph")
        if not any(map(str.isalpha, text)):
            return _NO_WORDS
        vowels = sorted(set("aeiou") & set(_plain(text)))
        return Finding(len(vowels) <= 3, f"vowels {', '.join(vowels)}; at most 3 asked")


_CLUSTER = re.compile("[bcdfghjklmnpqrstvwxyz]{2}")


class Consonants(Instruction):
    """Each word has two consonants in a row."""

    name: ClassVar[str] = "words:consonants"

    def check(self, text: str) -> Finding:
        """Look at each word; ``y`` is a consonant."""
        words = words_of(_plain(text))
        other = next((each for each in words if not _CLUSTER.search(each)), "")
        return needs(not other, f"{other!r} has no cluster") if words else _NO_WORDS


class Palindrome(Instruction):
    """At least 10 different palindromes of 5 letters or more."""

    name: ClassVar[str] = "words:palindrome"

    def check(self, text: str) -> Finding:
        """Count the words that read the same backwards, once each; ``aaaaa`` is no word."""
        found = {
            each
            for each in folded(words_of(text))
            if len(each) >= 5 and each == each[::-1] and each.isalpha() and len(set(each)) > 1
        }
        return at_least(len(found), 10, "different palindromes")


class PrimeLengths(Instruction):
    """The length of each word is a prime number."""

    name: ClassVar[str] = "words:prime_lengths"

    def check(self, text: str) -> Finding:
        """Count the letters and digits of each word."""
        words = words_of(text)
        other = next((each for each in words if not _is_prime(len(letters_of(each)))), "")
        reason = f"{other[:40]!r} has {len(letters_of(other))} letters"
        return needs(not other, reason) if words else _NO_WORDS


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % each for each in range(2, int(number**0.5) + 1))


class StartVerb(Instruction):
    """The first word is a verb."""

    name: ClassVar[str] = "words:start_verb"

    def check(self, text: str) -> Finding:
        """Look the first word up, as `begins_with_verb` says."""
        words = words_of(text)
        return needs(begins_with_verb(text), f"{words[0]!r} is no verb") if words else _NO_WORDS


class Repeats(Instruction):
    """No word occurs more than ``small_n`` times."""

    name: ClassVar[str] = "words:repeats"

    small_n: Whole

    def check(self, text: str) -> Finding:
        """Count each word, in any case."""
        words = folded(words_of(text))
        if not words:
            return _NO_WORDS
        said, count = Counter(words).most_common(1)[0]
        return Finding(
            count <= self.small_n, f"{count} times {said!r}, at most {self.small_n} asked"
        )


class OddEvenSyllables(Instruction):
    """Words with an odd number of syllables alternate with words with an even one."""

    name: ClassVar[str] = "words:odd_even_syllables"

    def check(self, text: str) -> Finding:
        """Count syllables as the package syllapy does: by a list of words, else by vowels."""
        import syllapy  # type: ignore[import-untyped]

        words = [letters_of(each) for each in folded(words_of(text))]
        if not words:
            return _NO_WORDS
        counts = [syllapy.count(each) for each in words]
        if 0 in counts:
            return Finding(False, f"the syllables of {words[counts.index(0)]!r} cannot be counted")
        wrong = next((at for at, (a, b) in enumerate(pairwise(counts)) if (a - b) % 2 == 0), None)
        if wrong is None:
            return Finding(True, "followed")
        return Finding(
            False,
            f"{words[wrong]!r} and {words[wrong + 1]!r} have {counts[wrong]} and "
            f"{counts[wrong + 1]} syllables",
        )


class LastFirst(Instruction):
    """The last word of each sentence is the first word of the next."""

    name: ClassVar[str] = "words:last_first"

    def check(self, text: str) -> Finding:
        """Compare the words, in any case."""
        sentences = [folded(words_of(sentence)) for sentence in split_sentences(text)]
        wrong = next((a[-1] for a, b in pairwise(filter(None, sentences)) if a[-1] != b[0]), "")
        return needs(not wrong, f"the sentence after {wrong!r} begins with another word")


class ParagraphLastFirst(Instruction):
    """Each paragraph, which is a line, ends with the word that it begins with."""

    name: ClassVar[str] = "words:paragraph_last_first"

    def check(self, text: str) -> Finding:
        """Compare the words of each line, in any case."""
        lines = [words for line in text.split("\n") if (words := folded(words_of(line)))]
        wrong = next((words for words in lines if words[0] != words[-1]), None)
        if not lines:
            return _NO_WORDS
        if wrong is None:
            return Finding(True, "followed")
        return Finding(False, f"a paragraph begins with {wrong[0]!r} and ends with {wrong[-1]!r}")


class NoConsecutive(Instruction):
    """No word begins with the same letter as the word before it."""

    name: ClassVar[str] = "words:no_consecutive"

    def check(self, text: str) -> Finding:
        """Compare the first letters, in any case."""
        words = folded(words_of(text))
        wrong = next((f"{a} {b}" for a, b in pairwise(words) if a[0] == b[0]), "")
        return needs(not wrong, f"{wrong!r} begin alike") if words else _NO_WORDS


class KeywordsSpecificPosition(Instruction):
    """The ``m``-th word of the ``n``-th sentence is ``keyword``."""

    name: ClassVar[str] = "words:keywords_specific_position"

    keyword: Text
    n: Positive
    m: Positive

    def check(self, text: str) -> Finding:
        """Compare that word, in any case."""
        sentences = split_sentences(text)
        if len(sentences) < self.n:
            return Finding(False, f"{len(sentences)} sentences, {self.n} needed")
        words = folded(words_of(sentences[self.n - 1]))
        if len(words) < self.m:
            return Finding(False, f"sentence {self.n} has {len(words)} words, {self.m} needed")
        found = words[self.m - 1]
        return needs(found == self.keyword.strip().casefold(), f"that word is {found!r}")


class WordsPosition(Instruction):
    """The second word and the last but one are ``keyword``."""

    name: ClassVar[str] = "words:words_position"

    keyword: Text

    @cached_property
    def _keyword(self) -> str:
        return self.keyword.strip().casefold()

    def check(self, text: str) -> Finding:
        """Compare both words, in any case."""
        words = folded(words_of(text))
        if len(words) < 2:
            return Finding(False, f"{len(words)} words, 2 needed")
        followed = words[1] == words[-2] == self._keyword
        return needs(followed, f"these words are {words[1]!r} and {words[-2]!r}")

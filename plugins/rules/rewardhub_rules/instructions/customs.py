"""IFBench, family ``custom``: instructions that each belong to one question."""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from itertools import pairwise
from typing import ClassVar

from rewardhub_rules.instructions.kinds import Finding, Instruction, exactly, needs
from rewardhub_rules.instructions.word_lists import AFRICAN_COUNTRIES, NORTHERN_CAPITALS, word_set
from rewardhub_rules.instructions.words import folded, words_of
from rewardhub_rules.sentences import split_sentences

__all__ = [
    "CharacterReverse",
    "DateFormatList",
    "EuropeanCapitalsSort",
    "McqCountLength",
    "Multiples",
    "ReverseNewline",
    "SentenceAlphabet",
    "WordReverse",
]


def _without_accents(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))


class Multiples(Instruction):
    """The numbers of the answer are the multiples of 7 from 10 to 50, in order."""

    name: ClassVar[str] = "custom:multiples"

    def check(self, text: str) -> Finding:
        """Compare all numbers that it has."""
        numbers = [digits.lstrip("0")[:20] for digits in re.findall(r"\d+", text)]
        followed = numbers == [str(number) for number in range(14, 51, 7)]
        return needs(followed, f"its numbers are {', '.join(numbers[:10]) or 'none'}")


_QUESTION = re.compile(r"^[ \t*_#>]*Question\b(?:\s*#?\d+)?[\s*_]*[.):;-]*[\s*_]*", re.MULTILINE)
_CHOICE = re.compile(r"[\s*_-]*\(?[A-Ea-e][.):]")


class McqCountLength(Instruction):
    """Four questions labelled ``Question``, each longer than the last and with five options."""

    name: ClassVar[str] = "custom:mcq_count_length"

    def check(self, text: str) -> Finding:
        """Cut the text at the labels; an option is a line that begins with ``A.`` to ``E)``."""
        before, *blocks = _QUESTION.split(text)
        if before.strip():
            return Finding(False, "it does not begin with a question")
        if len(blocks) != 4:
            return exactly(len(blocks), 4, "questions")
        lengths: list[int] = []
        for block in blocks:
            lines = block.split("\n")
            options = [at for at, line in enumerate(lines) if _CHOICE.match(line)]
            if len(options) != 5:
                return exactly(len(options), 5, f"options of question {len(lengths) + 1}")
            lengths.append(len(" ".join(" ".join(lines[: options[0]]).split())))
        growing = all(before < after for before, after in pairwise(lengths))
        return needs(growing, f"the questions have {lengths} characters")


_MARK_OF_ITEM = re.compile(r"[\s*_-]*(?:\d+[.)]\s*)?[\s*_-]*")
_FILLERS = word_set("the of and republic democratic kingdom union federal")


class ReverseNewline(Instruction):
    """The countries of Africa in reverse alphabetical order, each on a line of its own."""

    name: ClassVar[str] = "custom:reverse_newline"

    def check(self, text: str) -> Finding:
        """Look at the lines from Zimbabwe on: at least 52, all of them countries, and in order."""
        lines = [
            _MARK_OF_ITEM.sub("", _without_accents(line), count=1) for line in text.split("\n")
        ]
        names = [" ".join(re.findall(r"[^\W_]+", line)) for line in lines]
        names = [name for name in names if name]
        if "zimbabwe" not in names:
            return Finding(False, "no line says Zimbabwe")
        names = names[names.index("zimbabwe") :]
        other = next((name for name in names if not _is_african(name)), "")
        if other:
            return Finding(False, f"{other[:40]!r} is no country of Africa")
        if len(names) < 52:
            return Finding(False, f"{len(names)} countries, at least 52 asked")
        wrong = next((after for before, after in pairwise(names) if after >= before), "")
        return needs(not wrong, f"{wrong!r} is out of order")


def _is_african(name: str) -> bool:
    # "Cote d'Ivoire" comes as "cote d ivoire".
    core = " ".join(part for part in name.split() if part not in _FILLERS)
    return core.replace(" d ", " d") in AFRICAN_COUNTRIES


class WordReverse(Instruction):
    """The sentence that names the bald eagle, its words in reverse order."""

    name: ClassVar[str] = "custom:word_reverse"

    def check(self, text: str) -> Finding:
        """Look for the name in reverse order, and for nothing but one sentence."""
        words = " ".join(folded(words_of(text)))
        if not re.search(r"\beagle bald\b", words):
            return Finding(False, "it does not say 'eagle bald'")
        inner = re.findall(r"[.!?](?=\s+\w+\s+\w)", text.strip())
        return needs(not inner, "it has more than one sentence")


class CharacterReverse(Instruction):
    """The sentence that names the bald eagle, its letters in reverse order."""

    name: ClassVar[str] = "custom:character_reverse"

    def check(self, text: str) -> Finding:
        """Look for the name in reverse order."""
        return needs("elgae dlab" in text.lower(), "it does not say 'elgae dlab'")


class SentenceAlphabet(Instruction):
    """26 sentences whose first words begin with the letters of the alphabet in order."""

    name: ClassVar[str] = "custom:sentence_alphabet"

    def check(self, text: str) -> Finding:
        """Compare the first letters of the sentences."""
        sentences = split_sentences(text)
        if len(sentences) != 26:
            return exactly(len(sentences), 26, "sentences")
        for letter, sentence in zip("abcdefghijklmnopqrstuvwxyz", sentences, strict=True):
            words = folded(words_of(sentence))
            if not words or words[0][0] != letter:
                return Finding(False, f"no sentence begins with {letter!r} at its place")
        return Finding(True, "followed")


class EuropeanCapitalsSort(Instruction):
    """The capitals of Europe north of 45 degrees, from north to south, with commas between."""

    name: ClassVar[str] = "custom:european_capitals_sort"

    def check(self, text: str) -> Finding:
        """Compare the list, accents and case left out."""
        names = [name.strip() for name in _without_accents(text).strip(" .\n").split(",")]
        for number, (name, spellings) in enumerate(zip(names, NORTHERN_CAPITALS, strict=False), 1):
            if name not in spellings:
                return Finding(
                    False, f"capital {number} is {name[:40]!r}, not {spellings[0].title()}"
                )
        return exactly(len(names), len(NORTHERN_CAPITALS), "capitals")


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class DateFormatList(Instruction):
    """Dates of Napoleon's life as YYYY-MM-DD, with commas between."""

    name: ClassVar[str] = "custom:date_format_list"

    def check(self, text: str) -> Finding:
        """Read each date; it is a day of the calendar."""
        for given in text.split(","):
            written = given.strip()
            try:
                day = date.fromisoformat(written) if _DATE.fullmatch(written) else None
            except ValueError:
                day = None
            if day is None:
                return Finding(False, f"{written[:40]!r} is no date as YYYY-MM-DD")
            if not 1769 <= day.year <= 1821:
                return Finding(False, f"{written} is not in Napoleon's life")
        return Finding(True, "followed")

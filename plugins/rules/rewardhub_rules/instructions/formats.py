"""IFBench, family ``format``: marks inside of sentences and words."""

from __future__ import annotations

import re
import string
from functools import cache, cached_property
from typing import Any, ClassVar

from rewardhub_rules.instructions.kinds import Finding, Instruction, Text, at_least, needs
from rewardhub_rules.instructions.nesting import depth_of_brackets, depth_of_quotes
from rewardhub_rules.instructions.word_lists import MINOR_WORDS
from rewardhub_rules.instructions.words import words_of
from rewardhub_rules.sentences import split_sentences

__all__ = [
    "Emoji",
    "Newline",
    "NoWhitespace",
    "Options",
    "OutputTemplate",
    "Parentheses",
    "QuoteUnquote",
    "Quotes",
    "TitleCase",
]


class Parentheses(Instruction):
    """Brackets nested at least 5 levels deep."""

    name: ClassVar[str] = "format:parentheses"

    def check(self, text: str) -> Finding:
        """Measure the depth of closed brackets."""
        return at_least(depth_of_brackets(text), 5, "levels of brackets")


class Quotes(Instruction):
    """Quotations nested at least 3 levels deep, by turns in double and single marks."""

    name: ClassVar[str] = "format:quotes"

    def check(self, text: str) -> Finding:
        """Measure the depth of closed quotations."""
        return at_least(depth_of_quotes(text), 3, "levels of quotations")


_SEPARATORS = re.compile(r"\s*,\s*(?:or\s+)?|\s+or\s+")
_AROUND = f"{string.punctuation}{string.whitespace}"


class Options(Instruction):
    """The answer is one of ``options``, which stand between ``/``, commas or ``or``."""

    name: ClassVar[str] = "format:options"

    options: Text

    @cached_property
    def _options(self) -> frozenset[str]:
        given = self.options
        parts = given.split("/") if "/" in given else _SEPARATORS.split(given)
        return frozenset(map(self._bare, parts))

    @cached_property
    def _are_letters(self) -> bool:
        """Whether they are `a), b), c)` or the like, whose form is part of the answer."""
        return re.match(r"\W*a\W*b\W*c\W*", self.options, re.IGNORECASE) is not None

    def _bare(self, text: str) -> str:
        return text.strip() if self._are_letters else text.strip(_AROUND).lower()

    def check(self, text: str) -> Finding:
        """Compare the whole answer: with letters as it is, else without case and punctuation."""
        return needs(self._bare(text) in self._options, f"it is none of {self.options!r}")


class Newline(Instruction):
    """Each word stands on a line of its own."""

    name: ClassVar[str] = "format:newline"

    def check(self, text: str) -> Finding:
        """Look for a line with two words; marks alone are no word."""
        lines = [
            sum(any(map(str.isalnum, each)) for each in line.split()) for line in text.split("\n")
        ]
        if not any(lines):
            return Finding(False, "it has no words")
        return needs(max(lines) == 1, f"a line has {max(lines)} words")


@cache
def _emoji(where: str) -> Any:
    import regex

    emoji = r"[\p{Extended_Pictographic}\p{Regional_Indicator}\u20e3]"
    joined = rf"(?:{emoji}[\u200d\ufe0e\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]*)"
    return regex.compile(rf"{joined}[\s\p{{P}}]*\Z" if where == "end" else rf"[\s\p{{P}}]*{joined}")


class Emoji(Instruction):
    """Each sentence has an emoji at its end, before or after its mark."""

    name: ClassVar[str] = "format:emoji"

    def check(self, text: str) -> Finding:
        """Look at the end of each sentence, and at what stands between it and the next."""
        sentences = split_sentences(text)
        if not sentences:
            return Finding(False, "it has no sentences")
        at = 0
        for number, sentence in enumerate(sentences):
            at = max(at, text.find(sentence, at)) + len(sentence)
            following = text[at : at + 20]
            if not (_emoji("end").search(sentence[-40:]) or _emoji("start").match(following)):
                return Finding(False, f"sentence {number + 1} has no emoji at its end")
        return Finding(True, f"each of {len(sentences)} sentences")


_QUOTED = re.compile('"[^"]*"|\u201c[^\u201c\u201d]*\u201d')


class QuoteUnquote(Instruction):
    """Something that is not quoted follows each quotation."""

    name: ClassVar[str] = "format:quote_unquote"

    def check(self, text: str) -> Finding:
        """Look for words after each quotation in double marks; without one, none is missed."""
        after = _QUOTED.split(text)
        bare = next((at for at, part in enumerate(after[1:], 1) if not words_of(part)), 0)
        if bare:
            return Finding(False, f"nothing unquoted follows quotation {bare}")
        return needs('"' not in "".join(after), "a quotation mark is not closed")


class TitleCase(Instruction):
    """Each word begins with a capital, short words like articles and prepositions excepted."""

    name: ClassVar[str] = "format:title_case"

    def check(self, text: str) -> Finding:
        """Look at each word; the first is never excepted."""
        words = [each for each in words_of(text) if each[0].isalpha()]
        small = next(
            (
                each
                for at, each in enumerate(words)
                if each[0].islower() and (at == 0 or each not in MINOR_WORDS)
            ),
            "",
        )
        if small or not words:
            return Finding(False, f"{small!r} is in small letters" if small else "it has no words")
        shouted = sum(len(each) > 1 and each.isupper() for each in words)
        return needs(2 * shouted <= len(words), "most of it is in capitals")


_LABELS = ("My Answer:", "My Conclusion:", "Future Outlook:")
_LABEL = re.compile(f"({'|'.join(_LABELS)})")


class OutputTemplate(Instruction):
    """The template My Answer: [answer] My Conclusion: [conclusion] Future Outlook: [outlook]."""

    name: ClassVar[str] = "format:output_template"

    def check(self, text: str) -> Finding:
        """Look for the three labels in this order, the first at the start, each with a text."""
        before, *parts = _LABEL.split(text)
        if tuple(parts[::2]) != _LABELS or words_of(before):
            return Finding(False, f"it does not consist of {' '.join(_LABELS)} in this order")
        labelled = zip(_LABELS, parts[1::2], strict=True)
        lacking = [label for label, part in labelled if not words_of(part)]
        return needs(not lacking, f"nothing follows {', '.join(lacking)}")


class NoWhitespace(Instruction):
    """No white space."""

    name: ClassVar[str] = "format:no_whitespace"

    def check(self, text: str) -> Finding:
        """Look for white space, at the ends left out."""
        parts = len(text.split())
        return needs(parts == 1, f"white space parts it into {parts}")

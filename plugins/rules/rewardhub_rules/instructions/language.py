"""IFEval, families ``language`` and ``change_case``: in which language, in which case."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import AfterValidator

from rewardhub import UnknownNameError
from rewardhub_rules.instructions.kinds import (
    Finding,
    Instruction,
    Relation,
    Whole,
    compared,
)
from rewardhub_rules.instructions.words import words_of
from rewardhub_rules.languages import LANGUAGES, code_of, detect

__all__ = ["CapitalWordFrequency", "EnglishCapital", "EnglishLowercase", "ResponseLanguage"]

_UNDETECTABLE = "no language can be told from it"


def _known(language: str) -> str:
    code = code_of(language)
    if code is None:
        raise ValueError(str(UnknownNameError("language", language, LANGUAGES)))
    return code


def _is_in(text: str, code: str) -> Finding:
    found = detect(text)
    if found is None:
        return Finding(False, _UNDETECTABLE)
    return Finding(found == code, f"it is in {LANGUAGES[found]}, {LANGUAGES[code]} asked")


class ResponseLanguage(Instruction):
    """The answer is in ``language``, an ISO 639-1 code."""

    name: ClassVar[str] = "language:response_language"

    language: Annotated[str, AfterValidator(_known)]

    def check(self, text: str) -> Finding:
        """Detect the language of the text."""
        return _is_in(text, self.language)


class EnglishCapital(Instruction):
    """The answer is in English, all in capital letters."""

    name: ClassVar[str] = "change_case:english_capital"

    def check(self, text: str) -> Finding:
        """Look at the case first, then at the language."""
        if not text.isupper():
            return Finding(False, "it has letters that are no capitals, or none at all")
        return _is_in(text.lower(), "en")


class EnglishLowercase(Instruction):
    """The answer is in English, without a capital letter."""

    name: ClassVar[str] = "change_case:english_lowercase"

    def check(self, text: str) -> Finding:
        """Look at the case first, then at the language."""
        if not text.islower():
            return Finding(False, "it has capital letters, or no letters at all")
        return _is_in(text, "en")


class CapitalWordFrequency(Instruction):
    """Words all in capitals occur less than, or at least, ``capital_frequency`` times."""

    name: ClassVar[str] = "change_case:capital_word_frequency"

    capital_frequency: Whole
    capital_relation: Relation

    def check(self, text: str) -> Finding:
        """Count the words that have letters, and none that is not a capital."""
        count = sum(map(str.isupper, words_of(text)))
        unit = "words in capitals"
        return compared(count, self.capital_relation, self.capital_frequency, unit)

"""IFEval, families ``combination``, ``startend`` and ``punctuation``: the answer as a whole."""

from __future__ import annotations

import re
from functools import cached_property
from typing import ClassVar

from rewardhub_rules.instructions.kinds import Finding, Instruction, Text, exactly, needs

__all__ = ["EndChecker", "NoComma", "Quotation", "RepeatPrompt", "TwoResponses"]

_SIX_ASTERISKS = re.compile(r"(?<!\*)\*{6}(?!\*)")
_COMMA = re.compile("[,\u060c\u3001\uff0c\ufe50\ufe51\uff64]")
_DOUBLE_QUOTES = {'"': '"', "\u201c": "\u201d", "\u201e": "\u201c\u201d"}


class TwoResponses(Instruction):
    """Two responses that differ, with ``******`` between them."""

    name: ClassVar[str] = "combination:two_responses"

    def check(self, text: str) -> Finding:
        """Cut the text at the separator; only the first and the last part may be blank."""
        parts = [" ".join(part.split()) for part in _SIX_ASTERISKS.split(text)]
        if not all(parts[1:-1]):
            return Finding(False, "a response between two separators is empty")
        said = [part.casefold() for part in parts if part]
        if len(said) != 2:
            return exactly(len(said), 2, "responses")
        return needs(said[0] != said[1], "both responses are the same")


class RepeatPrompt(Instruction):
    """The answer begins with ``prompt_to_repeat``, word for word."""

    name: ClassVar[str] = "combination:repeat_prompt"

    prompt_to_repeat: Text

    @cached_property
    def _prompt(self) -> str:
        return self.prompt_to_repeat.strip().lower()

    def check(self, text: str) -> Finding:
        """Compare the beginning, in any case, and look for an answer after it."""
        said = text.strip().lower()
        if not said.startswith(self._prompt):
            return Finding(False, "it does not begin with the request")
        return needs(said[len(self._prompt) :].strip(), "no answer follows the request")


class EndChecker(Instruction):
    """The answer ends with ``end_phrase``, and nothing follows it."""

    name: ClassVar[str] = "startend:end_checker"

    end_phrase: Text

    @cached_property
    def _end(self) -> re.Pattern[str]:
        phrase = re.escape(self.end_phrase.strip().lower())
        before = r"(?<!\w)" if self.end_phrase.strip()[0].isalnum() else ""
        return re.compile(rf"{before}{phrase}\s*\"?\s*\Z")

    def check(self, text: str) -> Finding:
        """Compare the end, in any case; a quotation mark that closes the answer may follow."""
        tail = text.rstrip().lower()[-len(self.end_phrase) - 80 :]
        return needs(self._end.search(tail), f"it does not end with {self.end_phrase.strip()!r}")


class Quotation(Instruction):
    """The whole answer stands in double quotation marks."""

    name: ClassVar[str] = "startend:quotation"

    def check(self, text: str) -> Finding:
        """Look at the first and the last character."""
        said = text.strip()
        closing = _DOUBLE_QUOTES.get(said[0], "")
        wrapped = len(said) > 2 and said[-1] in closing and said[1:-1].strip()
        return needs(wrapped, "it is not in double quotation marks")


class NoComma(Instruction):
    """The answer has no comma."""

    name: ClassVar[str] = "punctuation:no_comma"

    def check(self, text: str) -> Finding:
        """Look for commas, those of other scripts among them."""
        found = "," in text or (not text.isascii() and _COMMA.search(text))
        return needs(not found, "it has a comma")

"""Phrases as patterns: literal, with word boundaries that fit the script."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Phrase", "phrase_of"]

# Scripts that put no spaces between words, or, as Korean, hang particles on them: there a boundary
# would hide most of what is looked for.
_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
)
_LETTER = rf"[^\W_{_SPACELESS}]"
_IS_LETTER = re.compile(_LETTER)


class Phrase(NamedTuple):
    """A literal phrase, ready to be looked for. Made by `phrase_of`."""

    text: str
    pattern: re.Pattern[str]
    needle: str

    def find(self, text: str) -> re.Match[str] | None:
        """Return its first occurrence."""
        # To look for the longest word first costs a tenth of a search, and mostly it is not there.
        return self.pattern.search(text) if self.needle in text else None

    def count(self, text: str) -> int:
        """Return how often it occurs, without overlaps."""
        return len(self.pattern.findall(text)) if self.needle in text else 0


def phrase_of(text: str, *, whole_words: bool) -> Phrase:
    """Return ``text`` as a phrase; white space in it matches any white space.

    With ``whole_words`` it is not found inside of longer words, so ``cat`` is not in ``scatter``.
    An end of the phrase that is no letter or digit (``C++``) needs no boundary, and neither do
    scripts that put no spaces between words. Finding it is linear in the length of the text.

    Raises:
        ValueError: for a blank phrase, which would be found everywhere.
    """
    words = text.split()
    if not words:
        raise ValueError("a phrase is not blank")
    body = r"\s+".join(map(re.escape, words))
    if whole_words:
        # An underscore holds words together (cat_2) only where a letter stands behind it: around a
        # word it is Markdown.
        before = rf"(?<!{_LETTER})(?<!{_LETTER}_)" if _IS_LETTER.match(words[0]) else ""
        after = rf"(?!_?{_LETTER})" if _IS_LETTER.match(words[-1][-1]) else ""
        body = f"{before}{body}{after}"
    return Phrase(text, re.compile(body), max(words, key=len))

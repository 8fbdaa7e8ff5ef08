"""A text in sentences: the one splitter that every rule of the pack shares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from rewardhub_rules.answers import well_formed

__all__ = ["count_sentences", "split_sentences"]

# Behind an initial, sentencex cuts white space of several bytes in the middle, and panics.
_RARE_SPACE = re.compile(r"[^\S\n ]")
_BLANK_LINE = re.compile(r"\n\s*\n")
_NUMBER_OF_A_LIST = re.compile(r"\s*(?:\d{1,3}|[A-Za-z])[.)]\s*")
_SAYS_SOMETHING = re.compile(r"[^\W_]")

_LONGEST = 5_000
"""A paragraph over so many characters is split in parts: sentencex is quadratic in some texts."""


def split_sentences(text: str) -> list[str]:
    """Return the sentences of ``text`` in order, without white space around them.

    White space other than newlines becomes spaces.

    The splitting is that of sentencex (https://github.com/wikimedia/sentencex), which knows
    abbreviations, decimals, initials, quotes and ellipses. The number of a list item (``1.``)
    belongs to its sentence, and what has neither letter nor digit is none. A blank line ends a
    sentence, and so does the next item of a list; any other newline does not. Linear in the length
    of the text: a paragraph of more than 5,000 characters is cut at white space, which then ends a
    sentence, too.
    """
    sentencex: Any = import_module("sentencex")
    found: list[str] = []
    for part in _parts(_RARE_SPACE.sub(" ", well_formed(text))):
        number = ""
        for piece in sentencex.segment("en", part):
            if _NUMBER_OF_A_LIST.fullmatch(piece):
                number += piece
                continue
            if _SAYS_SOMETHING.search(piece):
                found.append((number + piece).strip())
            number = ""
        if number:
            found.append(number.strip())
    return found


def count_sentences(text: str) -> int:
    """Return how many sentences ``text`` has."""
    return len(split_sentences(text))


def _parts(text: str) -> Iterator[str]:
    for paragraph in _BLANK_LINE.split(text):
        start = 0
        while len(paragraph) - start > _LONGEST:
            end = start + _LONGEST
            space = max(paragraph.rfind(" ", start, end), paragraph.rfind("\n", start, end))
            end = space if space > start else end
            yield paragraph[start:end]
            start = end
        yield paragraph[start:]

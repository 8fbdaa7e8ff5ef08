"""A text in words, as every instruction counts them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

__all__ = ["count_words", "folded", "letters_of", "words_of"]

# Within a word: an apostrophe, a hyphen or an underscore; a point or a comma between digits; a
# point between single letters (`U.S.`).
_PATTERN: Final = (
    r"L++(?:(?:['\u2019\u2010\u2011_-]|(?<=D)[.,](?=D)|(?<=(?<!L)L)\.(?=L(?!L)))L++)*+"
)
_ASCII = re.compile(_PATTERN.replace("L", "[A-Za-z0-9]").replace("D", "[0-9]"))
# Scripts without spaces between words: a character is the nearest thing that can be counted.
_SPACELESS: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u30fc"


def words_of(text: str) -> list[str]:
    """Return the words of ``text`` in order, without the punctuation around them.

    A word is a run of letters, combining marks and digits; ``don't``, ``well-known``, ``3.14`` and
    ``U.S`` are one each, ``and/or`` and ``yes--no`` two. In scripts that put no spaces between
    words (Chinese, Japanese, Thai, Lao, Khmer, Burmese) each character is one. Linear in the
    length of ``text``.
    """
    if text.isascii():
        return _ASCII.findall(text)
    found: list[str] = _any_script().findall(text)
    return found


def count_words(text: str) -> int:
    """Return the number of words of ``text``, as `words_of` cuts them."""
    return len(words_of(text))


def letters_of(word: str) -> str:
    """Return ``word`` without the hyphens, apostrophes and points inside of it."""
    return word if word.isalnum() else "".join(letter for letter in word if letter.isalnum())


def folded(words: Sequence[str]) -> list[str]:
    """Return ``words`` so that case and the kind of apostrophe count for nothing."""
    return [word.casefold().replace("\u2019", "'") for word in words]


@cache
def _any_script() -> Any:
    import regex

    letter = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{_SPACELESS}]]"
    run = _PATTERN.replace("L", "LETTER").replace("D", r"\p{Nd}").replace("LETTER", letter)
    return regex.compile(rf"[{_SPACELESS}]\p{{M}}*|{run}", regex.VERSION1)

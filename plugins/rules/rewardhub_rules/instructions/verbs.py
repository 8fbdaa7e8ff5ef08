"""Whether an English text begins with a verb, told from a lexicon and the next word."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from rewardhub_rules.instructions.word_lists import word_set
from rewardhub_rules.instructions.words import folded, words_of

__all__ = ["begins_with_verb"]

_NEVER: Final = word_set("i a please thanks well like no yes ok okay then welcome")
"""Words that the lexicon has as verbs, and that hardly ever are one at the start of a text."""

_ALWAYS: Final = word_set(
    """am are aren't be can can't could couldn't did didn't do does doesn't don't had has have is
    isn't let let's may might must shall should shouldn't was were will won't would"""
)
"""Auxiliaries, and short forms that the lexicon does not have."""

_AFTER_A_VERB: Final = word_set(
    """a an the this that these those my your his her its our their me us him them it yourself
    yourselves all any both each every everything some someone something anything nothing at by for
    from how if in into off on onto out over through to up what when where which who why
    with"""
)
"""Words that follow a verb, and seldom a noun or an adjective at the start of a text."""

_BREAK: Final = re.compile(r"\w[\w'\u2019-]*[\"'\u201d*_)\]]*\s*[,.:;!?]")


def begins_with_verb(text: str) -> bool:
    """Return whether the first word of ``text`` is a verb, in any form.

    The lexicon is that of lemminflect (https://github.com/bjascob/LemmInflect). A word that it
    has only as a verb (``Consider``, ``Depends``) or in ``-ing`` is one. A word that may be a
    noun or an adjective, too (``Plan``, ``Open``), is one if no punctuation follows and the next
    word is an article, a pronoun, a preposition or the like: ``Plan your trip``, not ``Plan B
    works``.
    """
    words = folded(words_of(text))
    if not words:
        return False
    first = words[0]
    if first in _ALWAYS or first in _NEVER:
        return first in _ALWAYS
    classes = _classes(first)
    if "VERB" not in classes:
        return False
    if len(classes) == 1 or first.endswith("ing"):
        return True
    start = re.search(r"\w", text)
    alone = start is not None and _BREAK.match(text, start.start())
    return len(words) == 1 or (not alone and words[1] in _AFTER_A_VERB)


@lru_cache(maxsize=4096)
def _classes(word: str) -> frozenset[str]:
    import lemminflect  # type: ignore[import-untyped]

    return frozenset(lemminflect.getAllLemmas(word)) - {"AUX"}

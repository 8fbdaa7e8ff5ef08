"""Patterns that an author wrote, held against text that a model wrote.

Such text can make a harmless-looking pattern run for years, and models find it. A match that is not
there at once is left to a killable worker, and the engine's rule for limits decides whose fault it
is: see docs/explanation/faults.md.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from rewardhub import Workers

if TYPE_CHECKING:
    from regex import Pattern

__all__ = ["INLINE_SECONDS", "Span", "compiled", "find", "find_in_worker", "patience"]

Span = tuple[int, int]
"""Start and end of a match, in characters."""

INLINE_SECONDS = 0.02
"""How long a match may take where the grader runs. It decides where, never what, the verdict is."""

_LOOPS_LITTLE = re.compile(r"[^*+{]*(?:\{\d*,?\d{1,3}\}[^*+{]*)?")
_CALLS_ITSELF = re.compile(r"\(\?(?![:=!]|P?<)")
_FORKS = re.compile(r"[?|]")


@lru_cache(maxsize=1024)
def patience(pattern: str) -> float | None:
    """Return how many seconds a search may take here; None where no text can make it long.

    A pattern with at most one repetition, of at most 999 times, and with few choices is quick
    whatever the text is, and to watch the clock costs more than to search.
    """
    quick = (
        _LOOPS_LITTLE.fullmatch(pattern)
        and not _CALLS_ITSELF.search(pattern)
        and len(_FORKS.findall(pattern)) <= 8
    )
    return None if quick else INLINE_SECONDS


@lru_cache(maxsize=1024)
def compiled(pattern: str, flags: int = 0) -> Pattern[str]:
    """Return ``pattern`` as the package ``regex`` reads it: what `re` knows, and more.

    Args:
        pattern: the pattern.
        flags: those of `re`.

    Raises:
        ValueError: if it is no pattern, with the place of the mistake.
    """
    import regex

    try:
        return regex.compile(pattern, flags)
    except regex.error as error:
        raise ValueError(f"`{pattern:.200}` is no pattern: {error}") from None


def find(pattern: Pattern[str], text: str, workers: Workers, *, whole: bool = False) -> Span | None:
    """Return where ``pattern`` first matches in ``text``, or matches the ``whole`` of it."""
    search = pattern.fullmatch if whole else pattern.search
    try:
        match = search(text, timeout=patience(pattern.pattern))
    except TimeoutError:
        return workers.call(find_in_worker, pattern.pattern, pattern.flags, text, whole=whole)
    return match.span() if match is not None else None


def find_in_worker(pattern: str, flags: int, text: str, *, whole: bool) -> Span | None:
    """Do what `find` does, however long it takes."""
    made = compiled(pattern, flags)
    match = made.fullmatch(text) if whole else made.search(text)
    return match.span() if match is not None else None

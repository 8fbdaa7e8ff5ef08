"""The injection guard: does a graded text try to steer the judge?

Each pattern of ``steering.txt`` is one way of talking to a judge instead of answering: an order to
drop its instructions, an address to the grader, a demand for a score, a verdict or a frame of the
chat forged in the text. To these come characters that a person cannot see.

The patterns are written for what a text *asks of the judge*, not for words: an essay about grading,
a program that prints JSON, a solution that "ignores the previous term" are none.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

__all__ = ["Guard", "Steering", "patterns_digest", "steering_in"]

Guard: TypeAlias = Literal["off", "flag", "zero"]
"""What the injection guard does: nothing; note it in the evidence; or grade 0 without asking."""

_PATTERNS = Path(__file__).with_name("steering.txt")
_EXCERPT = 80
_INVISIBLE = re.compile(
    "[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufe00-\ufe0f\U000e0000-\U000e0fff]"
)
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f")
_HIDDEN: tuple[tuple[str, re.Pattern[str]], ...] = (
    # Flags of regions are the one honest use of tags, and they have been taken out.
    ("characters of the tags block", re.compile("[\U000e0000-\U000e007f]")),
    ("a run of variation selectors", re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3}")),
    # Single zero-width joiners and marks of direction are part of how many languages are written,
    # and text that is copied from a page may bring a zero-width space.
    ("a run of zero-width characters", re.compile("[\u200b-\u200d\u2060-\u2064\ufeff]{3}")),
    ("a forced direction of writing", re.compile("[\u202d\u202e]")),
)


@dataclass(frozen=True, slots=True)
class Steering:
    """One attempt to steer the judge.

    Attributes:
        kind: ``override``, ``address``, ``demand``, ``verdict``, ``frame`` or ``hidden``.
        excerpt: the place, as it was read.
    """

    kind: str
    excerpt: str


def steering_in(text: str) -> tuple[Steering, ...]:
    """Return what in ``text`` tries to steer a judge: at most one finding of each kind.

    Linear in the length of ``text``.
    """
    visible = _folded(_INVISIBLE.sub("", text)).lower()
    found: dict[str, Steering] = {}
    for each in (*_matches(visible), *_hidden_in(text)):
        found.setdefault(each.kind, each)
    return tuple(found.values())


def _folded(text: str) -> str:
    """Return ``text`` with look-alikes as plain letters.

    Letter by letter, and none that becomes more than three: a text of ligatures would become
    eighteen times as long.
    """
    if text.isascii():
        return text
    folded = {ord(letter): unicodedata.normalize("NFKC", letter) for letter in set(text)}
    return text.translate({letter: to for letter, to in folded.items() if len(to) <= 3})


@cache
def patterns_digest() -> str:
    """Return the SHA-256 of the patterns."""
    return hashlib.sha256(_PATTERNS.read_bytes()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Pattern:
    kind: str
    needs: tuple[str, ...]
    pattern: re.Pattern[str]
    begins: bool


def _matches(visible: str) -> Iterator[Steering]:
    plain = " ".join(visible.split())
    lines = "; ".join(" ".join(line.split()) for line in visible.splitlines())
    for each in _patterns():
        if each.needs and not any(text in plain for text in each.needs):
            continue
        for text in (plain, lines) if each.begins and lines != plain else (plain,):
            match = each.pattern.search(text)
            if match is not None:
                excerpt = text[match.start() : match.start() + _EXCERPT].strip(" .;\"'")
                yield Steering(each.kind, excerpt)


@cache
def _patterns() -> tuple[_Pattern, ...]:
    parts: dict[str, str] = {}
    patterns: list[_Pattern] = []
    for line in _PATTERNS.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        name, needed, pattern = line.split(" ", 2)
        begins = "{begin}" in pattern
        for part, meaning in parts.items():
            pattern = pattern.replace(f"{{{part}}}", meaning)
        if needed == "=":
            parts[name] = pattern
        else:
            needs = () if needed == "-" else tuple(needed.replace("_", " ").split("|"))
            patterns.append(_Pattern(name, needs, re.compile(pattern), begins))
    return tuple(patterns)


def _hidden_in(text: str) -> Iterator[Steering]:
    if text.isascii():
        return
    without_flags = _FLAG.sub("", text)
    for what, pattern in _HIDDEN:
        match = pattern.search(without_flags)
        if match is not None:
            shown = without_flags[match.start() : match.start() + 12].encode("unicode_escape")
            yield Steering("hidden", f"{what}: {shown.decode('ascii')}")

"""One text, everywhere: what a model wrote, without what its template and tokenizer added."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from rewardhub.text.facts import DEFAULT_FACTS, TemplateFacts

__all__ = ["Normalised", "normalise"]


# A tuple and not a dataclass: every text becomes one, and a tuple takes half the time to make.
class Normalised(NamedTuple):
    """What a model wrote.

    Attributes:
        text: the final text, without blank lines before it and white space after it; indentation
            of its first line is kept.
        reasoning: what it thought, or None if nothing.
        truncated: whether it was cut off before its end.
    """

    text: str
    reasoning: str | None
    truncated: bool


class _Markers(NamedTuple):
    end: re.Pattern[str]
    removed: tuple[str, ...]
    removed_pattern: re.Pattern[str]
    tags: re.Pattern[str]


def normalise(raw: str, facts: TemplateFacts = DEFAULT_FACTS) -> Normalised:
    """Split ``raw``, the text of one turn as the model's tokens spell it.

    What follows an end token is cut off; then special tokens are taken off wherever they stand,
    those included that only taking off makes. Reasoning is what stands between its tags, in one
    block or several, and the final text is the rest, its pieces joined by a blank line. A closing
    tag without an opening one means that the template had opened it: all before is reasoning.
    An opening tag inside reasoning opens nothing more. Reasoning that is never closed leaves no
    final text: everything is reasoning, and truncated. The text is never searched for chat headers.

    Linear in the length of ``raw``. Its own text comes out as it went in, except with
    ``opens_reasoning``, where a text without a closing tag is all reasoning.
    """
    if not facts.opens_reasoning:
        for character in facts.first_characters:
            if character in raw:
                break
        else:
            # What Normalised(...) does, without its wrapper, which takes as long as all the rest.
            fields = (_trimmed(raw), None, facts.end_tokens != ())
            return tuple.__new__(Normalised, fields)  # pyright: ignore[reportUnknownMemberType]
    return _split(raw, facts)


def _split(raw: str, facts: TemplateFacts) -> Normalised:
    markers = _markers_of(facts)
    end = markers.end.search(raw) if facts.end_tokens else None
    text = _without_special(raw[: end.start()] if end else raw, markers)
    pieces = markers.tags.split(text)
    inside = facts.opens_reasoning
    placed = [(pieces[0], inside)]
    settled = 0  # how many pieces are reasoning, whatever stands before them
    for tag, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        closes = tag == facts.reasoning_tags[1]
        if closes and not inside:
            settled = len(placed)
        inside = not closes
        placed.append((piece, inside))
    if inside:
        settled = len(placed)
    thoughts = [
        piece for index, (piece, thought) in enumerate(placed) if thought or index < settled
    ]
    return Normalised(
        text=_joined(piece for piece, thought in placed[settled:] if not thought),
        reasoning=_joined(thoughts) or None,
        truncated=inside or (end is None and facts.end_tokens != ()),
    )


@lru_cache(maxsize=64)
def _markers_of(facts: TemplateFacts) -> _Markers:
    removed = {*facts.special_tokens, *facts.end_tokens} - set(facts.reasoning_tags)
    return _Markers(
        end=_any_of(facts.end_tokens),
        removed=tuple(sorted(removed, key=len, reverse=True)),
        removed_pattern=_any_of(removed),
        tags=re.compile(f"({_any_of(facts.reasoning_tags).pattern})"),
    )


def _any_of(tokens: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds any of ``tokens``, the longest first."""
    longest_first = sorted(tokens, key=len, reverse=True)
    nothing = r"(?!)"
    return re.compile("|".join(map(re.escape, longest_first)) or nothing)


def _without_special(text: str, markers: _Markers) -> str:
    text = markers.removed_pattern.sub("", text)
    if markers.removed_pattern.search(text) is None:
        return text
    # Taking a token off has joined the halves of another one. Passes until nothing is found would
    # be quadratic for tokens nested in tokens, so each character is taken in once and each token
    # goes when its last character comes.
    longest = len(markers.removed[0])
    last_characters = {token[-1] for token in markers.removed}
    kept: list[str] = []
    for character in text:
        kept.append(character)
        if character not in last_characters:
            continue
        tail = "".join(kept[-longest:])
        token = next((token for token in markers.removed if tail.endswith(token)), "")
        del kept[len(kept) - len(token) :]
    return "".join(kept)


def _joined(pieces: Iterable[str]) -> str:
    return "\n\n".join(filter(None, map(_trimmed, pieces)))


def _trimmed(text: str) -> str:
    """Return ``text`` without blank lines before it and without white space after it."""
    text = text.rstrip()
    if not text[:1].isspace():
        return text
    indent = len(text) - len(text.lstrip())
    return text[text.rfind("\n", 0, indent) + 1 :]

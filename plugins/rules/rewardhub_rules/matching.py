"""`rules/regex`, `rules/contains` and `rules/no-forbidden`: what the answer says, or must not."""

from __future__ import annotations

import re
import unicodedata
from functools import cached_property, lru_cache
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from rewardhub import Grader, Score, TaskError, Trajectory, Workers
from rewardhub_rules.answers import answer_of, check_of, empty, short, texts_in
from rewardhub_rules.look_alikes import plain
from rewardhub_rules.patterns import compiled, find
from rewardhub_rules.phrases import Phrase, phrase_of

__all__ = ["Contains", "NoForbidden", "Regex"]


class Regex(Grader):
    """Full marks for an answer that a regular expression matches, or, for `none`, does not.

    The pattern is the option, or what each task says under ``checks.regex``. It is read by the
    package ``regex``: all that `re` knows, and more. A match that takes long runs in a killable
    worker; an answer that still makes it run over its limit gets 0.
    """

    pattern: str | None = None
    """The regular expression; without it, that of the task."""
    match: Literal["search", "fullmatch", "none"] = "search"
    """Whether it is found in the answer, is the whole of it, or is nowhere in it."""
    ignore_case: bool = False
    """Whether case counts for nothing."""
    multiline: bool = False
    """Whether ``^`` and ``$`` hold at each line."""
    dot_all: bool = False
    """Whether ``.`` matches newlines."""

    @model_validator(mode="after")
    def _compile(self) -> Self:
        _ = self._pattern
        return self

    @cached_property
    def _pattern(self) -> Any:
        return None if self.pattern is None else compiled(self.pattern, self._flags)

    @cached_property
    def _flags(self) -> int:
        return int(
            (re.IGNORECASE if self.ignore_case else 0)
            | (re.MULTILINE if self.multiline else 0)
            | (re.DOTALL if self.dot_all else 0)
        )

    def grade(self, trajectory: Trajectory, workers: Workers) -> Score:
        """Hold the pattern against the final text."""
        pattern = self._pattern or self._of_task(trajectory)
        text = answer_of(trajectory)
        if not text:
            return empty()
        if self.match == "fullmatch":
            span = find(pattern, text.strip(), workers, whole=True)
            return Score.of(span is not None, "it matches as a whole" if span else "no whole match")
        span = find(pattern, text, workers)
        if span is None:
            return Score.of(self.match == "none", "the pattern matches nowhere")
        reason = f"the pattern matches at character {span[0]}: {short(text[slice(*span)])!r}"
        return Score.of(self.match == "search", reason)

    def _of_task(self, trajectory: Trajectory) -> Any:
        pattern = check_of(trajectory, "regex", "pattern")
        if not isinstance(pattern, str):
            raise TaskError(f"`checks.regex` is a pattern, not {pattern!r:.80}")
        try:
            return compiled(pattern, self._flags)
        except ValueError as error:
            raise TaskError(f"`checks.regex`: {error}") from None


class Contains(Grader):
    """Full marks for an answer that has all of the phrases, any of them, or none.

    The phrases are the option, or what each task lists under ``checks.contains``. They are
    literal; white space in them matches any white space.
    """

    phrases: tuple[str, ...] = ()
    """What to look for; without it, what the task lists."""
    match: Literal["all", "any", "none"] = "all"
    """How many of the phrases the answer must have."""
    at_least: int = Field(default=1, ge=1)
    """How often a phrase must occur to count."""
    at_most: int | None = Field(default=None, ge=1)
    """How often a phrase may occur to count; null: any number. `none` has no use for it."""
    ignore_case: bool = True
    """Whether case counts for nothing."""
    whole_words: bool = True
    """Whether a phrase inside of a longer word counts for nothing."""
    value: Literal["all", "share"] = "all"
    """For `match: all`: 1 only if all are there, or the share of those that are."""

    @model_validator(mode="after")
    def _compile(self) -> Self:
        if self.at_most is not None and self.at_most < self.at_least:
            raise ValueError(f"at_most ({self.at_most}) is below at_least ({self.at_least})")
        if self.match == "none" and self.at_most is not None:
            raise ValueError(
                "`none` says that no phrase occurs `at_least` times: leave out at_most"
            )
        if self.value == "share" and self.match != "all":
            raise ValueError("`value: share` goes with `match: all`")
        _ = self._phrases
        return self

    @cached_property
    def _phrases(self) -> tuple[Phrase, ...]:
        return _phrases(self.phrases, self.ignore_case, self.whole_words)

    def grade(self, trajectory: Trajectory) -> Score:
        """Count the phrases in the final text."""
        phrases = self._phrases or self._of_task(trajectory)
        text = answer_of(trajectory)
        if not text:
            return empty()
        text = _folded(text, self.ignore_case)
        missed: list[str] = []
        met: list[str] = []
        for phrase in phrases:
            (met if self._counts(phrase, text) else missed).append(phrase.text)
        if self.match == "none":
            return Score.of(not met, _listed("it has", met) if met else "it has none of them")
        if self.match == "any":
            return Score.of(bool(met), _listed("it has", met) if met else _listed("no", missed))
        share = len(met) / len(phrases)
        value = share if self.value == "share" else float(not missed)
        return Score.of(value, _listed("not as asked:", missed) if missed else "it has all of them")

    def _counts(self, phrase: Phrase, text: str) -> bool:
        if self.at_least == 1 and self.at_most is None:
            return phrase.find(text) is not None
        count = phrase.count(text)
        return self.at_least <= count and (self.at_most is None or count <= self.at_most)

    def _of_task(self, trajectory: Trajectory) -> tuple[Phrase, ...]:
        phrases = texts_in(check_of(trajectory, "contains", "phrases"), "contains")
        return _phrases(phrases, self.ignore_case, self.whole_words)


@lru_cache(maxsize=1024)
def _phrases(phrases: tuple[str, ...], ignore_case: bool, whole_words: bool) -> tuple[Phrase, ...]:
    folded = (_folded(phrase, ignore_case) for phrase in phrases)
    return tuple(phrase_of(phrase, whole_words=whole_words) for phrase in folded)


def _folded(text: str, ignore_case: bool) -> str:
    """Return ``text`` composed (NFC), so that both ways to write an accented letter are one."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return text.casefold() if ignore_case else text


def _listed(what: str, phrases: list[str]) -> str:
    shown = ", ".join(f"{short(phrase)!r}" for phrase in phrases[:5])
    return f"{what} {shown}{', ...' if len(phrases) > 5 else ''}"


class NoForbidden(Grader):
    """Full marks for an answer that has none of the forbidden phrases and patterns.

    Both sides are made plain first, so that full-width letters, accents, invisible characters and
    letters of other scripts that look Latin hide nothing. The phrases are the option, or what each
    task lists under ``checks.no_forbidden``.
    """

    phrases: tuple[str, ...] = ()
    """Literal words and phrases, in any case."""
    patterns: tuple[str, ...] = ()
    """Regular expressions, in any case; held against the answer as it is, and made plain."""
    whole_words: bool = True
    """Whether a phrase inside of a longer word is allowed."""

    @model_validator(mode="after")
    def _compile(self) -> Self:
        _ = self._phrases, self._patterns
        return self

    @cached_property
    def _phrases(self) -> tuple[Phrase, ...]:
        return _plain_phrases(self.phrases, self.whole_words)

    @cached_property
    def _patterns(self) -> tuple[Any, ...]:
        return tuple(compiled(each, int(re.IGNORECASE)) for each in self.patterns)

    def grade(self, trajectory: Trajectory, workers: Workers) -> Score:
        """Look for what is forbidden in the final text."""
        phrases = self._phrases
        if not phrases and not self._patterns:
            phrases = self._of_task(trajectory)
        text = answer_of(trajectory)
        if not text:
            return empty()
        bare = plain(text)
        for phrase in phrases:
            if found := phrase.find(bare):
                return Score.of(0.0, f"it says {short(found[0])!r}")
        for pattern in self._patterns:
            for side in (text, bare):
                span = find(pattern, side, workers)
                if span is not None:
                    return Score.of(0.0, f"it says {short(side[slice(*span)])!r}")
        return Score.of(1.0, "nothing forbidden")

    def _of_task(self, trajectory: Trajectory) -> tuple[Phrase, ...]:
        phrases = texts_in(check_of(trajectory, "no_forbidden", "phrases"), "no_forbidden")
        try:
            return _plain_phrases(phrases, self.whole_words)
        except ValueError:
            raise TaskError(
                "`checks.no_forbidden` lists nothing but invisible characters"
            ) from None


@lru_cache(maxsize=1024)
def _plain_phrases(phrases: tuple[str, ...], whole_words: bool) -> tuple[Phrase, ...]:
    return tuple(phrase_of(plain(phrase), whole_words=whole_words) for phrase in phrases)

"""One turn of a model, taken apart: its text, its reasoning, its tool calls."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from rewardhub import TemplateFacts, ToolCall, normalise
from rewardhub_policies.call_parsers import CallParser, Taken

_LONGEST_FENCE = 8
"""Longer fences count as this long, so that only few lengths have to be looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedTurn:
    """What a model said in one turn.

    Attributes:
        text: the final text, without calls, reasoning and special tokens.
        reasoning: what it thought, or None.
        tool_calls: in order. What could not be read is there as well, with the raw text as its
            arguments, ``parsed`` None, and an empty name where none could be found.
        problems: what is wrong with the calls, in words; empty if nothing is.
        ended: whether an end token was found. False tells of a cut only where the text is as the
            tokens spell it.
        cut_off: whether it ends inside its reasoning.
    """

    text: str
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    problems: tuple[str, ...] = ()
    ended: bool = False
    cut_off: bool = False


def parse_turn(
    raw: str,
    *,
    parser: CallParser,
    facts: TemplateFacts,
    tools: Sequence[Mapping[str, Any]] = (),
    first_call: int = 0,
) -> ParsedTurn:
    """Return what ``raw`` says; never an exception, and in time linear in its length.

    A call inside of reasoning or of a closed code fence is text, and everything after the first
    end token outside of a call is none of the model's.

    Args:
        raw: the text of one turn, as the tokens spell it.
        parser: how the model writes calls.
        facts: of the template, with every special token.
        tools: for formats whose calls say no types.
        first_call: the number of the first call, for the ids: unique within an attempt.
    """
    scan = _Scan(raw, parser, facts, tools)
    scan.run()
    rest = "".join(scan.pieces())
    plain_facts = TemplateFacts(
        special_tokens=(*facts.special_tokens, *facts.end_tokens),
        reasoning_tags=facts.reasoning_tags,
        opens_reasoning=facts.opens_reasoning,
    )
    said = normalise(rest, plain_facts)
    calls = [call for taken in scan.taken for call in taken.calls]
    return ParsedTurn(
        text=said.text,
        reasoning=said.reasoning,
        tool_calls=tuple(
            call.replace(id=f"call{number:05d}") for number, call in enumerate(calls, first_call)
        ),
        problems=tuple(problem for taken in scan.taken for problem in taken.problems if problem),
        ended=scan.ended,
        cut_off=said.truncated,
    )


@dataclass(slots=True)
class _Scan:
    """Goes through the text once; notes which pieces are calls, and where it ends."""

    raw: str
    parser: CallParser
    facts: TemplateFacts
    tools: Sequence[Mapping[str, Any]]
    taken: list[Taken] = field(default_factory=list[Taken])
    spans: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    end: int = 0
    ended: bool = False
    unclosed: dict[str, int] = field(default_factory=dict[str, int])

    def run(self) -> None:
        """Find every call."""
        marks = _marks_of(self.parser, self.facts)
        self.end = len(self.raw)
        at = self._after_reasoning(0) if self.facts.opens_reasoning else self._bare(0)
        while at < self.end and (found := marks.search(self.raw, at)):
            kind = found.lastgroup
            if kind == "call":
                at = self._call(found.start(), found.end())
            elif kind == "fence":
                at = self._after_fence(found.end(), found["fence"].strip())
            elif kind == "opens":
                at = self._after_reasoning(found.end())
            elif kind == "closes":  # the template had opened it: all before is reasoning
                self.taken.clear()
                self.spans.clear()
                at = self._bare(found.end())
            else:
                at = self._stop(found.start())

    def pieces(self) -> list[str]:
        """Return the text between the calls."""
        edges = [0, *(edge for span in self.spans for edge in span), self.end]
        return [self.raw[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]

    def _stop(self, at: int) -> int:
        self.end, self.ended = at, True
        return at

    def _bare(self, at: int) -> int:
        taken = self.parser.take_bare(self.raw, at)
        if taken is not None and self._ends_inside(at, taken):
            taken = self.parser.take_bare(self.raw, at)
        return at if taken is None else self._keep(at, taken)

    def _call(self, start: int, after_marker: int) -> int:
        taken = self.parser.take(self.raw, start, self.tools)
        if taken is not None and self._ends_inside(start, taken):
            taken = self.parser.take(self.raw, start, self.tools)
        if taken is not None:
            return self._keep(start, taken)
        if self.parser.in_fences:
            return self._after_fence(after_marker, self.raw[start:after_marker])
        return after_marker

    def _ends_inside(self, start: int, taken: Taken) -> bool:
        """Cut the text where the turn ends in the middle of a call that is broken."""
        if self.ended or all(call.parsed is not None for call in taken.calls):
            return False
        found = _any_of(self.facts.end_tokens).search(self.raw, start, taken.end)
        if found is not None:
            self.raw = self.raw[: self._stop(found.start())]
        return found is not None

    def _keep(self, start: int, taken: Taken) -> int:
        self.taken.append(taken)
        self.spans.append((start, taken.end))
        return taken.end

    def _after_reasoning(self, at: int) -> int:
        closes = self.facts.reasoning_tags[1]
        found = _any_of((closes, *self.facts.end_tokens)).search(self.raw, at)
        if found is None:
            return self.end
        if found[0] == closes:
            return self._bare(found.end())
        return self._stop(found.start())

    def _after_fence(self, at: int, fence: str) -> int:
        """Return where a fenced block ends; one that is never closed is no block."""
        kind, length = fence[0], min(len(fence), _LONGEST_FENCE)
        if length >= self.unclosed.get(kind, _LONGEST_FENCE + 1):
            return at
        for found in _fence_ends_of(self.facts.end_tokens).finditer(self.raw, at):
            if found.lastgroup == "end":
                break
            closing = found["fence"]
            if closing[0] == kind and min(len(closing), _LONGEST_FENCE) >= length:
                return found.end()
        self.unclosed[kind] = length
        return at


@lru_cache(maxsize=256)
def _any_of(tokens: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(tokens, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")


@lru_cache(maxsize=256)
def _fence_ends_of(end_tokens: tuple[str, ...]) -> re.Pattern[str]:
    ends = _any_of(end_tokens).pattern
    return re.compile(
        rf"^ {{0,3}}(?P<fence>`{{3,}}+|~{{3,}}+)[ \t\r]*+$|(?P<end>{ends})", re.MULTILINE
    )


@lru_cache(maxsize=64)
def _marks_of(parser: CallParser, facts: TemplateFacts) -> re.Pattern[str]:
    opens, closes = map(re.escape, facts.reasoning_tags)
    # Before an end token: one parser's marker may begin another's.
    kinds = (
        ("call", _call_pattern(parser)),
        ("opens", opens),
        ("closes", closes),
        ("end", _any_of(facts.end_tokens).pattern),
        ("fence", r"^ {0,3}(?:`{3,}+|~{3,}+)"),
    )
    return re.compile("|".join(f"(?P<{kind}>{each})" for kind, each in kinds), re.MULTILINE)


def _call_pattern(parser: CallParser) -> str:
    markers = _any_of(parser.markers).pattern
    return rf"^(?:{markers})" if parser.in_fences else markers

"""What a parser of tool calls is, and what parsers share.

A parser is given the text at a marker and takes the call that begins there. What cannot be read is
a call all the same, with the text as its arguments and ``parsed`` None: the model meant to call,
and has to hear that it failed.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rewardhub import ToolCall
from rewardhub_policies.call_parsers_json import members, read

EXAMPLE = '{"name": "the name of the tool", "arguments": {"key": "value"}}'
"""What a call looks like in JSON, for a model that is told in words."""

_SPACE = re.compile(r"\s*+")
_NAME = re.compile(r'"(?:name|tool)"\s*:\s*"([^"\\\n]{1,200})"')


@dataclass(frozen=True, slots=True)
class Taken:
    """What a parser took.

    Attributes:
        calls: in order, without ids; there may be none.
        end: where the text goes on.
        problems: what was wrong, for people.
    """

    calls: tuple[ToolCall, ...]
    end: int
    problems: tuple[str, ...] = ()


class CallParser(ABC):
    """Reads the tool calls of one family of models.

    Attributes:
        name: what descriptions of chats call it.
        markers: what a call may begin with.
        example: a call, for a model that is told in words.
        structure: special tokens that only calls are made of.
        in_fences: whether a call is a fenced block; then fences do not hide calls.
    """

    name: ClassVar[str]
    example: ClassVar[str] = ""
    markers: ClassVar[tuple[str, ...]] = ()
    structure: ClassVar[tuple[str, ...]] = ()
    in_fences: ClassVar[bool] = False

    @abstractmethod
    def take(self, text: str, start: int, tools: Sequence[Mapping[str, Any]]) -> Taken | None:
        """Return what begins at the marker at ``start``; None if it is no call but text."""

    def take_bare(self, text: str, start: int) -> Taken | None:  # noqa: ARG002  # others do
        """Return the calls that the whole of ``text`` from ``start`` is, without any marker."""
        return None


def call_of(raw: str) -> tuple[ToolCall, str]:
    """Return the call that the JSON object ``raw`` describes, and what is wrong with it, or "".

    ``arguments`` and ``parameters`` are the same. Arguments are kept as they are written; a text
    that holds JSON is taken for that JSON, and missing ones for none.
    """
    whole = read(raw)
    if not isinstance(whole.parsed, dict):
        return broken_call(raw), "the call is no JSON object"
    fields = whole.parsed
    # `function` around it is how the OpenAI API writes the same.
    inner = fields.get("function")
    if isinstance(inner, dict) and "function" not in inner:
        return call_of(members(raw)["function"])
    name = fields.get("name", fields.get("tool", inner))
    if not isinstance(name, str) or not name:
        return ToolCall(name="", arguments=raw), "the call has no name"
    key = "arguments" if "arguments" in fields else "parameters"
    arguments, written = fields.get(key), members(raw).get(key, "")
    if isinstance(arguments, str):
        value = read(arguments)
        return ToolCall(name=name, arguments=arguments, parsed=value.parsed), ""
    if arguments is None:
        return ToolCall(name=name, arguments="{}", parsed={}), ""
    return ToolCall(name=name, arguments=written, parsed=arguments), ""


def broken_call(raw: str) -> ToolCall:
    """Return the call that ``raw`` was to be: its name where one can be found, and all its text.

    Arguments that are whole do not make a call whole whose rest is not, so they are not picked out.
    """
    found = _NAME.search(raw)
    return ToolCall(name=found[1] if found else "", arguments=raw)


class Until:
    """Finds the first of some markers, or the end of the text."""

    def __init__(self, *markers: str) -> None:
        self.pattern = re.compile("|".join(map(re.escape, markers)))

    def __call__(self, text: str, start: int) -> int:
        """Return where it begins, from ``start`` on."""
        found = self.pattern.search(text, start)
        return found.start() if found else len(text)


def after_space(text: str, start: int) -> int:
    """Return where the white space that begins at ``start`` ends."""
    found = _SPACE.match(text, start)
    return found.end() if found else start


def skip(text: str, at: int, *markers: str) -> int:
    """Return ``at`` after each of ``markers`` that follows, in this order, spaces between them."""
    for marker in markers:
        after = after_space(text, at)
        if text.startswith(marker, after):
            at = after + len(marker)
    return at

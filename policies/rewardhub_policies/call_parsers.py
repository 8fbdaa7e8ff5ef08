"""How models write tool calls: one parser for each way."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rewardhub import ToolCall
from rewardhub_policies.call_parsers_base import (
    EXAMPLE,
    CallParser,
    Taken,
    Until,
    after_space,
    broken_call,
    call_of,
    skip,
)
from rewardhub_policies.call_parsers_json import end_of, read
from rewardhub_policies.call_parsers_tags import DeepSeek, Hermes, QwenCoder

__all__ = ["PARSERS", "CallParser", "Taken"]


class Llama(CallParser):
    """``<|python_tag|>{"name": ..., "parameters": {...}}``, or nothing but such JSON: Llama 3.

    Several are divided by ``;``. Source: Meta's prompt formats of Llama 3.1 and 3.2.
    """

    name = "llama3"
    example = EXAMPLE.replace("arguments", "parameters")
    markers = ("<|python_tag|>",)
    structure = ("<|python_tag|>",)
    _looks = re.compile(r'\{\s*+"(?:type"\s*+:\s*+"function"\s*+,\s*+")?(?:name|function)"\s*+:')
    _until = Until("<|python_tag|>")

    def take(
        self,
        text: str,
        start: int,
        tools: Sequence[Mapping[str, Any]],  # noqa: ARG002
    ) -> Taken | None:
        """Return the calls after the tag."""
        return self._calls(text, after_space(text, start + len("<|python_tag|>")))

    def take_bare(self, text: str, start: int) -> Taken | None:
        """Return the calls where the answer is nothing else, up to a special token."""
        start = after_space(text, start)
        if not self._looks.match(text, start):
            return None
        taken = self._calls(text, start)
        rest = after_space(text, taken.end)
        return taken if rest == len(text) or text.startswith("<|", rest) else None

    def _calls(self, text: str, at: int) -> Taken:
        calls: list[ToolCall] = []
        while True:
            end = end_of(text, at)
            if end is None or not read(text[at:end]).is_json:
                end = self._until(text, at)
                call, problem = call_of(text[at:end].rstrip())
                return Taken((*calls, call), end, (problem,))
            call, problem = call_of(text[at:end])
            calls.append(call)
            after = after_space(text, end)
            follows = after_space(text, after + 1)
            if text[after : after + 1] != ";" or text[follows : follows + 1] != "{" or problem:
                return Taken(tuple(calls), end, (problem,) if problem else ())
            at = follows


class Mistral(CallParser):
    """``[TOOL_CALLS] [{"name": ..., "arguments": {...}}]`` or ``[TOOL_CALLS]NAME[ARGS]{...}``.

    Source: mistral-common, tokenizers v3 and v11 to v13.
    """

    name = "mistral"
    example = f"[TOOL_CALLS] [{EXAMPLE}]"
    markers = ("[TOOL_CALLS]",)
    structure = ("[TOOL_CALLS]", "[CALL_ID]", "[ARGS]")
    _named = re.compile(
        r"\s*+([\w.-]{1,200})\s*+(?:\[CALL_ID\]\s*+[\w-]{0,200}\s*+)?(?:\[ARGS\])?\s*+(?=\{)"
    )
    _until = Until("[TOOL_CALLS]")

    def take(
        self,
        text: str,
        start: int,
        tools: Sequence[Mapping[str, Any]],  # noqa: ARG002
    ) -> Taken | None:
        """Return the calls of a list, or the one call that a name begins."""
        at = after_space(text, start + len("[TOOL_CALLS]"))
        named = self._named.match(text, at)
        value = named.end() if named else at
        end = end_of(text, value)
        whole = read(text[value:end]) if end is not None else None
        if end is None or whole is None or not whole.is_json:
            end = self._until(text, at)
            rest = text[value:end].rstrip()
            call = ToolCall(name=named[1], arguments=rest) if named else broken_call(rest)
            return Taken((call,), end, ("the call is no JSON",))
        if named:
            call = ToolCall(name=named[1], arguments=whole.raw, parsed=whole.parsed)
            return Taken((call,), end)
        listed = whole.parsed if isinstance(whole.parsed, list) else [whole.parsed]
        if not listed or not all(isinstance(each, dict) for each in listed):
            return Taken((broken_call(whole.raw),), end, ("this is no list of calls",))
        raws = _items(whole.raw) if isinstance(whole.parsed, list) else [whole.raw]
        read_calls = [call_of(raw) for raw in raws]
        problems = tuple(problem for _, problem in read_calls if problem)
        return Taken(tuple(call for call, _ in read_calls), end, problems)


class React(CallParser):
    """A fenced block of JSON with ``name`` and ``arguments``, for models without a format.

    Its label is ``json``, ``tool_call`` or none. Other fenced blocks are text.
    """

    name = "react"
    example = f"```json\n{EXAMPLE}\n```"
    markers = ("```",)
    in_fences = True
    _open = re.compile(r"```(?:json|tool_call)?+\s*+(?=\{)")
    _looks = re.compile(r'\{\s*+"name"\s*+:')

    def take(
        self,
        text: str,
        start: int,
        tools: Sequence[Mapping[str, Any]],  # noqa: ARG002
    ) -> Taken | None:
        """Return the call in the fence; None for a fence with anything else."""
        head = self._open.match(text, start)
        if head is None:
            return None
        end = end_of(text, head.end())
        value = read(text[head.end() : end]) if end is not None else None
        if end is not None and value is not None and value.is_json:
            if not (
                isinstance(value.parsed, dict) and {"name", "arguments"} <= value.parsed.keys()
            ):
                return None
            call, problem = call_of(value.raw)
            closed = after_space(text, end)
            if not text.startswith("```", closed):
                return Taken((call,), end, (problem or "the fence is never closed",))
            return Taken((call,), closed + 3, (problem,) if problem else ())
        if not self._looks.match(text, head.end()):
            return None
        end = text.find("```", head.end())
        end = len(text) if end < 0 else end
        call, problem = call_of(text[head.end() : end].rstrip())
        return Taken((call,), skip(text, end, "```"), (problem,))


class NoCalls(CallParser):
    """All is text."""

    name = "none"

    def take(
        self,
        text: str,  # noqa: ARG002
        start: int,  # noqa: ARG002
        tools: Sequence[Mapping[str, Any]],  # noqa: ARG002
    ) -> Taken | None:
        """Return nothing."""
        return None


PARSERS: dict[str, CallParser] = {
    each.name: each
    for each in (Hermes(), QwenCoder(), Llama(), Mistral(), DeepSeek(), React(), NoCalls())
}
"""Every way to write calls, by name."""


def _items(raw: str) -> list[str]:
    """Return the items of the JSON array ``raw`` as they are written."""
    found: list[str] = []
    at = after_space(raw, 1)
    while (end := end_of(raw, at)) is not None:
        found.append(raw[at:end])
        at = after_space(raw, skip(raw, end, ","))
    return found

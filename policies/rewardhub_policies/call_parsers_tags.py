"""Calls between tags of their own: Hermes, Qwen3-Coder, DeepSeek."""

from __future__ import annotations

import json
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
    call_of,
    skip,
)
from rewardhub_policies.call_parsers_json import end_of, read


class Hermes(CallParser):
    """``<tool_call>{"name": ..., "arguments": {...}}</tool_call>``: Hermes, Qwen 2.5 and 3.

    Source: github.com/NousResearch/Hermes-Function-Calling.
    """

    name = "hermes"
    example = f"<tool_call>\n{EXAMPLE}\n</tool_call>"
    markers = ("<tool_call>",)
    structure = ("<tool_call>", "</tool_call>")
    _until = Until("<tool_call>", "</tool_call>")

    def take(
        self,
        text: str,
        start: int,
        tools: Sequence[Mapping[str, Any]],  # noqa: ARG002
    ) -> Taken | None:
        """Return the call between the tags; it ends with its JSON where the end tag is missing."""
        inside = after_space(text, start + len("<tool_call>"))
        end = end_of(text, inside)
        if end is None or not read(text[inside:end]).is_json:
            end = self._until(text, inside)
            is_attempt = text[inside : inside + 1] in {"{", ""} or text.startswith("</", end)
            if not is_attempt:  # somebody speaks of the tag
                return None
        call, problem = call_of(text[inside:end].rstrip())
        after = after_space(text, end)
        closed = text.startswith("</tool_call>", after)
        problems = [problem] if problem else []
        if not closed:
            problems.append("<tool_call> is never closed")
        return Taken((call,), after + len("</tool_call>") if closed else end, tuple(problems))


class QwenCoder(CallParser):
    """``<tool_call><function=NAME><parameter=KEY>value</parameter></function></tool_call>``.

    Qwen3-Coder. Values are plain text; the tool's JSON Schema says which of them are JSON. The
    arguments are the JSON object that they make.
    """

    name = "qwen3-coder"
    example = (
        "<tool_call>\n<function=the name of the tool>\n<parameter=key>\nvalue\n</parameter>\n"
        "</function>\n</tool_call>"
    )
    markers = ("<tool_call>", "<function=")
    structure = ("<tool_call>", "</tool_call>")
    _head = re.compile(r"(?:<tool_call>\s*+)?+<function=([^>\n]{0,200})>[ \t]*+\n?")
    _parameter = re.compile(r"\s*+<parameter=([^>\n]{0,200})>")
    _value_end = re.compile(r"</parameter>(?=\s*+(?:<parameter=|</function>))")
    _until = Until("<tool_call>", "</tool_call>", "<function=", "</function>")

    def take(self, text: str, start: int, tools: Sequence[Mapping[str, Any]]) -> Taken | None:
        """Return the call; ``</parameter>`` inside of a value does not end it."""
        head = self._head.match(text, start)
        if head is None:
            end = self._until(text, start + 1)
            end = skip(text, end, "</function>", "</tool_call>")
            call = ToolCall(name="", arguments=text[start:end])
            return Taken((call,), end, ("<tool_call> without <function=...>",))
        values, at, problem = self._values(text, head.end())
        end = skip(text, at, "</function>", "</tool_call>")
        if end == at and not problem:
            problem = "<function=...> is never closed"
        arguments = _typed(values, head[1].strip(), tools)
        raw = json.dumps(arguments, ensure_ascii=False)
        call = ToolCall(name=head[1].strip(), arguments=raw, parsed=read(raw).parsed)
        if problem:  # what is cut off may be half a value
            call = call.replace(arguments=text[head.end() : end], parsed=None)
        return Taken((call,), end, (problem,) if problem else ())

    def _values(self, text: str, at: int) -> tuple[dict[str, str], int, str]:
        values: dict[str, str] = {}
        while found := self._parameter.match(text, at):
            end = self._value_end.search(text, found.end())
            if end is None:  # all that follows is the value
                return values, len(text), "<parameter=...> is never closed"
            value = text[found.end() : end.start()]
            values[found[1].strip()] = value.removeprefix("\n").removesuffix("\n")
            at = end.end()
        return values, at, ""


class DeepSeek(CallParser):
    """DeepSeek V3, R1 and V3.1: name and JSON between its own call tokens.

    Up to R1 the JSON is in a fence and ``function`` stands before the name; from V3.1 on the name
    comes first and the JSON is bare. Source: the chat templates of these models.
    """

    name = "deepseek"
    _begin = "<\uff5ctool\u2581call\u2581begin\uff5c>"
    _sep = "<\uff5ctool\u2581sep\uff5c>"
    _end = "<\uff5ctool\u2581call\u2581end\uff5c>"
    _all_begin = "<\uff5ctool\u2581calls\u2581begin\uff5c>"
    _all_end = "<\uff5ctool\u2581calls\u2581end\uff5c>"
    markers = (_all_begin, _begin)
    structure = (_all_begin, _begin, _sep, _end, _all_end)
    example = f'{_all_begin}{_begin}the name of the tool{_sep}{{"key": "value"}}{_end}{_all_end}'
    _fence = re.compile(r"\s*+```(?:json)?+\s*+")
    _until = Until(_begin, _end, _all_end)

    def take(
        self,
        text: str,
        start: int,
        tools: Sequence[Mapping[str, Any]],  # noqa: ARG002
    ) -> Taken | None:
        """Return every call of the block."""
        at = skip(text, start, self._all_begin)
        calls: list[ToolCall] = []
        problems: list[str] = []
        while text.startswith(self._begin, at):
            call, at, problem = self._one(text, at + len(self._begin))
            calls.append(call)
            problems += [problem] if problem else []
            after = after_space(text, at)
            at = after if text.startswith((self._begin, self._all_end), after) else at
        if not calls:
            problems.append("a block of calls without a call")
        return Taken(tuple(calls), skip(text, at, self._all_end), tuple(problems))

    def _one(self, text: str, at: int) -> tuple[ToolCall, int, str]:
        stop = self._until(text, at)
        head, sep, tail = text[at:stop].partition(self._sep)
        if not sep:
            return ToolCall(name="", arguments=head), skip(text, stop, self._end), "no name"
        after_sep = at + len(head) + len(sep)
        name, value = head.strip(), after_sep
        if name == "function":  # then the name is on a line of its own
            name = tail.partition("\n")[0].strip()
            value = after_sep + len(tail.partition("\n")[0])
        fence = self._fence.match(text, value)
        value = fence.end() if fence else after_space(text, value)
        end = end_of(text, value)
        found = read(text[value:end]) if end is not None else None
        if end is None or found is None or not found.is_json:
            call = ToolCall(name=name, arguments=text[value : max(value, stop)].strip())
            return call, skip(text, max(value, stop), self._end), "the arguments are no JSON"
        closed = after_space(text, end)
        closed = after_space(text, skip(text, closed, "```")) if fence else closed
        call = ToolCall(name=name, arguments=found.raw, parsed=found.parsed)
        if not text.startswith(self._end, closed):
            return call, end, "the call is never closed"
        return call, closed + len(self._end), ""


def _typed(
    values: Mapping[str, str], name: str, tools: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the values as the schema of the tool ``name`` has them; text where it says nothing."""
    properties = _properties(name, tools)
    typed: dict[str, Any] = {}
    for key, text in values.items():
        schema = properties.get(key)
        kinds = schema.get("type", ()) if isinstance(schema, Mapping) else "string"
        kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
        value = read(text.strip())
        is_text = "string" in kinds and not ("null" in kinds and text.strip() == "null")
        typed[key] = text if is_text or not value.is_json else value.parsed
    return typed


def _properties(name: str, tools: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    for tool in tools:
        function = tool.get("function", tool)
        if isinstance(function, Mapping) and function.get("name") == name:
            parameters = function.get("parameters")
            if isinstance(parameters, Mapping):
                found = parameters.get("properties")
                return found if isinstance(found, Mapping) else {}
    return {}

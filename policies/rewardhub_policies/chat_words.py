"""Tools for models whose template shows none: told in words, called in fenced blocks of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rewardhub_policies.call_parsers import PARSERS, CallParser

_HOW = """You can call tools. To call one, write this, and nothing after it:

{example}

The result comes with the next message. When nothing is left to do, answer without a call.

The tools, with the JSON Schema of their arguments:
"""


def fenced(
    messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return ``messages`` with calls and results as plain text.

    The system message tells of the tools; calls stand in fenced blocks after the text of their
    message, and what the tools answered to one message is one message of the user.
    """
    made: list[dict[str, Any]] = []
    results = False
    for message in messages:
        is_result = message["role"] == "tool"
        if is_result and results:
            made[-1]["content"] += "\n\n" + _result(message)
        elif is_result:
            made.append({"role": "user", "content": _result(message)})
        else:
            made.append(_spoken(message))
        results = is_result
    return with_tools_told(made, tools, PARSERS["react"]) if tools else made


def with_tools_told(
    messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], parser: CallParser
) -> list[dict[str, Any]]:
    """Return ``messages`` with a system message that tells of the tools, and how one is called."""
    functions = [json.dumps(tool.get("function", tool), ensure_ascii=False) for tool in tools]
    told = _HOW.format(example=parser.example) + "\n".join(functions)
    first = messages[0] if messages else {}
    if first.get("role") == "system" and isinstance(first["content"], str):
        said = {**first, "content": f"{first['content']}\n\n{told}"}
        return [said, *map(dict, messages[1:])]
    return [{"role": "system", "content": told}, *map(dict, messages)]


def _spoken(message: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in message.items() if key != "tool_calls"}
    blocks = [_block(call["function"]) for call in message.get("tool_calls", ())]
    if blocks:
        kept["content"] = "\n\n".join(filter(None, (kept["content"], *blocks)))
    return kept


def _block(function: Mapping[str, Any]) -> str:
    arguments = function["arguments"]
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    name = json.dumps(function["name"], ensure_ascii=False)
    return f'```json\n{{"name": {name}, "arguments": {written}}}\n```'


def _result(message: Mapping[str, Any]) -> str:
    name = message.get("name", "the tool")
    return f"Result of {name}:\n{message['content']}"

"""Steps as chat messages: what a chat template, or an endpoint, is given of an attempt so far."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rewardhub import Message, Observation, Step, Task, ToolCall

ArgumentsAs = Literal["object", "text"]


def messages_of(
    task: Task, steps: Sequence[Step], *, arguments: ArgumentsAs = "text"
) -> list[dict[str, Any]]:
    """Return the chat so far in the form of the OpenAI API.

    A step is an assistant message, and each of its observations a message of the tool, or of the
    user where it belongs to no call. Reasoning stands under ``reasoning_content``.

    Args:
        task: what was asked.
        steps: what happened since.
        arguments: how the arguments of calls are written: as ``text``, as the API has them, or as
            an ``object``, as most templates do (what is no JSON stays text).
    """
    asked = [_message(message, arguments) for message in task.messages]
    return asked + [each for step in steps for each in messages_of_step(step, arguments=arguments)]


def messages_of_step(step: Step, *, arguments: ArgumentsAs = "text") -> list[dict[str, Any]]:
    """Return the messages of one step: the policy's own, and what came back; see `messages_of`."""
    said: dict[str, Any] = {"role": "assistant", "content": step.text}
    if step.reasoning:
        said["reasoning_content"] = step.reasoning
    if step.tool_calls:
        said["tool_calls"] = [_call(call, arguments) for call in step.tool_calls]
    names = {call.id: call.name for call in step.tool_calls}
    return [said, *(_observed(seen, names) for seen in step.observations)]


def text_of(observation: Observation) -> str:
    """Return what the policy is shown of an observation.

    That is its content, then its error, or its exit code where only that tells of one.
    """
    pieces = [observation.content] if observation.content else []
    if observation.error:
        pieces.append(f"Error: {observation.error}")
    elif observation.exit_code:
        pieces.append(f"[exit code {observation.exit_code}]")
    return "\n".join(pieces)


def tools_of(task: Task) -> list[dict[str, Any]]:
    """Return the task's tools in the form of the OpenAI API."""
    return [
        plain(tool) if "function" in tool else {"type": "function", "function": plain(tool)}
        for tool in task.tools
    ]


def plain(value: Any) -> Any:
    """Return JSON with mappings and lists that are nothing more."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def _message(message: Message, arguments: ArgumentsAs) -> dict[str, Any]:
    made: dict[str, Any] = {"role": message.role, "content": plain(message.content)}
    if message.name is not None:
        made["name"] = message.name
    if message.tool_calls:
        made["tool_calls"] = [_call(call, arguments) for call in message.tool_calls]
    if message.tool_call_id is not None:
        made["tool_call_id"] = message.tool_call_id
    return made


def _call(call: ToolCall, arguments: ArgumentsAs) -> dict[str, Any]:
    given: Any = call.arguments
    if arguments == "object" and isinstance(call.parsed, Mapping):
        given = plain(call.parsed)
    elif arguments == "text" and not call.arguments and call.parsed is not None:
        given = json.dumps(plain(call.parsed), ensure_ascii=False)
    function = {"name": call.name, "arguments": given}
    return {"id": call.id, "type": "function", "function": function}


def _observed(seen: Observation, names: Mapping[str, str]) -> dict[str, Any]:
    if not seen.call_id:
        return {"role": "user", "content": text_of(seen)}
    made = {"role": "tool", "content": text_of(seen), "tool_call_id": seen.call_id}
    name = names.get(seen.call_id)
    return made | {"name": name} if name else made

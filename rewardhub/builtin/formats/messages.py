"""Messages in the shape of the OpenAI chat API, as the fields of our messages and steps.

What comes out are plain mappings, which the records then validate once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_core import from_json, to_json

from rewardhub.builtin.formats.responses import is_item, joined_items
from rewardhub.builtin.formats.values import is_array, is_object, kind_of
from rewardhub.errors import RowError
from rewardhub.records import freeze
from rewardhub.text import TemplateFacts, normalise

_ROLES = ("user", "assistant", "system", "tool", "developer", "function")
_SPEAKING = ("user", "system", "developer")
_TEXT_PARTS = (None, "text", "input_text", "output_text", "refusal")
_THOUGHT_PARTS = ("reasoning", "thinking")
_MEDIA_PARTS = (
    *("image_url", "input_image", "image", "input_audio", "audio"),
    *("video_url", "video", "input_file", "file"),
)

Fields = dict[str, Any]


def as_messages(name: str, value: Any, role: str) -> list[Fields]:
    """Return ``value``, a text or a message or a list of them, as messages.

    Items of the Responses API are joined into messages (see `joined_items`).

    Args:
        name: of the column, for errors.
        value: what the column holds.
        role: whose message a plain text is.

    Raises:
        RowError: if an element is no message, or has an unknown role.
    """
    if isinstance(value, str):
        return [{"role": role, "content": value}]
    messages = [value] if is_object(value) else value
    if not is_array(messages):
        raise RowError(f"`{name}` is {kind_of(value)}, neither a text nor a list of messages")
    has_items = False
    for index, message in enumerate(messages):
        if not is_object(message) or message.get("role") not in _ROLES:
            if not is_item(message):
                raise RowError(_why_no_message(f"{name}[{index}]", message))
            has_items = True
    return joined_items(messages) if has_items else messages


def _why_no_message(place: str, value: Any) -> str:
    if not is_object(value):
        return f"`{place}` is {kind_of(value)}, not a message with role and content"
    return f"`{place}.role` is {value.get('role')!r}, not one of {', '.join(_ROLES)}"


def plain_chat(
    messages: Any, facts: TemplateFacts
) -> tuple[list[Fields], list[Fields], bool] | None:
    """Return what was asked, the steps, and whether the last one is cut off, as the others here do.

    For chats whose messages are a role and a text and nothing else, as most are: one look at each
    message is enough for them. None for any other value.
    """
    if type(messages) is not list:
        return None
    asked: list[Fields] = []
    steps: list[Fields] = []
    truncated = False
    for message in messages:
        if type(message) is not dict or len(message) != 2:
            return None
        role, content = message.get("role"), message.get("content")
        if type(content) is not str:
            return None
        if role == "assistant":
            text, reasoning, truncated = normalise(content, facts)
            steps.append({"text": text, "reasoning": reasoning})
        elif role not in _SPEAKING:
            return None
        elif steps:
            said = {"content": content, "call_id": ""}
            steps[-1].setdefault("observations", []).append(said)
        else:
            asked.append(message)
    return asked, steps, truncated


def split_at_policy(messages: list[Fields]) -> tuple[list[Fields], list[Fields]]:
    """Return what was asked, and what follows from the first assistant message on."""
    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            return messages[:index], messages[index:]
    return messages, []


def task_messages(messages: Iterable[Fields]) -> list[Fields]:
    """Return the messages of a task: role, content, name and tool calls; other keys are dropped.

    Raises:
        RowError: for content that is neither text, nor null, nor a list of parts.
    """
    return [_task_message(message) for message in messages]


def _task_message(message: Fields) -> Fields:
    role, content = message["role"], message.get("content")
    if isinstance(content, str) and len(message) == 2 and role != "function":
        return message
    if content is not None and not isinstance(content, str | list):
        raise RowError(f"the content of a {role} message is neither a text nor a list of parts")
    fields: Fields = {"role": "tool" if role == "function" else role, "content": content or ""}
    for key in ("name", "tool_call_id"):
        if message.get(key) is not None:
            fields[key] = message[key]
    if calls := _tool_calls(message):
        fields["tool_calls"] = calls
    return fields


def steps_of(messages: Sequence[Fields], facts: TemplateFacts) -> tuple[list[Fields], bool]:
    """Return one step for each assistant message, and whether the last one is cut off.

    Whatever stands between two assistant messages came back to the policy, and becomes
    observations of the step before: tool results with the id of their call, other messages (a
    user's next turn) with an empty one. ``messages`` begins with an assistant message.

    Raises:
        RowError: for content without text, broken tool calls, or a wrong type.
    """
    steps: list[Fields] = []
    truncated = False
    for message in messages:
        if message["role"] == "assistant":
            step, truncated = _step(message, facts)
            steps.append(step)
        else:
            observation = {"content": _text(message), "call_id": message.get("tool_call_id") or ""}
            steps[-1].setdefault("observations", []).append(observation)
    return steps, truncated


def _step(message: Fields, facts: TemplateFacts) -> tuple[Fields, bool]:
    content = message.get("content")
    if isinstance(content, str) and len(message) == 2:
        text, reasoning, truncated = normalise(content, facts)
        return {"text": text, "reasoning": reasoning}, truncated
    thought = _thought_beside(message)
    if is_array(content):
        thoughts = [part for part in content if _type_of(part) in _THOUGHT_PARTS]
        content = [part for part in content if _type_of(part) not in _THOUGHT_PARTS]
        thought = _joined(
            [thought, *(part.get("thinking") or part.get("text") for part in thoughts)]
        )
    said = _text_of(content, "assistant") or _refusal(message)
    text, reasoning, truncated = normalise(said, facts)
    step: Fields = {"text": text, "reasoning": _joined([thought, reasoning])}
    if calls := _tool_calls(message):
        step["tool_calls"] = calls
    return step, truncated


def media_in(messages: Iterable[Fields]) -> list[Any]:
    """Return the parts of contents that are no text (images, sound), where they stand there.

    A list for each message that has such parts, with null in place of its other parts, and null
    for each other message; empty if there are none.
    """
    media = [_media(message.get("content")) for message in messages]
    return media if any(media) else []


def _media(content: Any) -> list[Any] | None:
    if not is_array(content):
        return None
    parts = [part if _type_of(part) in _MEDIA_PARTS else None for part in content]
    return parts if any(parts) else None


def _refusal(message: Fields) -> str:
    refusal = message.get("refusal") or ""
    if not isinstance(refusal, str):
        raise RowError("the refusal of an assistant message is not a text")
    return refusal


def _thought_beside(message: Fields) -> str | None:
    thought = message.get("reasoning_content") or message.get("reasoning")
    if thought is not None and not isinstance(thought, str):
        raise RowError("the reasoning of an assistant message is not a text")
    return thought


def _joined(thoughts: Iterable[Any]) -> str | None:
    texts = [thought for thought in thoughts if isinstance(thought, str) and thought]
    return "\n\n".join(texts) or None


def _text(message: Fields) -> str:
    return _text_of(message.get("content"), message["role"])


def _text_of(content: Any, role: str) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not is_array(content):
        raise RowError(f"the content of a {role} message is neither a text nor a list of parts")
    return "".join(_text_of_part(part, role) for part in content)


def _text_of_part(part: Any, role: str) -> str:
    kind = _type_of(part)
    if kind in _MEDIA_PARTS and is_object(part):
        return ""
    text = part.get("refusal" if kind == "refusal" else "text") if is_object(part) else None
    if not isinstance(text, str) or kind not in _TEXT_PARTS:
        raise RowError(
            f"the content of a {role} message has a part of type {kind!r}; only text, images, "
            "sound and files can be read there"
        )
    return text


def _type_of(part: Any) -> Any:
    return part.get("type") if is_object(part) else type(part).__name__


def _tool_calls(message: Fields) -> list[Fields]:
    given: Any = message.get("tool_calls") or []
    if not is_array(given):
        raise RowError(f"`tool_calls` of a message is {kind_of(given)}, not a list")
    if message.get("function_call"):
        given = [*given, message["function_call"]]
    return [_tool_call(call) for call in given]


def _tool_call(call: Any) -> Fields:
    """Return a tool call; arguments that are no JSON are kept, for they are the policy's doing."""
    function = call.get("function", call) if is_object(call) else None
    if not is_object(function) or not isinstance(function.get("name"), str):
        raise RowError("a tool call has no function name")
    given = function.get("arguments")
    arguments = (
        "" if given is None else given if isinstance(given, str) else to_json(given).decode()
    )
    return {
        "id": call.get("id") or "",
        "name": function["name"],
        "arguments": arguments,
        "parsed": _parsed(arguments),
    }


def _parsed(arguments: str) -> Any:
    try:
        return freeze(from_json(arguments, allow_inf_nan=False))
    except ValueError:
        return None

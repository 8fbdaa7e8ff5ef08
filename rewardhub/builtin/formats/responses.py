"""Items of the OpenAI Responses API as chat messages.

There, one turn of the model is several items: reasoning, message, function calls. They are joined
again into one assistant message, which ends where a result or another message comes, or where
the model thinks or speaks anew after it had spoken or called.
"""

from __future__ import annotations

from typing import Any

from rewardhub.builtin.formats.values import is_array, is_object

_TURN_ITEMS = ("reasoning", "function_call")


def is_item(value: Any) -> bool:
    """Whether ``value`` is an item that the chat API does not have."""
    return is_object(value) and value.get("type") in (*_TURN_ITEMS, "function_call_output")


def joined_items(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return ``items``, each a message or an item as `is_item` says, as chat messages."""
    messages: list[dict[str, Any]] = []
    turn: dict[str, Any] | None = None
    for item in items:
        if item.get("role") != "assistant" and item.get("type") not in _TURN_ITEMS:
            turn = None
            messages.append(_result(item) if is_item(item) else item)
            continue
        if turn is None or (_has_acted(turn) and item.get("type") != "function_call"):
            turn = {"role": "assistant", "content": None, "reasoning": "", "tool_calls": []}
            messages.append(turn)
        _add(turn, item)
    return messages


def _has_acted(turn: dict[str, Any]) -> bool:
    return turn["content"] is not None or bool(turn["tool_calls"])


def _add(turn: dict[str, Any], item: dict[str, Any]) -> None:
    if item.get("type") == "reasoning":
        turn["reasoning"] = "\n\n".join(filter(None, (turn["reasoning"], _thought(item))))
    elif item.get("type") == "function_call":
        turn["tool_calls"].append({**item, "id": item.get("call_id")})
    else:
        turn["content"] = item.get("content")
        turn["tool_calls"].extend(item.get("tool_calls") or [])


def _thought(item: dict[str, Any]) -> str:
    parts = item.get("content") or item.get("summary")
    texts = [part.get("text") for part in parts if is_object(part)] if is_array(parts) else []
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _result(item: dict[str, Any]) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")}

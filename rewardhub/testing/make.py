"""Tasks and trajectories for tests, in as few words as they need."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rewardhub.errors import RecordError, UsageError
from rewardhub.records import Message, Step, Task, ToolCall, Trajectory
from rewardhub.records.base import build

_OF_TASK = frozenset(Task.model_fields) - frozenset(Trajectory.model_fields)
_IMPLIED = {"task", "steps"}


def make_task(
    prompt: str = "", *, messages: Sequence[Message | Mapping[str, Any]] = (), **fields: Any
) -> Task:
    """Return a Task.

    Args:
        prompt: the text of a user message after ``messages``; empty for none.
        messages: chat messages, as records or mappings.
        fields: any other field of a Task: ``reference``, ``checks``, ``tools``, ``files``...

    Raises:
        RecordError: if no such task can exist.
    """
    spoken = [*messages, *([{"role": "user", "content": prompt}] if prompt else [])]
    return build(Task, {"messages": spoken, **fields})


def make_trajectory(
    reply: str | Sequence[str | Mapping[str, Any] | Step] = "",
    *,
    task: Task | None = None,
    prompt: str = "",
    **fields: Any,
) -> Trajectory:
    """Return a Trajectory: ``make_trajectory("4", prompt="2 + 2 = ?", reference="4")``.

    Args:
        reply: the text of the only step, or the steps: texts, mappings or `Step` records. The
            ``arguments`` of a tool call may be a mapping; ``parsed`` follows from them.
        task: the task; without it, one is made of ``prompt`` and the fields that a Task has.
        prompt: the text of a user message.
        fields: any other field of a Task (``messages``, ``reference``, ``checks``, ``tools``...)
            or of a Trajectory (``status``, ``group``, ``seconds``...). A field that both have
            (``id``, ``metadata``) is the Trajectory's.

    Raises:
        RecordError: if no such trajectory can exist.
        UsageError: if a task is given together with fields of a task.
    """
    implied = next((name for name in fields if name in _IMPLIED), None)
    if implied is not None:
        raise RecordError(f"`{implied}` follows from what `reply` says: leave it out")
    asked = {name: fields.pop(name) for name in tuple(fields) if name in _OF_TASK}
    if task is not None and (asked or prompt):
        extra = ", ".join(f"`{name}`" for name in (*asked, *(["prompt"] if prompt else [])))
        raise UsageError(f"The task is given, and so are {extra}: put them into `make_task`.")
    steps = [{"text": reply}] if isinstance(reply, str) else [_step(each) for each in reply]
    if fields.get("status") == "broken" and reply == "":
        steps = []
    fields |= {"task": task or make_task(prompt, **asked), "steps": steps}
    return build(Trajectory, fields)


def _step(given: str | Mapping[str, Any] | Step) -> Step | Mapping[str, Any]:
    if isinstance(given, Step):
        return given
    if isinstance(given, str):
        return {"text": given}
    calls = [_tool_call(call) for call in given.get("tool_calls", ())]
    return {**given, "tool_calls": calls} if calls else given


def _tool_call(call: ToolCall | Mapping[str, Any]) -> ToolCall | Mapping[str, Any]:
    """Fill ``arguments`` or ``parsed`` from the other one, as a reader does."""
    if isinstance(call, ToolCall) or "parsed" in call or "arguments" not in call:
        return call
    arguments = call["arguments"]
    if not isinstance(arguments, str):
        return {**call, "arguments": json.dumps(arguments), "parsed": arguments}
    try:
        return {**call, "parsed": json.loads(arguments)}
    except ValueError:
        return call

"""What was asked, what the policy did, and what came back: the records' fields, turn by turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_core import from_json, to_json

from rewardhub.builtin.formats.foreign.node import Fields, Node
from rewardhub.errors import RowError
from rewardhub.records import freeze
from rewardhub.text import TemplateFacts, normalise

_TEXT_PARTS = (None, "text", "input_text", "output_text", "summary_text", "reasoning_text")
_THOUGHT_PARTS = ("reasoning", "thinking")
_ROLES = ("system", "developer", "user", "assistant", "tool")


class Turns:
    """The messages of a task and the steps of an attempt, as they come.

    What comes back for a call is an observation of the step that made the call, wherever the
    result stands. A result that names no call, or one that nobody made, is an observation of the
    step before it and keeps the id that it names; a call without a result is a step without that
    observation. What comes back before the policy did anything belongs to the question.

    Attributes:
        asked: the task's messages.
        steps: the steps.
        cut_off: whether the last step is cut off (reasoning that never ends).
    """

    def __init__(self, facts: TemplateFacts) -> None:
        self.asked: list[Fields] = []
        self.steps: list[Fields] = []
        self.cut_off = False
        self._facts = facts
        self._made_by: dict[str, int] = {}

    def ask(self, role: str, content: Any, **fields: Any) -> None:
        """Add a message to the task."""
        self.asked.append({"role": role, "content": content, **fields})

    def say(self, role: str, content: Any) -> None:
        """Add what somebody other than the policy says: to the task, or as an observation."""
        if self.steps:
            self.observe(content)
        else:
            self.ask(role, content)

    def act(
        self,
        text: str,
        *,
        reasoning: Iterable[str | None] = (),
        calls: Sequence[Fields] = (),
        **fields: Any,
    ) -> None:
        """Add a step; ``fields`` are more of its fields, left out where None."""
        text, thought, self.cut_off = normalise(text, self._facts)
        step: Fields = {"text": text, "observations": []}
        if joined := "\n\n".join(each for each in (*reasoning, thought) if each):
            step["reasoning"] = joined
        step |= {name: value for name, value in fields.items() if value is not None}
        self.steps.append(step)
        for call in calls:
            self.call(call)

    def call(self, call: Fields) -> None:
        """Add a call to the last step."""
        self.steps[-1].setdefault("tool_calls", []).append(call)
        if call["id"]:
            self._made_by[call["id"]] = len(self.steps) - 1

    def observe(self, content: str, call_id: str = "", **fields: Any) -> None:
        """Add what came back, for the call ``call_id`` where one is named."""
        if not self.steps:
            self.ask("tool", content, **({"tool_call_id": call_id} if call_id else {}))
            return
        step = self.steps[self._made_by.get(call_id, -1)]
        kept = {name: value for name, value in fields.items() if value is not None}
        step["observations"].append({"content": content, "call_id": call_id, **kept})


def tool_call(name: str, arguments: Any, call_id: str = "") -> Fields:
    """Return the fields of a tool call; arguments that are no JSON are kept as they are."""
    raw = arguments
    if not isinstance(raw, str):
        raw = "" if arguments is None else to_json(arguments).decode()
    try:
        parsed = freeze(from_json(raw, allow_inf_nan=False))
    except ValueError:
        parsed = None
    return {"id": call_id, "name": name, "arguments": raw, "parsed": parsed}


def take_calls(message: Node) -> list[Fields]:
    """Take the tool calls out of a message of the chat API (the older ``function_call`` too)."""
    listed: Any = message.fields.get("tool_calls")
    if isinstance(listed, list):
        # Some data sets hold each call as JSON text: their columns know no nested types.
        message.fields["tool_calls"] = [
            _unfolded(each) if isinstance(each, str) else each for each in listed
        ]
    calls = [_take_call(each) for each in message.objects("tool_calls")]
    if message.has("function_call"):
        calls.append(_take_call(message.object("function_call")))
    return calls


def _unfolded(text: str) -> Any:
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        return text


def _take_call(call: Node) -> Fields:
    function = call
    if isinstance(call.fields.get("function"), dict):
        function = call.object("function")
    name = function.take_text("name")
    if not name:
        raise RowError(f"`{call.place}` is a tool call without a function name")
    if call.fields.get("type") == "function":
        call.take("type")
    return tool_call(name, function.take("arguments"), call.take_id("id"))


def take_words(node: Node, key: str = "content") -> tuple[str, list[str]]:
    """Take the text and the reasoning out of a message's content.

    Content is a text, or a list of parts. Parts that are neither text, nor a refusal, nor
    reasoning (images, sound, files) stay where they are.

    Raises:
        RowError: for content of another kind.
    """
    content: Any = node.fields.get(key)
    if content is None or isinstance(content, str):
        return node.take_text(key), []
    if not isinstance(content, list):
        raise node.wrong(key, "a text or a list of parts")
    if all(isinstance(part, str) for part in content):
        return "".join(node.take(key)), []
    texts: list[str] = []
    thoughts: list[str] = []
    for part in node.objects(key):
        kind = part.fields.get("type")
        if kind in _THOUGHT_PARTS:
            thoughts.extend(part.take_text(name) for name in ("thinking", "reasoning", "text"))
        elif kind == "refusal":
            texts.append(part.take_text("refusal"))
        elif kind in _TEXT_PARTS:
            texts.append(part.take_text("text"))
        else:
            continue
        part.take("type")
    return "".join(texts), [thought for thought in thoughts if thought]


def add_message(turns: Turns, message: Node, *, is_policy: bool | None = None) -> None:
    """Add a message of the chat API; an assistant's is a step, unless ``is_policy`` is False.

    Raises:
        RowError: for an unknown role, or content of the wrong kind.
    """
    role = message.take_text("role")
    role = "tool" if role == "function" else role
    if role not in _ROLES:
        known = ", ".join(_ROLES)
        raise RowError(f"`{message.where('role')}` is {role!r}, not one of {known}")
    if role == "assistant" and is_policy is not False:
        calls = take_calls(message)
        text, thoughts = take_words(message)
        beside = [message.take_text(key) for key in ("reasoning_content", "reasoning")]
        turns.act(text or message.take_text("refusal"), reasoning=[*beside, *thoughts], calls=calls)
    elif turns.steps:
        _observe(turns, message, role)
    else:
        _ask(turns, message, role)


def add_words(turns: Turns, row: Node, key: str, *, is_policy: bool | None = None) -> None:
    """Add a column that is a text (the policy's, unless ``is_policy`` is False) or messages.

    Raises:
        RowError: if it is neither.
    """
    if not isinstance(row.fields.get(key), str):
        for message in row.objects(key):
            add_message(turns, message, is_policy=is_policy)
    elif is_policy is False:
        turns.ask("user", row.take_text(key))
    else:
        turns.act(row.take_text(key))


def _observe(turns: Turns, message: Node, role: str) -> None:
    call_id = message.take_id("tool_call_id")
    text, _ = take_words(message)
    turns.observe(text, call_id, error=_take_error(message))
    if role != ("tool" if call_id else "user"):  # else the record does not tell who spoke
        message.fields["role"] = role


def _take_error(message: Node) -> str | None:
    error = message.fields.get("error")
    if isinstance(error, dict):
        return message.object("error").take_text("message") or None
    return message.take_text("error") or None


def _ask(turns: Turns, message: Node, role: str) -> None:
    content = message.fields.get("content")
    if content is not None and not isinstance(content, str):
        message.objects("content")
    fields: Fields = {"tool_calls": take_calls(message)}
    fields |= {key: message.take_text(key) for key in ("name", "tool_call_id")}
    given = {key: value for key, value in fields.items() if value}
    turns.ask(role, message.take("content") or "", **given)

"""OpenHands events as turns, in both shapes that its versions write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rewardhub.builtin.formats.foreign.node import Node
from rewardhub.builtin.formats.foreign.reader import Draft
from rewardhub.builtin.formats.foreign.turns import take_words, tool_call
from rewardhub.errors import RowError

_NO_TURNS = ("recall", "change_agent_state", "condensation", "condensation_request", "null")
_NO_RESULTS = ("null", "agent_state_changed", "recall", "condense")
_RESULTS = ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation")


class Events:
    """Adds events to a draft, in order.

    Attributes:
        error: what an event says about a run that ended by an error; empty if none does.
    """

    def __init__(self, draft: Draft) -> None:
        self.error = ""
        self._draft = draft
        self._turns = draft.turns
        self._response: Any = None
        self._calls: dict[str, str] = {}

    def add(self, events: Iterable[Node]) -> None:
        """Add ``events``.

        Raises:
            RowError: for a field of the wrong kind.
        """
        for event in events:
            if event.has("kind"):
                self._add_kind(event, event.take_text("kind"))
            elif event.has("action"):
                self._add_action(event)
            elif event.has("observation"):
                self._add_observation(event)

    # 0.x: {"action": ..., "args": {...}} and {"observation": ..., "content": ..., "extras": {...}}

    def _add_action(self, event: Node) -> None:
        action, args = event.take_text("action"), event.object("args")
        source = event.fields.get("source")
        if action == "system":
            self._turns.say("system", args.take_text("content"))
            if args.has("tools"):
                args.objects("tools")
                self._draft.task["tools"] = args.take("tools")
        elif action == "message" and source != "agent":
            self._turns.say("user", args.take_text("content"))
        elif action in _NO_TURNS or source not in (None, "agent"):
            event.fields["action"] = action
        elif action == "message":
            self._turns.act(args.take_text("content"))
            self._response = None
        else:
            self._act(event, action, args)

    def _act(self, event: Node, action: str, args: Node) -> None:
        made = event.object("tool_call_metadata")
        response = made.object("model_response")
        call_id = made.take_id("tool_call_id") or f"event-{event.fields.get('id')}"
        name = made.take_text("function_name") or action
        self._calls[str(event.fields.get("id"))] = call_id
        thought = args.take_text("thought")
        text = thought
        if action == "finish":
            text = args.take_text("final_thought") or _said(args) or thought
            if thought and text != thought:
                args.fields["thought"] = thought
        raw = _raw_arguments(response, call_id)
        given = raw if raw is not None else args.fields
        call = tool_call(name, given, call_id)
        if action != name:
            event.fields["action"] = action
        response_id = response.fields.get("id")
        if response_id is not None and response_id == self._response and self._turns.steps:
            self._turns.call(call)
            if text:
                args.fields["thought"] = text
            return
        self._response = response_id
        is_thought = action == "think"
        self._turns.act(
            "" if is_thought else text,
            reasoning=[text if is_thought else None],
            calls=[call],
            tokens=response.object("usage").take_count("completion_tokens"),
        )

    def _add_observation(self, event: Node) -> None:
        kind, extras = event.take_text("observation"), event.object("extras")
        if kind == "agent_state_changed" and extras.fields.get("agent_state") == "error":
            self.error = str(extras.fields.get("reason") or "the agent's state is `error`")
        cause = str(event.fields.get("cause"))
        call_id = event.object("tool_call_metadata").take_id("tool_call_id")
        call_id = call_id or self._calls.get(cause, "")
        if kind in _NO_RESULTS or not self._turns.steps:
            event.fields["observation"] = kind
            return
        content, _ = take_words(event)
        code = extras.object("metadata").fields.get("exit_code", extras.fields.get("exit_code"))
        is_error = kind == "error"
        self._turns.observe(
            "" if is_error else content,
            call_id,
            error=content if is_error else None,
            exit_code=code if type(code) is int else None,
        )
        event.fields["observation"] = kind

    # software-agent-sdk 1.x: {"kind": "ActionEvent", ...}

    def _add_kind(self, event: Node, kind: str) -> None:
        if kind == "SystemPromptEvent":
            text, _ = take_words(_listed(event, "system_prompt"), "system_prompt")
            self._turns.say("system", text)
            if event.has("tools"):
                event.objects("tools")
                self._draft.task["tools"] = event.take("tools")
        elif kind == "MessageEvent":
            self._add_message(event)
        elif kind == "ActionEvent":
            self._act_of_kind(event)
        elif kind in _RESULTS and self._turns.steps:
            self._observe_kind(event)
            event.fields["kind"] = kind
        else:
            if kind == "ConversationErrorEvent":
                self.error = f"{event.fields.get('code')}: {event.fields.get('detail')}"
            event.fields["kind"] = kind

    def _add_message(self, event: Node) -> None:
        message = event.object("llm_message")
        role = message.take_text("role")
        text, thoughts = take_words(message)
        if role == "assistant" or (not role and event.fields.get("source") == "agent"):
            thoughts.append(message.take_text("reasoning_content"))
            self._turns.act(text, reasoning=thoughts)
            self._response = None
        else:
            self._turns.say("user", text)
            if role not in ("", "user"):
                message.fields["role"] = role

    def _act_of_kind(self, event: Node) -> None:
        call = event.object("tool_call")
        name = event.take_text("tool_name") or call.take_text("name")
        if not name:
            raise RowError(f"`{event.place}` is an action without `tool_name`")
        given = call.take("arguments") if call.has("arguments") else event.fields.get("action")
        text, thoughts = take_words(event, "thought")
        thoughts.append(event.take_text("reasoning_content"))
        action: Any = event.fields.get("action")
        if name == "finish" and isinstance(action, dict) and isinstance(action.get("message"), str):
            text = action["message"]
        made = tool_call(name, given, event.take_id("tool_call_id"))
        response = event.fields.get("llm_response_id")
        if response is not None and response == self._response and self._turns.steps:
            self._turns.call(made)
            event.fields["thought"] = text or None
            return
        self._response = response
        self._turns.act(text, reasoning=thoughts, calls=[made])

    def _observe_kind(self, event: Node) -> None:
        call_id = event.take_id("tool_call_id")
        result: Any = event.fields.get("observation")
        if isinstance(result, dict):
            body = event.object("observation")
            key = "content" if body.has("content") else "output"
            text, _ = take_words(body, key)
            code = body.fields.get("exit_code")
            exit_code = code if type(code) is int else None
            if body.fields.get("is_error") is True:
                self._turns.observe("", call_id, error=text, exit_code=exit_code)
            else:
                self._turns.observe(text, call_id, exit_code=exit_code)
            return
        said = event.take_text("error") or event.take_text("rejection_reason")
        self._turns.observe("", call_id, error=said)


def _listed(event: Node, key: str) -> Node:
    """Return ``event`` with a single content part as a list of one."""
    if isinstance(event.fields.get(key), dict):
        event.fields[key] = [event.fields[key]]
    return event


def _said(args: Node) -> str:
    outputs: Any = args.fields.get("outputs")
    said: Any = outputs.get("content") if isinstance(outputs, dict) else None
    return said if isinstance(said, str) else ""


def _raw_arguments(response: Node, call_id: str) -> str | None:
    """Return the arguments of a call as the model wrote them, if the response is kept."""
    for choice in response.objects("choices"):
        calls: Any = choice.object("message").fields.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            function: Any = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict) and call.get("id") == call_id:
                arguments: Any = function.get("arguments")
                return arguments if isinstance(arguments, str) else None
    return None

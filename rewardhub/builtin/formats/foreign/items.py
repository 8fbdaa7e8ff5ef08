"""Items of the OpenAI Responses API, and the two formats that hold them."""

from __future__ import annotations

from typing import Any

from rewardhub.builtin.formats.foreign.node import Fields, Node
from rewardhub.builtin.formats.foreign.reader import Draft, ForeignReader
from rewardhub.builtin.formats.foreign.turns import Turns, add_message, take_words, tool_call
from rewardhub.errors import RowError

_OUTPUT_SUFFIX = "_call_output"
_CALL_TEXTS = {"function_call": "arguments", "custom_tool_call": "input"}
_POLICY_TYPES = ("reasoning", *_CALL_TEXTS)


def is_item(value: Any) -> bool:
    """Whether ``value`` is an item of the Responses API, a message among them."""
    if not isinstance(value, dict):
        return False
    kind: Any = value.get("type")
    return isinstance(kind, str) and (kind in ("message", *_POLICY_TYPES) or "_call" in kind)


def is_responses(row: Fields) -> bool:
    """Whether ``row`` is a Response object, or has ``output`` items."""
    output: Any = row.get("output")
    has_items = isinstance(output, list) and bool(output) and is_item(output[0])
    return row.get("object") == "response" or has_items


def is_nemo_gym(row: Fields) -> bool:
    """Whether ``row`` has the request of a NeMo Gym rollout."""
    return "responses_create_params" in row


class ResponsesReader(ForeignReader):
    """Reads Response objects of the OpenAI Responses API, with their ``input`` where it is kept.

    ``instructions`` and ``input`` are the task, ``output`` is what the policy did. Reasoning,
    message and calls that belong to one turn are one step; a new step begins after a result, and
    where the model thinks or speaks anew after it had spoken or called. A result joins its call
    by ``call_id``. Calls of hosted tools (web search and the like) happen inside a turn and stay
    in the metadata. ``status`` decides: ``incomplete`` is truncated, ``failed`` and ``cancelled``
    are broken. Encrypted reasoning and the ids of items stay in the metadata.
    """

    format = "responses"

    def _read(self, row: Node, draft: Draft) -> None:
        if "output" not in row.fields:
            raise RowError("the row has no `output`")
        add_request(draft, row)
        add_response(draft, row)


class NemoGymReader(ForeignReader):
    """Reads rollouts of NeMo Gym: a request, a response, the reward and what the verifier found.

    ``responses_create_params`` is a request of the Responses API and ``response`` what came of
    it (see the reader ``responses``). The environment's reward is ``metadata.reward`` (grade it
    with ``recorded/value``), ``expected_answer`` the task's reference; whatever else the
    environment's verifier wrote keeps its name in the metadata.
    """

    format = "NeMo Gym"

    def _read(self, row: Node, draft: Draft) -> None:
        if not row.has("responses_create_params") or not row.has("response"):
            raise RowError("a rollout has `responses_create_params` and `response`")
        draft.task["reference"] = row.take("expected_answer")
        add_request(draft, row.object("responses_create_params"))
        add_response(draft, row.object("response"))


def add_request(draft: Draft, request: Node) -> None:
    """Take what was asked out of a request."""
    if request.has("instructions") and isinstance(request.fields["instructions"], str):
        draft.turns.ask("developer", request.take_text("instructions"))
    if request.has("tools"):
        request.objects("tools")
        draft.task["tools"] = request.take("tools")
    if isinstance(request.fields.get("input"), str):
        draft.turns.ask("user", request.take_text("input"))
    else:
        _ask(draft.turns, request)


def _ask(turns: Turns, request: Node) -> None:
    """Add input items to the task: turns of earlier answers are part of the question."""
    for item in request.objects("input"):
        kind = _kind(item)
        if kind == "reasoning" or (item.fields.get("role") is None and not is_item(item.fields)):
            continue
        if kind in _CALL_TEXTS:
            turns.ask("assistant", "", tool_calls=[_take_call(item)])
        elif kind.endswith(_OUTPUT_SUFFIX):
            call_id = item.take_id("call_id")
            turns.ask("tool", _result(item), **({"tool_call_id": call_id} if call_id else {}))
        elif item.has("role"):
            item.take("type")
            add_message(turns, item, is_policy=False)


def add_response(draft: Draft, response: Node) -> None:
    """Take what was done out of a response.

    Raises:
        RowError: for items of the wrong kind.
    """
    turn: list[Node] = []
    for item in response.objects("output"):
        is_policy = item.fields.get("role") == "assistant" or _kind(item) in _POLICY_TYPES
        if turn and (not is_policy or (_has_acted(turn) and _kind(item) not in _CALL_TEXTS)):
            _act(draft.turns, turn)
            turn = []
        if is_policy:
            turn.append(item)
        elif _kind(item).endswith(_OUTPUT_SUFFIX) and item.has("call_id"):
            item.take("type")
            draft.turns.observe(_result(item), item.take_id("call_id"))
        elif item.has("role"):
            item.take("type")
            add_message(draft.turns, item)
    if turn:
        _act(draft.turns, turn)
    _add_end(draft, response)


def _kind(item: Node) -> str:
    kind = item.fields.get("type")
    return kind if isinstance(kind, str) else ""


def _has_acted(turn: list[Node]) -> bool:
    return any(_kind(item) != "reasoning" for item in turn)


def _act(turns: Turns, turn: list[Node]) -> None:
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[Fields] = []
    for item in turn:
        kind = _kind(item)
        if kind in _CALL_TEXTS:
            calls.append(_take_call(item))
            continue
        for key in ("content", "summary") if kind == "reasoning" else ("content",):
            text, thought = take_words(item, key)
            (thoughts if kind == "reasoning" else texts).append(text)
            thoughts.extend(thought)
        item.take("type")
        item.take("role")
    turns.act("".join(texts), reasoning=thoughts, calls=calls)


def _take_call(item: Node) -> Fields:
    kind = item.take_text("type")
    name = item.take_text("name")
    if not name:
        raise RowError(f"`{item.place}` is a call without a name")
    return tool_call(name, item.take(_CALL_TEXTS[kind]), item.take_id("call_id"))


def _result(item: Node) -> str:
    text, _ = take_words(item, "output")
    return text


def _add_end(draft: Draft, response: Node) -> None:
    usage = response.object("usage")
    draft.fields["tokens"] = usage.take_count("output_tokens")
    model = response.fields.get("model")
    if isinstance(model, str) and model:
        draft.fields["policy"] = {"name": response.take_text("model")}
    status = response.fields.get("status")
    if status == "incomplete":
        why = response.object("incomplete_details").fields.get("reason")
        draft.truncate(f"the response is incomplete: {why or 'it does not say why'}")
    elif status in ("failed", "cancelled") or response.has("error"):
        error: Any = response.fields.get("error")
        why = error.get("message") if isinstance(error, dict) else error
        draft.break_off(f"the response {status or 'failed'}: {why or 'it does not say why'}")
    elif status in (None, "completed") and (status or response.fields.get("object") == "response"):
        draft.complete()

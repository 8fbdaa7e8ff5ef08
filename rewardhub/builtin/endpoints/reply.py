"""What an endpoint answered, read strictly from the JSON of a chat completion."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from rewardhub.builtin.endpoints.faults import no_reply
from rewardhub.contracts import Usage
from rewardhub.contracts.resources import FinishReason
from rewardhub.records import ToolCall

_FINISHED: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_calls": "stop",
    "function_call": "stop",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "refusal": "refusal",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """An endpoint's answer to a chat.

    Attributes:
        text: as the model wrote it; empty where it wrote nothing.
        reasoning: what it wrote before, where the endpoint tells it apart.
        tool_calls: the calls it asked for; their arguments are the raw text.
        usage: tokens as the endpoint counted them, and money by the prices of the endpoint.
        estimated: whether the endpoint counted no tokens, so that ``usage`` is an upper bound.
        finish_reason: only after ``stop`` is the answer whole.
        logprobs: for each token of the text: tokens and their natural log probabilities, the
            token that was taken first, then the likeliest others.
        model: the model that answered, as the endpoint names it.
        system_fingerprint: the endpoint's name for its configuration; empty where it has none.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    estimated: bool = False
    finish_reason: FinishReason = "stop"
    logprobs: tuple[Mapping[str, float], ...] = ()
    model: str = ""
    system_fingerprint: str = ""

    @property
    def data(self) -> Any:
        """The JSON value that the text is; None where it is none. NaN is no JSON."""
        return json_in(self.text)


@dataclass(slots=True, kw_only=True)
class Gathered:
    """A completion as plain values: of one JSON object, or of the chunks of a stream."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: dict[int, dict[str, str]]
    finish: str = ""
    logprobs: list[Mapping[str, float]]
    tokens: Mapping[str, Any] | None = None
    model: str = ""
    fingerprint: str = ""

    @property
    def finish_reason(self) -> FinishReason:
        """Why the model stopped.

        Raises:
            InfrastructureError: if the endpoint gave up, or does not say why it stopped.
        """
        if self.refusal:
            return "refusal"
        try:
            return _FINISHED[self.finish]
        except KeyError:
            why = f"finish_reason is {self.finish!r}" if self.finish else "it broke off"
            raise no_reply(f"gave no whole answer: {why}") from None

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls, in order."""
        return tuple(_tool_call(self.calls[index]) for index in sorted(self.calls))

    @property
    def counts(self) -> tuple[int, int] | None:
        """Tokens in and out as the endpoint counted them; None where it did not."""
        tokens = self.tokens or {}
        prompt, completion = tokens.get("prompt_tokens"), tokens.get("completion_tokens")
        if _is_count(prompt) and _is_count(completion):
            return cast("tuple[int, int]", (prompt, completion))
        return None


def gathered(body: bytes) -> Gathered:
    """Return what stands in the body of a chat completion.

    Raises:
        InfrastructureError: if it is no chat completion.
    """
    try:
        completion = json.loads(body)
    except ValueError as error:
        raise no_reply(f"sent what is no JSON ({error})") from None
    found = empty()
    add_chunk(found, completion, "message")
    return found


def empty() -> Gathered:
    """Return a completion of which nothing has come yet."""
    return Gathered(calls={}, logprobs=[])


def add_chunk(found: Gathered, chunk: Any, holder: str) -> None:
    """Add a chat completion, or one chunk of a stream of them.

    Args:
        found: what came before.
        chunk: JSON as the endpoint sent it.
        holder: where a choice holds its message: ``message``, or ``delta`` in a stream.

    Raises:
        InfrastructureError: if it is none.
    """
    fields = _mapping(chunk)
    if error := fields.get("error"):
        raise no_reply(f"sent an error: {json.dumps(error)[:300]}")
    if isinstance(fields.get("usage"), Mapping):
        found.tokens = fields["usage"]
    found.model = fields.get("model") or found.model
    found.fingerprint = fields.get("system_fingerprint") or found.fingerprint
    choices = fields.get("choices")
    if not isinstance(choices, Sequence) or (holder == "message" and not choices):
        raise no_reply(f"sent no choices: {json.dumps(chunk)[:300]}")
    for choice in choices[:1]:
        fields = _mapping(choice)
        found.finish = fields.get("finish_reason") or found.finish
        _add_message(found, _mapping(fields.get(holder) or {}))
        found.logprobs += _logprobs(fields.get("logprobs"))


def _add_message(found: Gathered, message: Mapping[str, Any]) -> None:
    found.text += _text(message.get("content"))
    found.reasoning += _text(message.get("reasoning_content") or message.get("reasoning"))
    found.refusal += _text(message.get("refusal"))
    for place, call in enumerate(message.get("tool_calls") or ()):
        fields = _mapping(call)
        function = _mapping(fields.get("function") or {})
        index = fields.get("index")
        kept = found.calls.setdefault(
            index if isinstance(index, int) else place, {"id": "", "name": "", "arguments": ""}
        )
        kept["id"] = fields.get("id") or kept["id"]
        kept["name"] += _text(function.get("name"))
        kept["arguments"] += _arguments(function.get("arguments"))


def _arguments(value: Any) -> str:
    """Return the raw arguments of a call; some endpoints parse them, against the format."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _tool_call(fields: Mapping[str, str]) -> ToolCall:
    raw = fields["arguments"]
    return ToolCall(id=fields["id"], name=fields["name"], arguments=raw, parsed=json_in(raw))


def json_in(text: str) -> Any:
    """Return the JSON value that ``text`` is; None where it is none. NaN is no JSON."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _logprobs(value: Any) -> list[Mapping[str, float]]:
    tokens = _mapping(value or {}).get("content") or ()
    return [_likeliest(_mapping(token)) for token in tokens]


def _likeliest(token: Mapping[str, Any]) -> Mapping[str, float]:
    entries: Iterable[Any] = (token, *(token.get("top_logprobs") or ()))
    found: dict[str, float] = {}
    for each in entries:
        fields = _mapping(each)
        text, value = fields.get("token"), fields.get("logprob")
        if not isinstance(text, str) or not isinstance(value, int | float):
            raise no_reply(f"sent a token without its log probability: {json.dumps(each)[:100]}")
        found.setdefault(text, float(value))
    return found


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise no_reply(f"sent {json.dumps(value)[:200]} where an object belongs")
    return cast("Mapping[str, Any]", value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):  # content in parts
        return "".join(_text(_mapping(part).get("text")) for part in value)
    raise no_reply(f"sent {json.dumps(value)[:200]} where text belongs")


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0

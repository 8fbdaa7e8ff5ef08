"""What the test endpoint is asked and answers, and what its faults make of an answer."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

EndpointFault: TypeAlias = Literal[
    "server_error",
    "overloaded",
    "rate_limit",
    "quota",
    "unauthorized",
    "bad_request",
    "context_length",
    "content_filter_error",
    "drop",
    "stall",
    "malformed_body",
    "truncated_body",
    "no_choices",
    "no_usage",
    "refusal",
    "content_filter",
    "length",
    "malformed_verdict",
    "wrong_language",
    "off_menu",
    "nan",
]
"""What may go wrong. Up to `content_filter_error` it is an HTTP status. `drop`, `stall`,
`malformed_body` and `truncated_body` break the connection or the HTTP body; the rest is a proper
reply with something else in it than what was to be answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One request to the endpoint.

    Attributes:
        body: its JSON.
        digest: the digest of the body.
        seen: how often the same body came before.
        fault: the fault that it meets; None: it is answered.
    """

    body: Mapping[str, Any]
    digest: str
    seen: int = 0
    fault: EndpointFault | None = None

    @property
    def text(self) -> str:
        """The text of its messages, one after the other."""
        return "\n".join(_text_of(message.get("content")) for message in self.body["messages"])


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatAnswer:
    """One answer of the endpoint.

    Attributes:
        text: the content of the message.
        reasoning: what the model wrote before; empty for none.
        refusal: why it declines; empty where it does not.
        tool_calls: name and raw arguments of each call.
        finish_reason: why it stopped; empty: as the rest says.
        logprobs: for each token, the one that was taken first; None: made of the text, one token
            for each word and mark, where they are asked.
        prompt_tokens: None: a quarter of the bytes of the messages.
        completion_tokens: None: a quarter of the bytes of the text.
    """

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    tool_calls: Sequence[tuple[str, str]] = ()
    finish_reason: str = ""
    logprobs: Sequence[Mapping[str, float]] | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


def share_of(seed: int, digest: str, seen: int) -> float:
    """Return a number in [0, 1) for this try at this body."""
    text = f"{seed} {digest} {seen}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) / 2**64


def faulty(answer: ChatAnswer, fault: EndpointFault | None) -> ChatAnswer:
    """Return the answer that a fault makes of ``answer``."""
    match fault:
        case "refusal":
            return ChatAnswer(refusal="I cannot help with that.")
        case "content_filter":
            return ChatAnswer(finish_reason="content_filter")
        case "length":
            return replace(
                answer, text=answer.text[: len(answer.text) // 2], finish_reason="length"
            )
        case "malformed_verdict":
            return replace(answer, text=f"Sure! Here is my verdict: {answer.text[:-1]}")
        case "wrong_language":
            return replace(answer, text="这个回答写得很好，我给它满分。")  # noqa: RUF001
        case "off_menu":
            return replace(answer, text=_with_leaves(answer.text, 1_000_003, "no such level"))
        case "nan":
            return replace(answer, text=_with_leaves(answer.text, float("nan"), float("nan")))
        case _:
            return answer


def completion_of(request: ChatRequest, answer: ChatAnswer) -> dict[str, Any]:
    """Return an answer as the JSON of a chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.refusal:
        message["refusal"] = answer.refusal
    if answer.tool_calls:
        message["tool_calls"] = _calls(answer)
    choice: dict[str, Any] = {
        "index": 0,
        "message": message,
        "finish_reason": _finish(answer),
        "logprobs": _logprobs(request, answer),
    }
    body = _frame(request, "chat.completion", [] if request.fault == "no_choices" else [choice])
    return body if request.fault == "no_usage" else {**body, "usage": _usage(request, answer)}


def stream_of(request: ChatRequest, answer: ChatAnswer) -> list[dict[str, Any]]:
    """Return an answer as the chunks of a stream."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if answer.reasoning:
        deltas.append({"reasoning_content": answer.reasoning})
    if answer.refusal:
        deltas.append({"refusal": answer.refusal})
    deltas += [{"content": piece} for piece in re.findall(r"\s*\S+\s*$|\s*\S+|\s+", answer.text)]
    for index, call in enumerate(_calls(answer)):
        function = call["function"]
        deltas.append(
            {"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]}
        )
        half = len(function["arguments"]) // 2
        for part in (function["arguments"][:half], function["arguments"][half:]):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    choices: list[dict[str, Any]] = [
        {"index": 0, "delta": delta, "finish_reason": None} for delta in deltas
    ]
    choices.append(
        {
            "index": 0,
            "delta": {},
            "finish_reason": _finish(answer),
            "logprobs": _logprobs(request, answer),
        }
    )
    chunks = [_frame(request, "chat.completion.chunk", [choice]) for choice in choices]
    wants_usage = (request.body.get("stream_options") or {}).get("include_usage")
    if wants_usage and request.fault != "no_usage":
        last = _frame(request, "chat.completion.chunk", [])
        chunks.append({**last, "usage": _usage(request, answer)})
    return chunks


def error_body(message: str, code: str) -> bytes:
    """Return the body of an error as OpenAI writes it."""
    error = {"message": message, "type": code, "param": None, "code": code}
    return json.dumps({"error": error}).encode()


def _frame(request: ChatRequest, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{request.digest[:8]}",
        "object": kind,
        "created": 0,
        "model": request.body["model"],
        "system_fingerprint": "fp_test",
        "choices": choices,
    }


def _finish(answer: ChatAnswer) -> str:
    return answer.finish_reason or ("tool_calls" if answer.tool_calls else "stop")


def _calls(answer: ChatAnswer) -> list[dict[str, Any]]:
    return [
        {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": raw}}
        for place, (name, raw) in enumerate(answer.tool_calls)
    ]


def _usage(request: ChatRequest, answer: ChatAnswer) -> dict[str, int]:
    prompt, completion = answer.prompt_tokens, answer.completion_tokens
    prompt = _tokens(request.text) if prompt is None else prompt
    completion = _tokens(answer.text + answer.reasoning) if completion is None else completion
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def _tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // 4)


def _logprobs(request: ChatRequest, answer: ChatAnswer) -> dict[str, Any] | None:
    if not request.body.get("logprobs"):
        return None
    count = int(request.body.get("top_logprobs") or 0)
    tokens = answer.logprobs
    if tokens is None:
        tokens = [{token: -0.01} for token in re.findall(r"\w+|\W", answer.text)]
    content: list[dict[str, Any]] = []
    for likeliest in tokens:
        entries: list[dict[str, Any]] = [
            {"token": token, "logprob": value} for token, value in likeliest.items()
        ]
        top = sorted(entries, key=_unlikely)[:count]
        content.append({**entries[0], "top_logprobs": top})
    return {"content": content}


def _unlikely(entry: Mapping[str, Any]) -> float:
    return -float(entry["logprob"])


def _with_leaves(text: str, number: float, word: Any) -> str:
    """Return the JSON of ``text`` with other values in it, reasons aside."""
    try:
        value = json.loads(text)
    except ValueError:
        return json.dumps(number)
    return json.dumps(_leaves(value, number, word))


def _leaves(value: Any, number: float, word: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: item if "reason" in key else _leaves(item, number, word)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_leaves(item, number, word) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number
    return word


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or ())

"""A model behind an OpenAI-compatible endpoint: what is sent, and what comes of it."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from rewardhub import ChatEndpoint, ChatReply, InfrastructureError, ToolCall, Usage, UsageError
from rewardhub.testing import ChatAnswer, OpenAIServer

Serve = Callable[..., OpenAIServer]
MESSAGES = [{"role": "user", "content": "Is 2 even?"}]
SCHEMA = {"type": "object", "properties": {"even": {"type": "boolean"}}}
BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def endpoint(server: OpenAIServer, **options: Any) -> ChatEndpoint:
    return ChatEndpoint(**{"model": "test-model", "base_url": server.url, **options})


def complete(server: OpenAIServer, *, options: Mapping[str, Any] | None = None, **how: Any) -> Any:
    return asyncio.run(endpoint(server, **(options or {})).complete(MESSAGES, **how))


def sent(server: OpenAIServer) -> Mapping[str, Any]:
    return server.requests[-1].body


# --- answers --------------------------------------------------------------------------------------


@BOTH
def test_gives_every_field_of_an_answer(stream: bool, openai_server: Serve) -> None:
    answer = ChatAnswer(
        text="Yes: it is.",
        reasoning="2 = 2 * 1",
        tool_calls=[("divide", '{"by": 2}'), ("check", "not json")],
        logprobs=[{"Yes": -0.5, "No": -0.1}, {": it is.": -0.25}],
        prompt_tokens=7,
        completion_tokens=3,
    )
    prices = {"prompt_price": 1e6, "completion_price": 2e6}
    reply = complete(openai_server(answer), stream=stream, logprobs=2, options=prices)
    assert reply == ChatReply(
        text="Yes: it is.",
        reasoning="2 = 2 * 1",
        tool_calls=(
            ToolCall(id="call_0", name="divide", arguments='{"by": 2}', parsed={"by": 2}),
            ToolCall(id="call_1", name="check", arguments="not json"),
        ),
        usage=Usage(prompt_tokens=7, completion_tokens=3, cost=13.0),
        logprobs=({"Yes": -0.5, "No": -0.1}, {": it is.": -0.25}),
        model="test-model",
        system_fingerprint="fp_test",
    )
    assert list(reply.logprobs[0]) == ["Yes", "No"], "the token that was taken comes first"


@BOTH
@pytest.mark.parametrize(
    ("fault", "finish_reason"),
    [
        ("refusal", "refusal"),
        ("content_filter", "content_filter"),
        ("content_filter_error", "content_filter"),
        ("length", "length"),
        ("context_length", "context_length"),
    ],
)
def test_what_is_about_the_question_is_a_reply(
    fault: Any, finish_reason: str, stream: bool, openai_server: Serve
) -> None:
    reply = complete(openai_server("Yes", faults={fault: 1.0}), stream=stream)
    assert reply.finish_reason == finish_reason


@BOTH
def test_tokens_that_nobody_counted_are_bounded_by_bytes(
    stream: bool, openai_server: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    server = openai_server("Yes, it is.", faults={"no_usage": 1.0})
    reply = complete(server, stream=stream)
    assert reply.estimated
    assert reply.usage.prompt_tokens > len(json.dumps(MESSAGES))
    assert reply.usage.completion_tokens == len("Yes, it is.")
    assert "counts no tokens" in caplog.text


def test_that_nobody_counts_tokens_is_said_once(
    openai_server: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    served = endpoint(openai_server("Yes", faults={"no_usage": 1.0}))

    async def thrice() -> None:
        for _ in range(3):
            await served.complete(MESSAGES)

    asyncio.run(thrice())
    assert caplog.text.count("counts no tokens") == 1


# --- faults ---------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    ("fault", "message", "passing"),
    [
        ("server_error", "answered 500: The server had an error", True),
        ("overloaded", "answered 503", True),
        ("rate_limit", "answered 429: Rate limit reached", True),
        ("quota", "You exceeded your current quota", False),
        ("unauthorized", "refused the key .401.*Check `api_key`", False),
        ("bad_request", "answered 400: Unknown parameter", False),
        ("drop", "dropped the connection", True),
        ("malformed_body", "no JSON|broke off: JSONDecodeError", True),
        ("truncated_body", "dropped the connection|no whole answer", True),
    ],
)
def test_what_is_about_the_endpoint_is_an_error(
    fault: Any, message: str, passing: bool, stream: bool, openai_server: Serve
) -> None:
    server = openai_server("Yes", faults={fault: 1.0})
    with pytest.raises(InfrastructureError, match=message) as caught:
        complete(server, stream=stream)
    assert f"`test-model` at {server.url}" in str(caught.value)
    assert caught.value.passing == passing
    assert server.counts.total() == 1, "one call is one request"


def test_an_answer_without_choices_is_an_error(openai_server: Serve) -> None:
    with pytest.raises(InfrastructureError, match="sent no choices"):
        complete(openai_server("Yes", faults={"no_choices": 1.0}))


def test_a_model_that_is_not_there_is_named(openai_server: Serve) -> None:
    server = openai_server("Yes")
    with pytest.raises(InfrastructureError, match="404.*`other`.*Check `model`") as caught:
        complete(server, options={"model": "other"})
    assert not caught.value.passing


def test_a_rate_limit_says_when_to_come_back(openai_server: Serve) -> None:
    with pytest.raises(InfrastructureError) as caught:
        complete(openai_server("Yes", faults={"rate_limit": 1.0}, retry_after="7.5"))
    assert caught.value.retry_after == 7.5


def test_an_endpoint_that_says_nothing_is_left(openai_server: Serve) -> None:
    with pytest.raises(InfrastructureError, match="did not answer in time") as caught:
        complete(openai_server("Yes", faults={"stall": 1.0}), options={"timeout": 0.1})
    assert caught.value.passing


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1:{port}/v1", "nobody listens there"),
        ("http://no-such-host.invalid/v1", "no such host|dropped the connection"),
    ],
)
def test_an_endpoint_that_is_not_there_is_an_error_that_may_pass(url: str, message: str) -> None:
    nobody = ChatEndpoint(model="m", base_url=url.format(port=free_port()))
    with pytest.raises(InfrastructureError, match=message) as caught:
        asyncio.run(nobody.complete(MESSAGES))
    assert caught.value.passing


def test_an_endpoint_without_tls_is_an_error(openai_server: Serve) -> None:
    server = openai_server("Yes")
    with pytest.raises(InfrastructureError, match="TLS|dropped the connection"):
        complete(server, options={"base_url": server.url.replace("http", "https")})


# --- what is sent ---------------------------------------------------------------------------------


def test_sends_what_was_asked_and_nothing_else(openai_server: Serve) -> None:
    server = openai_server("Yes")
    complete(server)
    assert sent(server) == {"model": "test-model", "messages": MESSAGES}
    tool = {"type": "function", "function": {"name": "f"}}
    complete(
        server, tools=[tool], seed=7, temperature=0.0, top_p=0.5, max_tokens=9, stop=["."],
        options={"extra_body": {"min_p": 0.1}},
    )  # fmt: skip
    assert sent(server) == {
        "model": "test-model", "messages": MESSAGES, "tools": [tool], "seed": 7,
        "temperature": 0.0, "top_p": 0.5, "max_completion_tokens": 9, "stop": ["."], "min_p": 0.1,
    }  # fmt: skip


def test_the_limit_on_tokens_has_the_name_that_the_endpoint_has_for_it(
    openai_server: Serve,
) -> None:
    server = openai_server("Yes")
    complete(server, max_tokens=9, options={"limit_name": "max_tokens"})
    assert (sent(server)["max_tokens"], "max_completion_tokens" in sent(server)) == (9, False)


def test_asks_for_json_by_the_mode_of_the_endpoint(openai_server: Serve) -> None:
    server = openai_server({"even": True})
    complete(server, schema=SCHEMA, structured="json_schema")
    assert sent(server)["messages"] == MESSAGES
    assert sent(server)["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True},
    }


@pytest.mark.parametrize(
    ("structured", "mode"), [("json_object", {"type": "json_object"}), ("prompt", None)]
)
def test_asks_for_json_in_the_text(structured: Any, mode: Any, openai_server: Serve) -> None:
    server = openai_server({"even": True})
    complete(server, schema=SCHEMA, structured=structured)
    (message,) = sent(server)["messages"]
    assert message["content"].startswith("Is 2 even?\n\nReply with one JSON object")
    assert json.dumps(SCHEMA) in message["content"]
    assert sent(server).get("response_format") == mode


def test_the_schema_joins_what_the_user_says_last(openai_server: Serve) -> None:
    server = openai_server({"even": True})
    parts = [{"type": "text", "text": "?"}]
    chat = [{"role": "user", "content": parts}, {"role": "assistant", "content": "{"}]
    asyncio.run(endpoint(server).complete(chat, schema=SCHEMA, structured="prompt"))
    asked, prefix = sent(server)["messages"]
    assert (asked["content"][0], prefix) == (parts[0], chat[1])
    assert "JSON Schema" in asked["content"][1]["text"]


def test_half_of_a_surrogate_pair_can_be_sent(openai_server: Serve) -> None:
    server = openai_server("Yes")
    asyncio.run(endpoint(server).complete([{"role": "user", "content": "a\ud800b"}]))
    assert server.requests[0].text == "a\ufffdb"


def test_sends_its_key_and_headers(openai_server: Serve) -> None:
    server = openai_server("Yes", api_key="sesame")
    with pytest.raises(InfrastructureError, match="refused the key"):
        complete(server)
    assert complete(server, options={"api_key": "sesame"}).text == "Yes"


# --- bounds ---------------------------------------------------------------------------------------


def test_a_bound_is_never_below_what_is_used(openai_server: Serve) -> None:
    served = endpoint(openai_server("x" * 40), prompt_price=2.0, completion_price=8.0)
    bound = served.usage_bound(MESSAGES, schema=SCHEMA, max_tokens=10)
    reply = asyncio.run(served.complete(MESSAGES, schema=SCHEMA, max_tokens=10))
    assert bound is not None
    assert bound.completion_tokens == reply.usage.completion_tokens == 10
    assert bound.prompt_tokens > reply.usage.prompt_tokens
    assert bound.cost == pytest.approx((bound.prompt_tokens * 2 + 80) / 1e6)


def test_what_an_image_uses_cannot_be_told() -> None:
    image = {"type": "image_url", "image_url": {"url": "http://localhost/large.png"}}
    chat = [{"role": "user", "content": [{"type": "text", "text": "?"}, image]}]
    assert ChatEndpoint(model="m").usage_bound(chat, max_tokens=10) is None


# --- before the run -------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://host/v1", "http://", ""])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="is no address of an endpoint"):
        ChatEndpoint(model="m", base_url=url)


def test_an_address_may_end_in_the_path_of_the_call() -> None:
    made = ChatEndpoint(model="m", base_url="http://host/v1/chat/completions/")
    assert made.base_url == "http://host/v1"


def test_neither_key_nor_password_is_shown() -> None:
    made = ChatEndpoint(
        model="m", base_url="http://me:hidden@host:81/v1?key=hidden", api_key="hidden",
        headers={"x": "hidden"},
    )  # fmt: skip
    assert made.public_url == "http://host:81/v1"
    assert "hidden" not in f"{made!r} {made} {made.where}"


def test_opens_where_the_model_is_there(openai_server: Serve) -> None:
    server = openai_server("Yes")
    made = endpoint(server)
    made.open()
    made.close()
    assert server.requests == [], "nothing is asked of the model"


def test_a_missing_key_is_told_before_the_run() -> None:
    with pytest.raises(UsageError, match=r"`api_key: \{env: OPENAI_API_KEY\}`"):
        ChatEndpoint(model="m").open()


def test_a_wrong_key_is_told_before_the_run(openai_server: Serve) -> None:
    made = endpoint(openai_server("Yes", api_key="sesame"), api_key="wrong")
    with pytest.raises(UsageError, match="refused the key"):
        made.open()


def test_an_unknown_model_is_told_before_the_run(openai_server: Serve) -> None:
    made = endpoint(openai_server("Yes", models=["large-model"]), model="larg-model")
    with pytest.raises(UsageError, match="no model `larg-model`. Did you mean `large-model`"):
        made.open()


def test_an_endpoint_may_have_models_that_it_does_not_list(openai_server: Serve) -> None:
    endpoint(openai_server("Yes"), model="unlisted", check_model=False).open()


def test_an_endpoint_that_is_not_there_is_told_before_the_run() -> None:
    made = ChatEndpoint(model="m", base_url=f"http://127.0.0.1:{free_port()}/v1")
    with pytest.raises(UsageError, match="nobody listens.*Start the server, or correct"):
        made.open()


def test_openai_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openai", None)
    with pytest.raises(UsageError, match=r"pip install 'rewardhub-core\[openai\]'"):
        ChatEndpoint(model="m").open()


def test_a_slow_endpoint_is_no_reason_not_to_begin(
    openai_server: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as deaf, caplog.at_level(logging.WARNING):
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1"
        ChatEndpoint(model="m", base_url=url, timeout=0.1).open()
    assert "is slow" in caplog.text

"""The test endpoint: what it counts, and that its faults are what they say."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from typing import Any, get_args

import pytest

from rewardhub import ChatEndpoint, ChatReply, InfrastructureError
from rewardhub.testing import ChatAnswer, ChatRequest, EndpointFault, OpenAIServer

Serve = Callable[..., OpenAIServer]
VERDICT = {"reason": "because", "score": 3, "level": "good"}


def ask(server: OpenAIServer, *texts: str, **how: Any) -> list[Any]:
    endpoint = ChatEndpoint(model="test-model", base_url=server.url, timeout=30.0)

    async def ask_all() -> list[Any]:
        chats = [[{"role": "user", "content": text}] for text in texts]
        asked = (endpoint.complete(chat, **how) for chat in chats)
        return await asyncio.gather(*asked, return_exceptions=True)

    return asyncio.run(ask_all())


def text_of(server: OpenAIServer) -> str:
    (reply,) = ask(server, "?")
    assert isinstance(reply, ChatReply), reply
    return reply.text


def test_answers_by_a_function_of_the_request(openai_server: Serve) -> None:
    def answer(request: ChatRequest) -> str:
        return f"{request.text} {request.seen}"

    server = openai_server(answer)
    assert [text_of(server), text_of(server)] == ["? 0", "? 1"]


def test_answers_from_a_list_in_order(openai_server: Serve) -> None:
    server = openai_server(["one", {"two": 2}, ChatAnswer(text="three")])
    assert [text_of(server) for _ in range(3)] == ["one", '{"two": 2}', "three"]


def test_a_list_that_is_used_up_is_told_where_the_server_is_closed() -> None:
    server = OpenAIServer(["one"]).start()
    text_of(server)
    assert isinstance(ask(server, "?")[0], InfrastructureError)
    with pytest.raises(IndexError):
        server.close()


def test_counts_each_body(openai_server: Serve) -> None:
    server = openai_server("Yes")
    ask(server, "a", "a", "b")
    assert sorted(server.counts.values()) == [1, 2]
    assert [request.seen for request in server.requests if request.text == "a"] == [0, 1]


def test_tells_how_many_were_answered_at_a_time(openai_server: Serve) -> None:
    server = openai_server("Yes", delay=0.2)
    ask(server, *[f"{n}" for n in range(5)])
    assert server.peak == 5


def test_picks_the_same_requests_for_a_fault_in_any_order(openai_server: Serve) -> None:
    def refused(texts: list[str], seed: int) -> set[str]:
        server = openai_server("Yes", faults={"server_error": 0.3}, seed=seed)
        replies = ask(server, *texts)
        assert server.faults["server_error"] == sum(isinstance(r, Exception) for r in replies)
        return {t for t, r in zip(texts, replies, strict=True) if isinstance(r, Exception)}

    texts = [f"{n}" for n in range(100)]
    first = refused(texts, 1)
    assert refused(texts[::-1], 1) == first != refused(texts, 2)
    assert 10 <= len(first) <= 50


def test_meets_each_of_the_first_faults_once(openai_server: Serve) -> None:
    server = openai_server("Yes", once=["drop", "refusal"])
    replies = [ask(server, "?")[0] for _ in range(3)]
    assert isinstance(replies[0], InfrastructureError)
    assert [reply.finish_reason for reply in replies[1:]] == ["refusal", "stop"]


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ("malformed_verdict", lambda text: text.startswith("Sure!") and not text.endswith("}")),
        ("wrong_language", lambda text: not text.isascii()),
        ("off_menu", lambda text: json.loads(text)["score"] > 1000),
        ("off_menu", lambda text: json.loads(text)["level"] != "good"),
        ("off_menu", lambda text: json.loads(text)["reason"] == "because"),
        ("nan", lambda text: math.isnan(json.loads(text)["score"])),
    ],
)
def test_spoils_verdicts(fault: Any, check: Callable[[str], bool], openai_server: Serve) -> None:
    assert check(text_of(openai_server(VERDICT, faults={fault: 1.0})))


@pytest.mark.parametrize("fault", get_args(EndpointFault))
def test_every_fault_shows(fault: Any, openai_server: Serve) -> None:
    server = openai_server(VERDICT, faults={fault: 1.0})
    endpoint = ChatEndpoint(model="test-model", base_url=server.url, timeout=0.5)
    try:
        reply = asyncio.run(endpoint.complete([{"role": "user", "content": "?"}]))
    except InfrastructureError:
        pass
    else:
        whole = reply.finish_reason == "stop" and reply.text == json.dumps(VERDICT)
        assert not whole or reply.estimated
    assert server.faults == {fault: 1}


@pytest.mark.parametrize("stream", [False, True])
def test_makes_up_log_probabilities_of_the_text(stream: bool, openai_server: Serve) -> None:
    (reply,) = ask(openai_server(VERDICT), "?", logprobs=1, stream=stream)
    assert "".join(next(iter(token)) for token in reply.logprobs) == json.dumps(VERDICT)


def test_streams_what_it_answers_whole(openai_server: Serve) -> None:
    text = "  two  words\n\nand a line \n"
    server = openai_server(text)
    assert [ask(server, "?", stream=stream)[0].text for stream in (False, True)] == [text] * 2

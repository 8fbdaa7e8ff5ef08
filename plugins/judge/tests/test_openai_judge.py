"""The judge `openai`, against the test endpoint."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rewardhub_judge import OpenAIJudge

from rewardhub import InfrastructureError, JudgeReply
from rewardhub.testing import ChatAnswer, JudgeContract, OpenAIServer

Serve = Callable[..., OpenAIServer]
MESSAGES = [{"role": "user", "content": "Is 2 even?"}]
SCHEMA = {"type": "object", "properties": {"even": {"type": "boolean"}}, "required": ["even"]}


@pytest.fixture(scope="module")
def served() -> Iterator[OpenAIServer]:
    with OpenAIServer({"even": True}) as server:
        yield server


class TestOpenAIJudge(JudgeContract):
    schema = SCHEMA

    @pytest.fixture(autouse=True)
    def _server(self, served: OpenAIServer) -> None:
        self.url = served.url

    def make_judge(self) -> OpenAIJudge:
        return OpenAIJudge(
            model="test-model", base_url=self.url, prompt_price=1.0, completion_price=4.0
        )


def ask(server: OpenAIServer, options: dict[str, Any] | None = None, **how: Any) -> JudgeReply:
    made = OpenAIJudge(**{"model": "test-model", "base_url": server.url, **(options or {})})
    return asyncio.run(made.ask(MESSAGES, **how))


def test_asks_coldly_and_for_no_more_than_a_verdict(openai_server: Serve) -> None:
    server = openai_server("Yes")
    ask(server, seed=3)
    assert server.requests[0].body == {
        "model": "test-model", "messages": MESSAGES, "temperature": 0.0, "seed": 3,
        "max_completion_tokens": 2048,
    }  # fmt: skip


def test_leaves_out_what_some_models_refuse(openai_server: Serve) -> None:
    server = openai_server("Yes")
    ask(server, {"temperature": None})
    assert "temperature" not in server.requests[0].body


@pytest.mark.parametrize("structured", ["json_schema", "json_object", "prompt"])
def test_gives_the_json_of_its_reply(structured: str, openai_server: Serve) -> None:
    reply = ask(openai_server({"even": True}), {"structured": structured}, schema=SCHEMA)
    assert (reply.data, json.loads(reply.text)) == ({"even": True}, {"even": True})


@pytest.mark.parametrize(
    "text", ["Yes", '{"even": NaN}', '{"even": true', "[" * 100_000, '```json\n{"even": 1}\n```']
)
def test_gives_no_json_where_the_text_is_none(text: str, openai_server: Serve) -> None:
    reply = ask(openai_server(text), schema=SCHEMA)
    assert (reply.text, reply.data) == (text, None)


def test_tells_refusals_from_failures(openai_server: Serve) -> None:
    server = openai_server("Yes", once=["refusal", "server_error"])
    assert ask(server).finish_reason == "refusal"
    with pytest.raises(InfrastructureError, match="answered 500"):
        ask(server)
    assert server.counts.total() == 2, "it does not try again by itself"


def test_reasoning_is_no_part_of_the_verdict(openai_server: Serve) -> None:
    server = openai_server(ChatAnswer(text="Yes", reasoning="2 = 2 * 1"))
    assert ask(server).text == "Yes"


def test_its_identity_is_what_a_reply_depends_on() -> None:
    def identity(**options: Any) -> Any:
        return OpenAIJudge(**{"model": "m", "base_url": "http://host/v1", **options}).identity

    same: list[dict[str, Any]] = [
        {"api_key": "hidden"},
        {"base_url": "http://me:hidden@host/v1"},
        {"prompt_price": 1.0, "timeout": 5.0, "check_model": False},
    ]
    other: list[dict[str, Any]] = [
        {"model": "n"},
        {"base_url": "http://other/v1"},
        {"temperature": 1.0},
        {"top_p": 0.5},
        {"max_completion_tokens": 7},
        {"structured": "prompt"},
        {"extra_body": {"min_p": 0.1}},
    ]
    assert all(identity(**options) == identity() for options in same)
    assert len({json.dumps(dict(identity(**options))) for options in [{}, *other]}) == 8

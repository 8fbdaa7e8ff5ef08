"""Chat completions are read strictly: what is none is an error, and never half an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rewardhub.builtin.endpoints.reply import Gathered, gathered
from rewardhub.errors import InfrastructureError


def read(message: Any, **choice: Any) -> Gathered:
    body = {"choices": [{"message": message, "finish_reason": "stop", **choice}]}
    return gathered(json.dumps(body).encode())


@pytest.mark.parametrize(
    "body",
    [
        b"", b"null", b"[]", b"7", b'"text"', b"{}", b'{"choices": []}', b'{"choices": 7}',
        b'{"choices": [null]}', b'{"choices": [{"message": 7}]}', b"<html>",
        b'{"choices": [{"message": {"content": 7}}]}',
        b'{"choices": [{"message": {"tool_calls": [7]}}]}',
        b'{"choices": [{"message": {}, "logprobs": {"content": [{"token": "a"}]}}]}',
        b'{"error": {"message": "overloaded"}}',
    ],
)  # fmt: skip
def test_what_is_no_completion_is_an_error(body: bytes) -> None:
    with pytest.raises(InfrastructureError):
        gathered(body)


@pytest.mark.parametrize("finish", ["abort", "error", "something_new", None])
def test_an_answer_that_does_not_say_that_it_is_whole_is_an_error(finish: Any) -> None:
    with pytest.raises(InfrastructureError, match="no whole answer"):
        _ = read({"content": "Yes"}, finish_reason=finish).finish_reason


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("stop", "stop"), ("eos_token", "stop"), ("tool_calls", "stop"), ("max_tokens", "length")],
)
def test_finish_reasons_of_many_servers_are_known(finish: str, reason: str) -> None:
    assert read({"content": "Yes"}, finish_reason=finish).finish_reason == reason


def test_content_may_come_in_parts() -> None:
    parts = [{"type": "text", "text": "Yes"}, {"type": "text", "text": "!"}]
    assert read({"content": parts}).text == "Yes!"


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_is_told_apart(name: str) -> None:
    found = read({"content": "Yes", name: "hm"})
    assert (found.text, found.reasoning) == ("Yes", "hm")


def test_arguments_that_an_endpoint_parsed_are_text_again() -> None:
    call = {"id": "1", "function": {"name": "f", "arguments": {"a": 1}}}
    (made,) = read({"tool_calls": [call]}).tool_calls
    assert (made.arguments, made.parsed) == ('{"a": 1}', {"a": 1})


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 1}, {"prompt_tokens": -1}, 7])
def test_counts_that_are_none_are_not_taken(usage: Any) -> None:
    body = {"choices": [{"message": {"content": "Yes"}, "finish_reason": "stop"}], "usage": usage}
    assert gathered(json.dumps(body).encode()).counts is None

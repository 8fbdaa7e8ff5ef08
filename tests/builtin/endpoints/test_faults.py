"""What an endpoint's errors mean."""

from __future__ import annotations

import email.utils
import time
from typing import Any

import openai
import pytest

from rewardhub.builtin.endpoints.faults import fault_of, retry_after
from rewardhub.errors import InfrastructureError


def refused(status: int, message: str, code: str = "", inner: Any = None) -> Any:
    """Return what the SDK raises for a response with this status."""
    http: Any = pytest.importorskip("httpx2")
    request = http.Request("POST", "http://host/v1/chat/completions")
    body = {"message": message, "code": code, "innererror": inner}
    response = http.Response(status, request=request)
    return openai.APIStatusError(message, response=response, body=body)


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096",
        "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
        "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
        "the request exceeds the available context size, try increasing it",
        "prompt is too long: 208310 tokens > 200000 maximum",
        "Input is too long for requested model.",
        "The input token count (40000) exceeds the maximum number of tokens allowed (32768).",
    ],
)
def test_knows_how_servers_say_that_a_prompt_is_too_long(message: str) -> None:
    assert fault_of(refused(400, message), "it") == "context_length"


@pytest.mark.parametrize(
    ("code", "inner"),
    [
        ("content_filter", None),
        ("content_policy_violation", None),
        ("data_inspection_failed", None),
        ("", {"code": "ResponsibleAIPolicyViolation"}),
    ],
)
def test_knows_how_servers_say_that_a_filter_held_a_prompt(code: str, inner: Any) -> None:
    assert fault_of(refused(400, "Refused", code, inner), "it") == "content_filter"


@pytest.mark.parametrize("message", ["Unknown parameter: top_k", "max_tokens must be at least 1"])
def test_does_not_take_other_mistakes_for_that(message: str) -> None:
    meaning = fault_of(refused(400, message), "it")
    assert isinstance(meaning, InfrastructureError)
    assert not meaning.passing


@pytest.mark.parametrize(
    ("status", "message", "passing"),
    [
        (408, "", True), (409, "", True), (429, "slow down", True), (500, "", True),
        (502, "", True), (529, "overloaded", True), (401, "", False), (403, "", False),
        (404, "", False), (405, "", False),
        (429, "Request too large for model on tokens per min", False),
    ],
)  # fmt: skip
def test_tells_what_may_pass_from_what_does_not(status: int, message: str, passing: bool) -> None:
    meaning = fault_of(refused(status, message), "it")
    assert isinstance(meaning, InfrastructureError)
    assert meaning.passing == passing


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_reads_when_to_come_back(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_reads_when_to_come_back_from_a_date() -> None:
    date = email.utils.formatdate(time.time() + 100, usegmt=True)
    seconds = retry_after({"retry-after": date})
    assert seconds is not None
    assert 90 <= seconds <= 100
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0

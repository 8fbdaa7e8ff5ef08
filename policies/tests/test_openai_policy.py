import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest
from rewardhub_policies.attempts import attempt
from rewardhub_policies.budget import Budget
from rewardhub_policies.openai_policy import OpenAIPolicy

from rewardhub import (
    Environment,
    InfrastructureError,
    Message,
    Observation,
    Policy,
    Step,
    Task,
    ToolCall,
    Trajectory,
    Turn,
    UsageError,
)
from rewardhub.testing import ChatAnswer, ChatRequest, OpenAIServer, PolicyContract
from rewardhub.testing.policies import SECRET, contract_task

TASK = Task(
    id="sum",
    messages=(Message(role="user", content="1 + 1?"),),
    tools=({"name": "add", "parameters": {"type": "object"}},),
)


class Adds(Environment):
    """Answers each call with 2; a turn without calls is the last."""

    async def reset(self, task: Task) -> Turn:
        return Turn()

    async def act(self, step: Step, calls: Sequence[ToolCall]) -> Turn:
        seen = tuple(Observation(call_id=call.id, content="2") for call in calls)
        return Turn(observations=seen, done=not calls)

    async def close(self) -> None:
        pass


def policy_at(server: OpenAIServer, **options: Any) -> OpenAIPolicy:
    return OpenAIPolicy(model="test-model", base_url=server.url, **options)


def tried(
    answers: Any, task: Task = TASK, *, once: Sequence[Any] = (), **options: Any
) -> tuple[Trajectory, list[ChatRequest]]:
    """Return one attempt against these answers, and what the endpoint was asked."""
    with (
        OpenAIServer(answers, once=once) as server,
        closing(policy_at(server, **options)) as policy,
    ):
        made = asyncio.run(attempt(policy, task, Adds()))
    return made, server.requests


@pytest.fixture(scope="module")
def policy() -> Iterator[Policy]:
    with OpenAIServer("fine") as server, closing(policy_at(server)) as policy:
        policy.open()
        yield policy


class TestOpenAIPolicy(PolicyContract):
    def test_asks_nothing_that_only_graders_may_see(self) -> None:
        """Not one byte of a request comes from reference, checks or metadata."""
        _, requests = tried("fine", contract_task("first"))
        assert requests
        assert SECRET not in json.dumps([dict(request.body) for request in requests])


@pytest.mark.parametrize("stream", [True, False])
def test_works_through_the_endpoints_own_calls(stream: bool) -> None:
    answers = [ChatAnswer(text="I add.", tool_calls=[("add", '{"a":  1}')]), "It is 2."]
    made, requests = tried(answers, stream=stream)
    assert made.status == "completed"
    assert made.steps[0].tool_calls == (
        ToolCall(id="call_0", name="add", arguments='{"a":  1}', parsed={"a": 1}),
    )
    assert made.final_text == "It is 2."
    assert [act["finish"] for act in made.metadata["acts"]] == ["tool_calls", "stop"]
    assert requests[0].body["tools"][0]["function"]["name"] == "add"
    assert requests[1].body["messages"][1:] == [
        {
            "role": "assistant",
            "content": "I add.",
            "tool_calls": [
                {
                    "id": "call_0",
                    "type": "function",
                    "function": {"name": "add", "arguments": '{"a":  1}'},
                }
            ],
        },
        {"role": "tool", "content": "2", "tool_call_id": "call_0"},
    ]


def test_shows_the_model_what_it_wrote_where_that_is_no_json() -> None:
    answers = [ChatAnswer(tool_calls=[("", '{"a": ')]), "Sorry."]
    made, requests = tried(answers)
    call = made.steps[0].tool_calls[0]
    assert (call.name, call.arguments, call.parsed) == ("", '{"a": ', None)
    sent = requests[1].body["messages"][1]["tool_calls"][0]["function"]
    assert sent == {"name": "unknown", "arguments": '{"not_json": "{\\"a\\": "}'}


def test_gives_calls_ids_of_their_own_where_the_endpoint_repeats_itself() -> None:
    both = ChatAnswer(tool_calls=[("add", "{}"), ("add", "{}")])
    made, _ = tried([both, both, "done"])
    assert [call.id for call in made.tool_calls] == ["call_0", "call_1", "call00002", "call00003"]


def test_writes_calls_as_blocks_for_a_model_without_a_format() -> None:
    block = '```json\n{"name": "add", "arguments": {"a": 1}}\n```'
    made, requests = tried([f"I add.\n{block}", "It is 2."], calls="react")
    assert [(call.name, call.parsed) for call in made.tool_calls] == [("add", {"a": 1})]
    assert made.steps[0].text == "I add."
    assert all("tools" not in request.body for request in requests)
    assert '"name": "add"' in requests[0].body["messages"][0]["content"]
    assert requests[1].body["messages"][-1] == {"role": "user", "content": "Result of add:\n2"}


def test_reads_a_format_that_the_endpoint_leaves_in_the_text() -> None:
    raw = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
    made, requests = tried([raw, "It is 2."], calls="hermes")
    assert [call.name for call in made.tool_calls] == ["add"]
    assert "tools" in requests[0].body
    assert made.metadata["acts"][0]["raw"] == raw


def test_tells_reasoning_apart_and_does_not_send_it_back() -> None:
    answers = [
        ChatAnswer(text="<think>Sum.</think>I add.", tool_calls=[("add", "{}")]),
        "It is 2.",
    ]
    made, requests = tried(answers)
    assert (made.steps[0].reasoning, made.steps[0].text) == ("Sum.", "I add.")
    assert "reasoning_content" not in requests[1].body["messages"][1]
    _, requests = tried(answers, send_reasoning=True)
    assert requests[1].body["messages"][1]["reasoning_content"] == "Sum."


def test_records_what_each_turn_cost() -> None:
    made, _ = tried("one two three", prompt_price=1e6, completion_price=2e6)
    step, act = made.steps[0], made.metadata["acts"][0]
    assert step.tokens
    assert step.cost == act["prompt_tokens"] + 2 * step.tokens
    assert (made.tokens, made.cost) == (step.tokens, step.cost)


def test_asks_with_its_parameters_and_a_seed_for_each_turn_and_attempt() -> None:
    with OpenAIServer("ok") as server, closing(policy_at(server, top_p=0.9, stop=("#",))) as policy:
        asyncio.run(policy.sample(TASK.replace(tools=()), 3, seed=1))
        asyncio.run(policy.sample(TASK.replace(tools=()), 3, seed=1))
    bodies = [request.body for request in server.requests]
    assert len({body["seed"] for body in bodies}) == 3
    first = bodies[0]
    assert (first["temperature"], first["top_p"], first["stop"]) == (1.0, 0.9, ["#"])
    assert first["max_completion_tokens"] == 4096


def test_never_claims_to_be_repeatable() -> None:
    made, _ = tried("ok")
    assert made.metadata["repeatable"] is False
    assert made.metadata["sampling"]["history"] == "rerender"


@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [
        (ChatAnswer(text="cut", finish_reason="length"), "truncated", "its reply was cut off"),
        (ChatAnswer(text=""), "completed", ""),
    ],
)
def test_ends_as_the_answer_did(answer: ChatAnswer, status: str, reason: str) -> None:
    made, _ = tried(answer)
    assert (made.status, made.final_text) == (status, answer.text)
    assert reason in made.reason


def test_is_truncated_when_the_chat_is_too_long() -> None:
    made, _ = tried("ok", once=["context_length"])
    assert (made.status, made.final_text) == ("truncated", "")
    assert "no room was left" in made.reason


def test_asks_again_after_a_fault_that_may_pass() -> None:
    made, requests = tried("fine", once=["server_error", "drop"])
    assert made.final_text == "fine"
    assert len(requests) == 3


def test_breaks_an_attempt_whose_endpoint_fails_on() -> None:
    made, requests = tried("fine", once=["server_error"] * 9, retries=1)
    assert (made.status, made.fault) == ("broken", "infrastructure")
    assert "asked 2 times" in made.reason
    assert len(requests) == 2


def test_does_not_ask_again_with_a_key_that_is_refused() -> None:
    made, requests = tried("fine", once=["unauthorized"])
    assert (made.status, made.fault) == ("broken", "infrastructure")
    assert len(requests) == 1


def test_says_that_nobody_answers_where_no_attempt_began() -> None:
    with OpenAIServer("ok") as server:
        policy = policy_at(server, retries=0)
    with closing(policy), pytest.raises(InfrastructureError):
        asyncio.run(policy.sample(TASK.replace(tools=()), 2, seed=0))


def test_names_an_unknown_model_before_the_run() -> None:
    with OpenAIServer("ok") as server:
        policy = OpenAIPolicy(model="test-modle", base_url=server.url)
        with closing(policy), pytest.raises(UsageError, match="Did you mean `test-model`"):
            policy.open()


def test_pays_every_request_from_the_budget_and_stops_when_it_is_used_up() -> None:
    answer = ChatAnswer(text="word", prompt_tokens=20, completion_tokens=30)
    with OpenAIServer(answer) as server:
        policy = policy_at(server, max_new_tokens=50, retries=0)
        budget = Budget(max_tokens=2000)
        policy.spend_from(budget)
        with closing(policy):
            made = asyncio.run(policy.sample(TASK.replace(tools=()), 100, seed=0))
    broken = [each for each in made if each.status == "broken"]
    assert 0 < len(broken) < 100
    assert all("budget" in each.reason for each in broken)
    assert budget.tokens <= 2000
    assert len(server.requests) == 100 - len(broken)


def test_tells_versions_of_one_model_apart() -> None:
    assert OpenAIPolicy(model="m").version == "m"
    assert OpenAIPolicy(model="m", revision="step-40").version == "m@step-40"


def test_shows_no_key() -> None:
    make: Callable[..., OpenAIPolicy] = OpenAIPolicy
    policy = make(model="m", api_key="s3cret")
    assert "s3cret" not in repr(policy)
    assert "s3cret" not in json.dumps(dict(policy.sampling))

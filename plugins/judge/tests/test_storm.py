"""Five hundred calls at once, and the endpoint breaks: limits hold, nothing is asked twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from rewardhub_judge import OpenAIJudge

from rewardhub import (
    Cache,
    Engine,
    Grader,
    GraderCard,
    Judge,
    JudgeCard,
    Reward,
    Score,
    Trajectory,
    registry_of,
)
from rewardhub.testing import ChatAnswer, ChatRequest, OpenAIServer, make_trajectory

Serve = Callable[..., OpenAIServer]

CALLS = 500
USED = 60
"""Tokens of each answer, as the endpoint counts them."""

DEADLINE = 10.0
"""Far longer than an answer takes, so that nothing but the stall reaches it."""

SCHEMA = {"type": "object", "properties": {"score": {"type": "number"}}, "required": ["score"]}
TRIED_AGAIN = {"server_error", "overloaded", "rate_limit", "drop", "truncated_body", "stall"}


class Asks(Grader):
    """Takes the score that the judge gives, and asks again where its reply is none."""

    async def grade(self, trajectory: Trajectory, judge: Judge) -> Score:
        chat = [{"role": "user", "content": f"Grade: {trajectory.final_text}"}]
        for _ in range(3):
            reply = await judge.ask(chat, schema=SCHEMA)
            if isinstance(reply.data, dict):
                METERS.append(judge.meter)  # type: ignore[attr-defined]
                return Score.of(reply.data["score"])
            chat += [
                {"role": "assistant", "content": reply.text},
                {"role": "user", "content": "JSON!"},
            ]
        return Score.fail("no verdict", fault="infrastructure", evidence={"passing": False})


METERS: list[Any] = []


def answer(request: ChatRequest) -> ChatAnswer:
    share = len(request.text) % 4 / 4
    text = f'{{"score": {share}}}'
    return ChatAnswer(text=text, prompt_tokens=USED - 10, completion_tokens=10)


def run(
    server: OpenAIServer, texts: Sequence[str], *, cache: Path | None = None, **more: Any
) -> list[Reward]:
    only = more.pop("judge_cache_only", False)
    judge = {
        "use": "openai", "model": "test-model", "base_url": server.url,
        "max_completion_tokens": 50, "check_model": False, "deadline": DEADLINE, **more,
    }  # fmt: skip
    spec = {
        "rewardhub": 1,
        "name": "storm",
        "range": [0, 1],
        "resources": {"judge": judge},
        "stages": [{"name": "outcome", "graders": [{"use": "test/asks"}]}],
    }
    registry = registry_of(
        GraderCard(name="test/asks", grader=Asks, deterministic=False),
        JudgeCard(name="openai", judge=OpenAIJudge),
    )
    METERS.clear()
    kept = False if cache is None else Cache(cache / "scores.sqlite")
    with Engine(spec, registry=registry, cache=kept, judge_cache_only=only) as engine:
        return list(engine.score_all(make_trajectory(text) for text in texts))


def tokens_of(server: OpenAIServer) -> int:
    """Return how many tokens the endpoint gave out."""
    unanswered = TRIED_AGAIN - {"truncated_body"}
    return USED * sum(request.fault not in unanswered for request in server.requests)


def test_every_attempt_gets_a_score_and_nothing_is_asked_twice(
    openai_server: Serve, tmp_path: Path
) -> None:
    server = openai_server(
        answer,
        faults={
            "server_error": 0.02,
            "drop": 0.02,
            "rate_limit": 0.01,
            "malformed_verdict": 0.02,
        },
        once=["stall"],
        delay=0.01,
    )
    texts = [f"{n % (CALLS - 50)}" for n in range(CALLS)]  # fifty are asked by two at once
    rewards = run(server, texts, cache=tmp_path, max_concurrency=32)

    assert len(rewards) == CALLS
    assert {reward.status for reward in rewards} == {"scored"}
    assert [reward.value for reward in rewards] == [rewards[int(text)].value for text in texts], (
        "those who ask the same get the same"
    )
    assert server.faults.keys() == {
        "server_error", "drop", "rate_limit", "malformed_verdict", "stall",
    }  # fmt: skip
    assert 1 < server.peak <= 32
    assert METERS[0].calls == server.counts.total()
    faults = Counter(each.digest for each in server.requests if each.fault in TRIED_AGAIN)
    assert {
        digest: count for digest, count in server.counts.items() if count != 1 + faults[digest]
    } == {}
    assert len(server.counts) == CALLS - 50 + server.faults["malformed_verdict"]

    again = run(server, texts, cache=tmp_path, max_calls=1)
    assert [reward.value for reward in again] == [reward.value for reward in rewards]
    assert METERS[0].calls == 0
    server.close()
    replayed = run(server, texts, cache=tmp_path, judge_cache_only=True)
    assert [reward.value for reward in replayed] == [reward.value for reward in rewards]


@pytest.mark.parametrize(
    ("budget", "amount"), [("max_calls", 120), ("max_tokens", 20_000), ("max_cost", 0.02)]
)
def test_budgets_hold_to_the_last_call(budget: str, amount: float, openai_server: Serve) -> None:
    server = openai_server(answer, faults={"server_error": 0.05})
    rewards = run(
        server, [f"{n}" for n in range(CALLS)], max_concurrency=100, prompt_price=1.0,
        completion_price=1.0, **{budget: amount},
    )  # fmt: skip
    assert len(rewards) == CALLS
    unscored = [reward for reward in rewards if reward.value is None]
    assert {reward.fault for reward in unscored} == {"infrastructure"}
    assert all(f"{budget} is {amount}" in reward.reason for reward in unscored)
    tokens, meter = tokens_of(server), METERS[0]
    assert meter.calls == server.counts.total()
    assert meter.used.prompt_tokens + meter.used.completion_tokens == tokens
    spent = {"max_calls": server.counts.total(), "max_tokens": tokens, "max_cost": tokens / 1e6}
    assert spent[budget] <= amount
    # A further call might have passed the budget: it is held, and not more than held.
    most = {"max_calls": 1.0, "max_tokens": 1000.0, "max_cost": 0.001}
    assert spent[budget] + most[budget] > amount

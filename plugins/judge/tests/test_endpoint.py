"""The graders with a real endpoint behind the engine: faults, cache, limits, panels."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import rewardhub_judge
from rewardhub_judge.asking import NEUTRAL

from rewardhub import Cache, Engine, Part, Reward, Score
from rewardhub.testing import ChatAnswer, ChatRequest, OpenAIServer, make_trajectory, registry_of

Serve = Callable[..., OpenAIServer]
AGREES = {"reason": "so", "verdict": "agrees"}
NOTHING = {"reason": "so", "verdict": "no answer"}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")


def spec(server: OpenAIServer, use: str = "judge/reference", **fields: Any) -> dict[str, Any]:
    judge = {"use": "openai", "model": "test-model", "base_url": server.url, "retries": 0}
    judges = fields.pop("judges", {"judge": judge | fields.pop("judge", {})})
    return {
        "rewardhub": 1,
        "name": "test/judged",
        "version": 1,
        "range": [0, 1],
        "success": "judged == 1",
        "resources": judges,
        "stages": [
            {
                "name": "outcome",
                "graders": [{"use": use, "as": "judged", "options": fields.pop("options", {})}],
                **fields,
            }
        ],
    }


def engine(source: Mapping[str, Any], folder: Path | None = None) -> Engine:
    cache = Cache(folder / "scores.sqlite") if folder is not None else False
    return Engine(source, registry=registry_of(rewardhub_judge), cache=cache)


def score_of(reward: Reward) -> Score:
    (part,) = reward.parts
    assert isinstance(part, Part)
    assert part.score is not None
    return part.score


def attempt(answer: str = "It is four.", number: int = 0) -> Any:
    return make_trajectory(answer, prompt=f"What is {number} + 4?", reference="4", group=answer)


def neutral_only(request: ChatRequest) -> Any:
    """A judge that gives a verdict on a neutral answer, and on no other."""
    return NOTHING if NEUTRAL in request.text else "I would say that it looks fine: 9 out of 10."


def test_grades_over_an_endpoint(openai_server: Serve) -> None:
    server = openai_server(AGREES)
    with engine(spec(server)) as running:
        score = score_of(running.score(attempt()))
    assert score.value == 1.0
    assert score.metrics["prompt_tokens"] > 0
    assert score.evidence["judge"]["model"] == "test-model"
    asked = server.requests[0].body
    assert asked["response_format"]["json_schema"]["schema"]["required"] == ["reason", "verdict"]


@pytest.mark.parametrize(
    "fault", ["malformed_verdict", "wrong_language", "off_menu", "nan", "refusal", "length"]
)
def test_a_bad_reply_is_asked_about_again(openai_server: Serve, fault: str) -> None:
    server = openai_server(AGREES, once=[fault])
    with engine(spec(server)) as running:
        score = score_of(running.score(attempt()))
    assert score.value == 1.0
    assert score.metrics["judge_calls"] == 2


@pytest.mark.parametrize("fault", ["content_filter", "content_filter_error", "context_length"])
def test_a_filter_and_a_context_that_is_too_small_go_to_the_control(
    openai_server: Serve, fault: str
) -> None:
    server = openai_server(NOTHING, once=[fault])
    with engine(spec(server)) as running:
        score = score_of(running.score(attempt()))
    assert (score.status, score.value) == ("graded", 0.0)
    assert score.reason.startswith("no verdict could be got on this answer")
    assert NEUTRAL in server.requests[1].text


@pytest.mark.parametrize(
    "fault", ["server_error", "rate_limit", "drop", "malformed_body", "truncated_body", "quota"]
)
def test_an_endpoint_that_breaks_is_infrastructure_and_never_a_number(
    openai_server: Serve, fault: str
) -> None:
    server = openai_server(AGREES, faults={fault: 1.0})
    with engine(spec(server)) as running:
        reward = running.score(attempt())
    assert reward.value is None
    assert score_of(reward).fault == "infrastructure"


def test_a_judge_that_never_gives_a_verdict_failed(openai_server: Serve) -> None:
    server = openai_server(AGREES, faults={"wrong_language": 1.0})
    with engine(spec(server)) as running:
        score = score_of(running.score(attempt()))
    assert (score.status, score.fault) == ("failed", "grader")


def test_every_trajectory_ends_with_a_score_and_nothing_is_asked_twice(
    openai_server: Serve, tmp_path: Path
) -> None:
    server = openai_server(AGREES, faults={"malformed_verdict": 0.06, "refusal": 0.06, "nan": 0.06})
    attempts = [attempt(f"Answer {n}.", n) for n in range(80)]
    with engine(spec(server), tmp_path) as running:
        scores = [score_of(reward) for reward in running.score_all(attempts)]
    assert {score.status for score in scores} == {"graded"}
    assert set(server.counts.values()) == {1}
    assert len(server.requests) == sum(score.metrics["judge_calls"] for score in scores)
    assert sum(server.faults.values()) > 0


def test_a_second_run_asks_nothing_and_gives_the_same_values(
    openai_server: Serve, tmp_path: Path
) -> None:
    answers = [AGREES, NOTHING]
    prices = {"prompt_price": 1.0, "completion_price": 1.0}
    server = openai_server(lambda request: answers[len(request.text) % 2])
    attempts = [attempt("It is " + "4" * n, n) for n in range(12)]
    runs: list[list[Score]] = []
    for _ in range(2):
        with engine(spec(server, judge=prices), tmp_path) as running:
            runs.append([score_of(reward) for reward in running.score_all(attempts)])
    assert [score.value for score in runs[0]] == [score.value for score in runs[1]]
    assert len(server.requests) == 12
    assert all(score.cost > 0 for score in runs[0])
    assert all(score.cost == 0 for score in runs[1])
    assert all(score.metrics["judge_cached"] == 1 for score in runs[1])


def test_siblings_share_the_control_of_their_task(openai_server: Serve, tmp_path: Path) -> None:
    server = openai_server(neutral_only)
    attempts = [attempt(f"Answer {n}.") for n in range(8)]
    with engine(spec(server), tmp_path) as running:
        scores = [score_of(reward) for reward in running.score_all(attempts)]
    assert [score.value for score in scores] == [0.0] * 8
    assert sum(NEUTRAL in request.text for request in server.requests) == 1


def test_the_expectation_reads_the_log_probabilities_of_the_endpoint(
    openai_server: Serve,
) -> None:
    text = json.dumps({"reason": "so", "verdict": "agrees"})
    server = openai_server(ChatAnswer(text=text))
    with engine(spec(server, options={"expectation": True})) as running:
        score = score_of(running.score(attempt()))
    assert score.value == 1.0
    assert score.metrics["outside"] == pytest.approx(0.01, abs=0.001)


def winner(request: ChatRequest) -> Any:
    """Prefer the longer answer, whatever the order."""
    first, second = re.findall(r"(?m)^\[(?:first|second) answer \w+\]\n(.*)$", request.text)
    more = len(first) - len(second)
    return {"reason": "so", "winner": "first" if more > 0 else "second" if more < 0 else "tie"}


def test_compares_a_group_with_an_endpoint(openai_server: Serve) -> None:
    server = openai_server(winner)
    attempts = [make_trajectory("x" * n, prompt="Write much.", group="g") for n in (2, 4, 1, 3)]
    with engine(spec(server, "judge/pairwise")) as running:
        values = [reward.value for reward in running.score_all(attempts)]
    assert values == pytest.approx([1 / 3, 1.0, 0.0, 2 / 3])
    assert len(server.requests) == 12


def test_a_panel_has_every_judge_of_the_spec_by_name(openai_server: Serve) -> None:
    yes, no = openai_server(AGREES), openai_server(NOTHING)
    judges = {
        name: {"use": "openai", "model": "test-model", "base_url": server.url}
        for name, server in (("small", yes), ("large", yes), ("strict", no))
    }
    source = spec(
        yes, "judge/panel", judges=judges, options={"asks": "reference", "rule": "majority"}
    )
    with engine(source) as running:
        score = score_of(running.score(attempt()))
    assert score.value == 1.0
    votes = {name: each["vote"] for name, each in score.evidence["jurors"].items()}
    assert votes == {"small": 1.0, "large": 1.0, "strict": 0.0}


def test_a_panel_has_the_judges_that_the_entry_binds(openai_server: Serve) -> None:
    yes, no = openai_server(AGREES), openai_server(NOTHING)
    judges = {
        name: {"use": "openai", "model": "test-model", "base_url": server.url}
        for name, server in (("kind", yes), ("strict", no))
    }
    source = spec(yes, "judge/panel", judges=judges, options={"asks": "reference"})
    source["stages"][0]["graders"][0]["bind"] = {"judges": ["strict"]}
    with engine(source) as running:
        score = score_of(running.score(attempt()))
    assert (score.value, len(yes.requests)) == (0.0, 0)

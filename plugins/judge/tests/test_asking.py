"""The verdict protocol, by `judge/reference`: what is asked, how often, and what becomes of it."""

from collections.abc import Callable
from typing import Any

import pytest
from rewardhub_judge.asking import NEUTRAL
from rewardhub_judge.reference import Reference

from rewardhub import GraderCard, InfrastructureError, JudgeReply, Score, Usage
from rewardhub.testing import FakeJudge, fake_judge, make_trajectory
from rewardhub.testing.bench import Bench

Graded = Callable[..., tuple[Score, FakeJudge]]

AGREES = {"reason": "it is 4", "verdict": "agrees"}
NOTHING = {"reason": "nothing is said", "verdict": "no answer"}
NAME = "judge/reference"
USED = Usage(prompt_tokens=100, completion_tokens=10, cost=0.5)


def ended(reason: Any, text: str = "") -> JudgeReply:
    return JudgeReply(text=text, finish_reason=reason)


def test_asks_once_where_the_reply_is_a_verdict(graded: Graded) -> None:
    score, judge = graded(NAME, "It is four.", [AGREES])
    assert (score.value, len(judge.asked)) == (1.0, 1)
    assert judge.asked[0].schema is not None


@pytest.mark.parametrize(
    "reply",
    [
        "It agrees.",
        "Die Antwort stimmt mit der Referenz \u00fcberein.",
        '{"reason": "x", "verdict": "mostly agrees"}',
        '{"reason": "x", "verdict": 1}',
        '{"reason": "x", "verdict": NaN}',
        '{"reason": "x", "verdict": "agrees", "confidence": 0.9}',
        '{"verdict": "agrees"}',
        "",
        '{"reason": "x", "verd',
    ],
)
def test_asks_again_in_the_same_chat_with_the_error(graded: Graded, reply: str) -> None:
    score, judge = graded(NAME, "It is four.", [reply, AGREES])
    assert score.value == 1.0
    first, second = judge.asked
    assert second.messages[: len(first.messages)] == first.messages
    assistant, user = second.messages[len(first.messages) :]
    assert assistant == {"role": "assistant", "content": reply or "(no reply)"}
    assert user["content"].startswith("That reply was not accepted: ")


def test_the_error_is_the_exact_one(graded: Graded) -> None:
    _, judge = graded(NAME, "Four.", ['{"reason": "x", "verdict": "yes"}', AGREES])
    assert (
        "`verdict`: Input should be 'agrees', 'partly', 'contradicts' or 'no answer'"
        in (judge.asked[1].messages[-1]["content"])
    )


def test_asks_again_at_most_twice_and_then_the_control(graded: Graded) -> None:
    score, judge = graded(NAME, "Gibberish of the policy.", ["a", "b", "c", NOTHING])
    assert len(judge.asked) == 4
    control = judge.asked[3]
    assert len(control.messages) == len(judge.asked[0].messages)
    assert NEUTRAL in control.text
    assert "Gibberish" not in control.text
    assert (score.status, score.value) == ("graded", 0.0)
    assert score.reason.startswith("no verdict could be got on this answer: ")
    assert score.evidence["no_verdict"] is True
    assert len(score.evidence["tries"]) == 3


def test_a_judge_that_gives_none_on_the_neutral_answer_either_failed(graded: Graded) -> None:
    score, judge = graded(NAME, "It is four.", ["a", "b", "c", "d"])
    assert len(judge.asked) == 4
    assert (score.status, score.fault) == ("failed", "grader")
    assert "none on a neutral answer either" in score.reason
    assert score.evidence["usage"]["judge_calls"] == 4


@pytest.mark.parametrize("reason", ["content_filter", "context_length"])
def test_what_asking_again_cannot_mend_goes_straight_to_the_control(
    graded: Graded, reason: str
) -> None:
    score, judge = graded(NAME, "Something nasty.", [ended(reason), NOTHING])
    assert (score.value, len(judge.asked)) == (0.0, 2)
    assert NEUTRAL in judge.asked[1].text


@pytest.mark.parametrize("reason", ["refusal", "length"])
def test_a_refusal_and_a_reply_cut_off_are_asked_again(graded: Graded, reason: str) -> None:
    score, judge = graded(NAME, "It is four.", [ended(reason), AGREES])
    assert (score.value, len(judge.asked)) == (1.0, 2)


def test_a_reply_cut_off_is_no_verdict_even_if_it_parses(graded: Graded) -> None:
    whole = '{"reason": "x", "verdict": "agrees"}'
    score, judge = graded(NAME, "It is four.", [ended("length", whole), NOTHING])
    assert (score.value, len(judge.asked)) == (0.0, 2)


@pytest.mark.parametrize("reason", ["content_filter", "context_length", "refusal", "length"])
def test_a_control_that_ends_so_means_that_the_judge_failed(graded: Graded, reason: str) -> None:
    score, _ = graded(NAME, "It is four.", ["a", "b", "c", ended(reason)])
    assert (score.status, score.fault) == ("failed", "grader")


def test_the_control_is_asked_once_for_each_task() -> None:
    judge = fake_judge(["a", "b", "c", NOTHING, "d", "e", "f", "g", "h", "i", NOTHING])
    card = GraderCard(name="test/reference", grader=Reference)
    with Bench(card, Reference()) as bench:
        runner = bench.runner({"judge": judge})
        same = [make_trajectory(text, prompt="2 + 2?", reference="4") for text in ("x", "y")]
        other = make_trajectory("x", prompt="3 + 3?", reference="6")
        scores = bench.grade(runner, [*same, other])
    assert [score.value for score in scores] == [0.0, 0.0, 0.0]
    assert [NEUTRAL in question.text for question in judge.asked] == [
        *(False, False, False, True),
        *(False, False, False),
        *(False, False, False, True),
    ]


def test_an_endpoint_that_broke_is_infrastructure(graded: Graded) -> None:
    score, _ = graded(NAME, "It is four.", [InfrastructureError("nobody answers")])
    assert (score.status, score.fault) == ("failed", "infrastructure")


def test_an_endpoint_that_broke_at_the_control_says_nothing_of_the_answer(graded: Graded) -> None:
    score, _ = graded(NAME, "It is 4!", ["a", "b", "c", InfrastructureError("nobody answers")])
    assert (score.status, score.fault) == ("failed", "infrastructure")


def test_counts_the_usage_of_every_reply(graded: Graded) -> None:
    text = '{"reason": "x", "verdict": "agrees"}'
    replies = [
        JudgeReply(text="no", usage=USED),
        JudgeReply(text="no", usage=USED, cached=True),
        JudgeReply(text=text, usage=USED),
    ]
    score, _ = graded(NAME, "It is four.", replies)
    assert score.metrics["judge_calls"] == 3
    assert score.metrics["judge_cached"] == 1
    assert score.metrics["prompt_tokens"] == 300
    assert score.metrics["completion_tokens"] == 30
    assert score.cost == 1.0, "a reply that was kept costs nothing now"


def test_says_who_judged_by_which_prompt(graded: Graded) -> None:
    score, judge = graded(NAME, "It is four.", [AGREES])
    assert score.evidence["judge"] == judge.identity
    assert score.evidence["template"]["version"] == "1"
    assert len(score.evidence["template"]["digest"]) == 64
    assert score.evidence["verdict"] == AGREES

from collections.abc import Callable, Sequence

import pytest
from rewardhub_judge.asking import NEUTRAL

from rewardhub import JudgeReply, Score, Usage
from rewardhub.testing import FakeJudge, fake_judge, make_trajectory
from rewardhub.testing.bench import Bench

Compared = Callable[..., tuple[list[Score], FakeJudge]]
NAME = "judge/rank"


def said(*ranking: int) -> dict[str, object]:
    return {"reason": "so", "ranking": list(ranking)}


def order_of(judge: FakeJudge, question: int, answers: Sequence[str]) -> list[str]:
    text = judge.asked[question].messages[1]["content"]
    return sorted(answers, key=lambda answer: text.index(f"\n{answer}\n"))


def test_what_both_rankings_agree_on_is_a_win(compared: Compared) -> None:
    answers = ["ant", "bee", "cow"]
    # The second order is the reverse of the first: the same ranking has the numbers turned round.
    scores, judge = compared(NAME, answers, [said(1, 2, 3), said(3, 2, 1)])
    shown = order_of(judge, 0, answers)
    assert order_of(judge, 1, answers) == shown[::-1]
    by_answer = dict(zip(answers, scores, strict=True))
    assert [by_answer[answer].value for answer in shown] == [1.0, 0.5, 0.0]


def test_rankings_that_follow_the_place_are_ties(compared: Compared) -> None:
    scores, _ = compared(NAME, ["ant", "bee", "cow"], [said(1, 2, 3), said(1, 2, 3)])
    assert [score.value for score in scores] == [0.5, 0.5, 0.5]


def test_asks_two_questions_however_many_answers_there_are(compared: Compared) -> None:
    numbers = list(range(1, 7))
    answers = [f"answer {n}" for n in numbers]
    _, judge = compared(NAME, answers, [said(*numbers), said(*numbers[::-1])])
    assert len(judge.asked) == 2


@pytest.mark.parametrize("ranking", [(1, 2), (1, 2, 2), (0, 1, 2), (1, 2, 3, 4)])
def test_a_ranking_has_each_number_exactly_once(compared: Compared, ranking: Sequence[int]) -> None:
    replies = [said(*ranking), said(3, 2, 1), said(1, 2, 3)]
    scores, judge = compared(NAME, ["a", "b", "c"], replies)
    assert len(judge.asked) == 3
    assert all(score.status == "graded" for score in scores)
    told = [question.messages[-1]["content"] for question in judge.asked]
    assert any("each of the numbers 1 to 3 exactly once" in text for text in told)


def test_equal_texts_are_ranked_once_and_tie(compared: Compared) -> None:
    scores, judge = compared(NAME, ["a", "a", "b"], [said(1, 2), said(2, 1)])
    assert scores[0].value == scores[1].value
    assert "numbers 1 to 2" in judge.asked[0].text


@pytest.mark.parametrize(("answers", "expected"), [(["a"], [0.5]), (["a", ""], [1.0, 0.0])])
def test_one_answer_is_not_asked_about(
    compared: Compared, answers: list[str], expected: list[float]
) -> None:
    scores, judge = compared(NAME, answers, [])
    assert ([score.value for score in scores], len(judge.asked)) == (expected, 0)


def test_where_no_ranking_can_be_got_the_answers_meet_in_pairs(compared: Compared) -> None:
    over = JudgeReply(text="", finish_reason="context_length")
    won = [{"reason": "x", "winner": "first"}, {"reason": "x", "winner": "second"}]
    scores, judge = compared(NAME, ["a", "b"], [over, said(1, 2), over, *won])
    assert [score.value for score in scores] == [1.0, 0.0]
    assert judge.asked[1].text.count(NEUTRAL) == 2


def test_a_judge_that_ranks_no_neutral_answers_failed(compared: Compared) -> None:
    over = JudgeReply(text="", finish_reason="context_length")
    scores, judge = compared(NAME, ["a", "b"], [over] * 3)
    assert [(score.status, score.fault) for score in scores] == [("failed", "grader")] * 2
    assert len(judge.asked) == 3


def test_usage_is_shared_out(compared: Compared) -> None:
    used = Usage(prompt_tokens=30, cost=0.3)
    replies = [
        JudgeReply(text=f'{{"reason": "x", "ranking": {ranking}}}', usage=used)
        for ranking in ([1, 2, 3], [3, 2, 1])
    ]
    scores, _ = compared(NAME, ["a", "b", "c"], replies)
    assert sum(score.cost for score in scores) == pytest.approx(0.6)
    assert [score.metrics["prompt_tokens"] for score in scores] == pytest.approx([20, 20, 20])


def test_both_prompts_are_part_of_the_identity(cards) -> None:  # type: ignore[no-untyped-def]
    identity = cards[NAME].grader().identity
    assert identity["template"] != identity["pair_template"]


def test_siblings_are_shown_in_the_same_order_whenever_they_come(cards) -> None:  # type: ignore[no-untyped-def]
    card = cards[NAME]
    members = [make_trajectory(text, prompt="?") for text in ("ant", "bee", "cow")]
    asked: list[str] = []
    for _ in range(2):
        judge = fake_judge([said(1, 2, 3), said(3, 2, 1)])
        with Bench(card, card.grader()) as bench:
            bench.grade(bench.runner({"judge": judge}), members)
        asked.append(judge.asked[0].text)
    assert asked[0] == asked[1]

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewardhub_rules.instructions import InstructionList, Instructions, loosened
from rewardhub_rules.instructions.grader import _Key

from rewardhub import GraderCard, Score
from rewardhub.testing import grade, make_trajectory

CARD = GraderCard(
    name="rules/instructions",
    grader=Instructions,
    reads=("final_text",),
    checks={"instructions": InstructionList},
)
NO_COMMA = {"id": "punctuation:no_comma"}
CAT = {"id": "keywords:existence", "kwargs": {"keywords": ["cat"]}}
WORDS = {
    "id": "length_constraints:number_words",
    "kwargs": {"num_words": 4, "relation": "at least"},
}


def mark(text: str, *listed: Any, checks: Any = None, **options: Any) -> Score:
    asked = {"instructions": list(listed) if checks is None else checks}
    return grade(CARD, make_trajectory(text, checks=asked), options=options)


def test_gives_1_only_if_all_are_followed() -> None:
    assert mark("The cat sat down", NO_COMMA, CAT, WORDS).value == 1
    assert mark("The cat sat", NO_COMMA, CAT, WORDS).value == 0


def test_gives_the_share_that_is_followed() -> None:
    assert mark("The cat sat", NO_COMMA, CAT, WORDS, value="share").value == pytest.approx(2 / 3)


def test_says_of_each_instruction_whether_and_why_not() -> None:
    score = mark("The cat sat", CAT, WORDS)
    assert score.metrics == {"followed": 1, "total": 2}
    assert score.evidence["instructions"][1] == {
        "id": "length_constraints:number_words",
        "followed": False,
        "why": "3 words, at least 4 asked",
    }
    assert score.reason == (
        "1 of 2 followed; length_constraints:number_words: 3 words, at least 4 asked"
    )


@pytest.mark.parametrize("text", ["", " \n"])
@pytest.mark.parametrize("mode", ["strict", "loose"])
def test_an_empty_answer_follows_nothing(text: str, mode: str) -> None:
    score = mark(text, NO_COMMA, CAT, mode=mode, value="share")
    assert (score.value, score.metrics["followed"]) == (0, 0)


@pytest.mark.parametrize("text", ["Sure, here:\nThe cat", "The cat\nYes, so", "a,\nThe cat\nb,"])
def test_loose_leaves_the_first_and_the_last_line_out(text: str) -> None:
    assert mark(text, NO_COMMA).value == 0
    assert mark(text, NO_COMMA, mode="loose").value == 1


def test_loose_leaves_asterisks_out() -> None:
    end = {"id": "startend:end_checker", "kwargs": {"end_phrase": "the end."}}
    assert mark("It is **the end.**", end).value == 0
    assert mark("It is **the end.**", end, mode="loose").value == 1


def test_reads_a_text_in_eight_ways_at_most() -> None:
    assert len(loosened("*a*\n*b*\n*c*\n*d*")) == 8
    assert loosened("a") == ("a",)


@given(st.text(max_size=60))
def test_loose_never_asks_more_than_strict(text: str) -> None:
    readings = loosened(text)
    assert not text.strip() or readings[0] == text
    assert all(reading.strip() for reading in readings)


@pytest.mark.parametrize(
    ("checks", "reason"),
    [
        ([{"id": "keywords:existance"}], "Did you mean `keywords:existence`"),
        ([CAT, {"id": "keywords:existence"}], "1 (`keywords:existence`): it needs the kwarg"),
        ([{"id": "count:numbers", "kwargs": {"N": "3"}}], "a whole number is needed"),
        ([], "lists no instruction"),
        ("cat", "it is a list of"),
    ],
)
def test_abstains_from_what_cannot_be_checked(checks: Any, reason: str) -> None:
    score = mark("The cat sat down", checks=checks)
    assert (score.status, score.fault) == ("abstained", "task")
    assert reason in score.reason


def test_abstains_without_instructions() -> None:
    score = grade(CARD, make_trajectory("The cat"))
    assert (score.status, score.fault) == ("abstained", "task")


def test_equal_numbers_of_other_types_are_other_kwargs() -> None:
    grader = Instructions()
    assert grader._instruction("count:numbers", _Key({"N": 1})).check("1").followed
    with pytest.raises(ValueError, match="whole number"):
        grader._instruction("count:numbers", _Key({"N": True}))


def test_an_instruction_is_built_once_for_equal_kwargs() -> None:
    grader = Instructions()
    first, second = (
        grader._instruction("keywords:existence", _Key({"keywords": ["cat"]})) for _ in range(2)
    )
    assert first is second


def test_threads_share_a_grader() -> None:
    texts = [f"The cat sat down {'again, ' * (number % 3)}" for number in range(60)]
    alone = [mark(text, NO_COMMA, CAT, WORDS, value="share").value for text in texts]
    found: list[list[float | None]] = []

    def run() -> None:
        found.append([mark(text, NO_COMMA, CAT, WORDS, value="share").value for text in texts])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 4

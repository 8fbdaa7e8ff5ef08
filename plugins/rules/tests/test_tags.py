from typing import Any

import pytest
import rewardhub_rules
from hypothesis import given
from hypothesis import strategies as st

from rewardhub import RecordError, Score, normalise
from rewardhub.testing import grade, make_trajectory, registry_of

CARD = registry_of(rewardhub_rules).grader("rules/tags").card
WRITTEN = [
    "<think>6 * 7</think><answer>42</answer>",
    "<think>\n6 * 7\n</think>\n\n<answer>42</answer>\n",
    "<think>6 * 7</think>42",
    "<think>6 * 7",
    "<answer>42</answer>",
    "<think></think><answer>42</answer>",
    "<think>6 * 7</think>So: <answer>42</answer>",
    "<think>6 * 7</think><answer>42",
]


def score(reply: Any, **options: Any) -> Score:
    status = options.pop("status", "completed")
    return grade(CARD, make_trajectory(reply, status=status), options=options)


@pytest.mark.parametrize("written", WRITTEN)
def test_gives_the_same_whether_a_reader_split_the_reasoning_off_or_not(written: str) -> None:
    split = normalise(written)
    step = {"text": split.text, "reasoning": split.reasoning}
    status = "truncated" if split.truncated else "completed"
    assert score([step], status=status).value == score(written).value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("42", "there is no <think>; there is no <answer>"),
        ("<think>a</think><answer>b", "<answer> is never closed"),
        ("<think>a</think></answer>b<answer>", "<answer> is never closed"),
        ("<think>a</think><answer>\n</answer>", "<answer> is empty"),
        ("<think>a</think><answer>b</answer><answer>c</answer>", "<answer> is there 2 times"),
        (
            "<answer>b</answer><think>a</think>",
            "the tags stand as <answer></answer><think></think>",
        ),
        (
            "<think>a<answer>b</think></answer>",
            "the tags stand as <think><answer></think></answer>",
        ),
        ("<think>a</think>x<answer>b</answer>", "there is text outside of the tags"),
        ("<think>a</think><answer>b</answer>.", "there is text outside of the tags"),
        ("<Think>a</Think><answer>b</answer>", "there is no <think>"),
        ("<think x=1>a</think><answer>b</answer>", "there is no <think>"),
    ],
)
def test_says_what_is_wrong(text: str, reason: str) -> None:
    made = score(text)
    assert (made.value, made.reason) == (0, reason)


def test_an_answer_inside_the_reasoning_is_no_answer() -> None:
    step = {"text": "", "reasoning": "<answer>42</answer>"}
    assert score([step]).value == 0
    assert score([step], tags=["answer"]).value == 0


def test_any_layout_may_be_asked() -> None:
    text = "<plan>a</plan><check>b</check><answer>c</answer>"
    assert score(text, tags=["plan", "check", "answer"]).value == 1
    assert score(text, tags=["check", "plan", "answer"]).value == 0


def test_other_tags_are_text() -> None:
    assert score("<answer><b>42</b></answer>", tags=["answer"]).value == 1


def test_the_reasoning_tag_has_any_name() -> None:
    step = {"text": "<answer>42</answer>", "reasoning": "6 * 7"}
    assert score([step], tags=["reason", "answer"], reasoning_tag="reason").value == 1


@pytest.mark.parametrize(
    ("tags", "reason"),
    [([], "at least 1 item"), (["<think>"], "say `think`"), (["a", "a"], "each tag stands once")],
)
def test_refuses_what_is_no_layout(tags: list[str], reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        score("x", tags=tags)


MARKS = st.sampled_from(["<think>", "</think>", "<answer>", "</answer>", "x", " ", "\n"])


@given(st.lists(MARKS, max_size=12).map("".join))
def test_only_the_whole_layout_gets_full_marks(text: str) -> None:
    share = score(text, value="share").value
    assert share is not None
    assert (share == 1) == (score(text).value == 1)

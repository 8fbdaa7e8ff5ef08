"""`text/string-check` and `text/similarity`."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rewardhub.builtin.text_graders import Similarity, StringCheck
from rewardhub.errors import TaskError
from rewardhub.records import Score
from rewardhub.testing import check_cases, make_trajectory

METRICS = ["fuzzy_match", "bleu", "gleu", "rouge_1", "rouge_2", "rouge_3", "rouge_l"]
INSTALLED = all(importlib.util.find_spec(name) for name in ("rapidfuzz", "nltk"))
needs_extra = pytest.mark.skipif(not INSTALLED, reason="the extra `similarity` is not installed")


@needs_extra
def test_the_cases_hold() -> None:
    check_cases(Path(__file__).with_name("text_cases.jsonl"))


def similar(metric: Any, reply: str, reference: str) -> Score:
    grader = Similarity(evaluation_metric=metric)
    return grader.grade(make_trajectory(reply, reference=reference))


@pytest.mark.parametrize(
    ("operation", "reply", "value"),
    [
        ("eq", "Rome", 1.0),
        ("eq", "rome", 0.0),
        ("ne", "Rome", 0.0),
        ("ne", "Milan", 1.0),
        ("like", "It is Rome.", 1.0),
        ("like", "It is rome.", 0.0),
        ("ilike", "It is ROME.", 1.0),
        ("ilike", "It is Milan.", 0.0),
    ],
)
def test_checks_strings(operation: Any, reply: str, value: float) -> None:
    grader = StringCheck(operation=operation)
    assert grader.grade(make_trajectory(reply, reference="Rome")).value == value


def test_an_answer_that_is_no_json_is_a_graded_zero() -> None:
    grader = StringCheck(input="{{ sample.output_json.city }}", operation="ne")
    score = grader.grade(make_trajectory("Rome", reference="Milan"))
    assert (score.value, score.reason) == (0.0, "the answer is no JSON")


@pytest.mark.parametrize("operation", ["like", "ilike"])
def test_an_empty_reference_is_the_tasks_fault(operation: Any) -> None:
    with pytest.raises(TaskError, match="the reference is empty"):
        StringCheck(operation=operation).grade(make_trajectory("x", reference=""))


def test_refuses_a_template_that_cannot_be_filled() -> None:
    with pytest.raises(ValidationError, match=r"sample.choices"):
        StringCheck(input="{{ sample.choices }}")


@needs_extra
@pytest.mark.parametrize("metric", METRICS)
def test_equal_texts_are_fully_similar(metric: str) -> None:
    assert similar(metric, "The cat sat on a mat.", "The cat sat on a mat.").value == pytest.approx(
        1
    )


@needs_extra
@pytest.mark.parametrize("metric", ["bleu", "gleu", "rouge_1", "rouge_l"])
def test_one_equal_word_is_fully_similar(metric: str) -> None:
    assert similar(metric, "Paris", "Paris").value == pytest.approx(1)


@needs_extra
@pytest.mark.parametrize("metric", METRICS)
def test_nothing_in_common_is_nearly_zero(metric: str) -> None:
    value = similar(metric, "xyz", "The cat sat on a mat.").value
    assert value is not None
    assert value < 0.1


@needs_extra
@pytest.mark.parametrize(
    ("metric", "value"),
    # by hand: 3 of 4 words in common; 2 of 3 pairs; the longest common sequence has 3 words
    [("rouge_1", 0.75), ("rouge_2", 2 / 3), ("rouge_l", 0.75), ("gleu", 6 / 10)],
)
def test_measures_what_can_be_counted_by_hand(metric: str, value: float) -> None:
    assert similar(metric, "the cat sat down", "the cat sat up").value == pytest.approx(value)


@needs_extra
def test_fuzzy_match_is_the_share_of_equal_characters() -> None:
    assert similar("fuzzy_match", "abcd", "abcx").value == pytest.approx(0.75)


@needs_extra
@pytest.mark.parametrize("metric", ["bleu", "rouge_1", "rouge_l"])
def test_words_of_other_scripts_count(metric: str) -> None:
    assert similar(metric, "猫が好き", "猫が好き").value == pytest.approx(1)
    assert similar(metric, "кошка спит", "кошка спит").value == pytest.approx(1)


@needs_extra
@pytest.mark.parametrize("metric", [name for name in METRICS if name != "fuzzy_match"])
@pytest.mark.parametrize("reply", ["", "?!"])
def test_an_answer_without_words_is_a_graded_zero(metric: str, reply: str) -> None:
    assert similar(metric, reply, "The cat sat on a mat.").value == 0.0


@needs_extra
@pytest.mark.parametrize(
    ("metric", "reference"),
    [
        ("fuzzy_match", ""),
        ("bleu", "?!"),
        ("gleu", ""),
        ("rouge_1", "..."),
        ("rouge_3", "two words"),
    ],
)
def test_a_reference_that_a_metric_cannot_use_is_the_tasks_fault(
    metric: str, reference: str
) -> None:
    with pytest.raises(TaskError):
        similar(metric, "x", reference)


@needs_extra
@given(reply=st.text(max_size=40), reference=st.text(min_size=1, max_size=40))
def test_any_two_texts_have_a_similarity_or_a_task_fault(reply: str, reference: str) -> None:
    for metric in METRICS:
        try:
            value = similar(metric, reply, reference).value
        except TaskError:
            continue
        assert value is not None
        assert 0 <= value <= 1


@pytest.mark.parametrize(
    ("metric", "why"),
    [
        ("meteor", "WordNet"),
        ("cosine", "embedding model"),
        ("rouge_9", "Input should be 'fuzzy_match'"),
    ],
)
def test_refuses_metrics_by_name(metric: Any, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        Similarity(evaluation_metric=metric)


def test_says_which_extra_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ValidationError, match=r"rewardhub-core\[similarity\]"):
        Similarity()


@needs_extra
def test_long_answers_are_measured_in_a_moment() -> None:
    words = " ".join(str(number % 977) for number in range(20_000))
    assert similar("rouge_l", words, words[: len(words) // 2]).value == pytest.approx(
        2 / 3, abs=0.01
    )

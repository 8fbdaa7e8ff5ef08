"""Answers: where they stand, and which are equal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.report.gap_answers import SHORT, answer_of, normal, reaches, references_of
from rewardhub.testing import make_task, make_trajectory

LONG = "I think about it. " * 10


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("42", "42"),
        (f"{LONG}<answer>Paris</answer> and more", "paris"),
        (f"{LONG}<answer>1</answer> no, <answer>2</answer>", "2"),
        (rf"{LONG}so \boxed{{\frac{{1}}{{2}}}}.", r"\frac{1}{2}"),
        (rf"{LONG}\boxed{{1}} or \boxed{{2}}", "2"),
        (f"{LONG}\n#### 1,250", "1250"),
        (f"{LONG}The answer is **7**.", "7"),
        (f"{LONG}Answer: Berlin\nbecause", "berlin"),
        (LONG, ""),
        ("", ""),
        (rf"{LONG}\boxed{{1", ""),
        ("x" * SHORT, "x" * SHORT),
        ("x" * (SHORT + 1), ""),
    ],
)
def test_finds_the_answer(text, answer):
    assert answer_of(text) == answer


@pytest.mark.parametrize(
    ("one", "other"),
    [("1,000.0", "1000"), ("+3", "3"), ("-0", "0"), ("007", "7"), ("2.50", "2.5"), (" $x$ ", "X"),
     ("`a  b`", "A b"), ("\uff11\uff12", "12"), ("-1.50", "-1.5")],
)  # fmt: skip
def test_equal_answers_are_equal_texts(one, other):
    assert normal(one) == normal(other)


@pytest.mark.parametrize(("one", "other"), [("-1", "1"), ("1.5", "15"), ("a b", "ab"), ("10", "1")])
def test_other_answers_are_other_texts(one, other):
    assert normal(one) != normal(other)


@given(st.text())
def test_what_is_normal_stays_as_it_is(text):
    assert normal(normal(text)) == normal(text)


@pytest.mark.parametrize(
    ("reference", "texts"),
    [
        ("5", ("5",)), (5, ("5",)), (5.0, ("5",)), (["Yes", "y"], ("yes", "y")),
        ("Long story.\n#### 12", ("12",)), (None, ()), ({"a": 1}, ()), ("", ()),
        ("w" * 200, ("w" * 200,)),
    ],
)  # fmt: skip
def test_reads_the_reference(reference, texts):
    assert references_of(make_task("?", reference=reference)) == texts


def reached(text, reference="Lisbon", prompt="Which town?", **fields):
    attempt = make_trajectory(text, prompt=prompt, reference=reference, **fields)
    return reaches(attempt, answer_of(attempt.final_text), references_of(attempt.task))


def test_an_answer_reaches_the_reference():
    assert reached("lisbon.") is True


def test_a_thought_reaches_it():
    assert reached([{"text": "Porto", "reasoning": "Lisbon, or rather Porto?"}]) is True


def test_a_call_reaches_it():
    call = {"name": "search", "arguments": {"q": "weather in Lisbon"}}
    assert reached([{"tool_calls": [call]}, "Porto"]) is True


def test_another_word_does_not_reach_it():
    assert reached(f"{LONG}Lisbonne") is False


def test_what_the_question_says_already_is_not_reached():
    assert reached(f"{LONG}Lisbon or Porto", prompt="Lisbon or Porto?") is False


def test_a_short_reference_counts_as_an_answer_only():
    assert reached(f"{LONG}7 of them", reference="7") is False
    assert reached("7", reference="7") is True


def test_without_a_reference_nobody_can_say():
    assert reached("x", reference=None) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [("it is 250.", True), ("(250)", True), ("1250", False), ("1.250", False), ("250.5", False),
     ("2500, then 250, then", True), ("=250;", True), ("x.250", False)],
)  # fmt: skip
def test_a_number_is_not_found_inside_of_another(text, found):
    assert reached(f"{LONG}{text} {LONG}", reference="250") is found

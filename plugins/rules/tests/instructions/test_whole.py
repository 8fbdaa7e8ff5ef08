import pytest
from rewardhub_rules.instructions.whole import (
    EndChecker,
    NoComma,
    Quotation,
    RepeatPrompt,
    TwoResponses,
)


@pytest.mark.parametrize(
    "text", ["a\n******\nA", "a  b******a b", "a\n************\nb", "a\n*****\nb"]
)
def test_two_responses_differ_and_stand_apart(text: str) -> None:
    assert not TwoResponses().check(text).followed


def test_a_separator_may_stand_at_the_ends() -> None:
    assert TwoResponses().check("******\na\n******\nb\n******").followed


def test_an_answer_follows_the_request() -> None:
    asked = RepeatPrompt(prompt_to_repeat="Say it.")
    assert not asked.check("Say it.").followed
    assert asked.check("say it.\nIt.").followed


@pytest.mark.parametrize("phrase", ['That is "all"', 'He said "go"', "Peace!"])
def test_ends_with_a_phrase_that_has_marks_of_its_own(phrase: str) -> None:
    assert EndChecker(end_phrase=phrase).check(f"So. {phrase}").followed
    assert EndChecker(end_phrase=phrase).check(f'"So. {phrase}"\n').followed


def test_a_phrase_does_not_end_inside_of_a_word() -> None:
    assert not EndChecker(end_phrase="art").check("the heart").followed


@pytest.mark.parametrize("text", ['"a"', "\u201ca\u201d", "\u201ea\u201c", '\n"a b"\n'])
def test_knows_double_quotation_marks(text: str) -> None:
    assert Quotation().check(text).followed


@pytest.mark.parametrize("text", ['""', '" "', '"', "'a'", '"a\u201d', "a"])
def test_knows_what_is_not_quoted(text: str) -> None:
    assert not Quotation().check(text).followed


@pytest.mark.parametrize("comma", [",", "\uff0c", "\u060c", "\u3001"])
def test_knows_commas_of_other_scripts(comma: str) -> None:
    assert not NoComma().check(f"a{comma}b").followed

import pytest
from rewardhub_rules.instructions.sentence_rules import (
    AlliterationIncrement,
    SentenceBalance,
    SentenceIncrement,
    SentenceKeyword,
    SentenceType,
    SentenceWords,
    kinds_of,
)


def test_sees_the_mark_of_a_sentence_before_quotes_and_asterisks() -> None:
    assert kinds_of('He said: "Go." Did *she*?* Yes!)') == {"states": 1, "asks": 1, "calls": 1}


@pytest.mark.parametrize("text", ["A title", "- item"])
def test_nothing_of_each_is_no_balance(text: str) -> None:
    assert not SentenceBalance().check(text).followed
    assert not SentenceType().check(text).followed


def test_words_that_occur_twice_are_not_all_different() -> None:
    assert SentenceWords().check("Cats ran. Dogs sat. Cats hid.").why == "'cats' occurs twice"


def test_looks_in_the_sentence_that_is_asked() -> None:
    asked = SentenceKeyword(word="rain", N=2)
    assert asked.check("Mr. Lee came. It was rain.").followed
    assert asked.check("Rain. Snow.").why == "sentence 2 lacks 'rain'"


def test_one_sentence_has_no_step() -> None:
    assert SentenceIncrement(small_n=2).check("Rain falls.").followed


def test_two_short_alliterations_are_no_long_one() -> None:
    assert not AlliterationIncrement().check("Big bad bees. Red roses, tall trees.").followed

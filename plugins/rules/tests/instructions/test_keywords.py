import pytest
from rewardhub_rules.instructions.keywords import (
    Existence,
    ForbiddenWords,
    Frequency,
    LetterFrequency,
)


@pytest.mark.parametrize("text", ["scatter", "cats", "CONCATENATE"])
def test_does_not_find_a_keyword_inside_of_another_word(text: str) -> None:
    assert not Existence(keywords=("cat",)).check(text).followed
    assert ForbiddenWords(forbidden_words=("cat",)).check(text).followed


@pytest.mark.parametrize("text", ["cat", "Cat!", "(cat)", "the cat's", "cat-like"])
def test_finds_a_keyword_beside_any_mark(text: str) -> None:
    assert Existence(keywords=("cat",)).check(text).followed


def test_counts_whole_words_alone() -> None:
    finding = Frequency(keyword="war", frequency=3, relation="at least").check("War, wars, warfare")
    assert finding == (False, "1 times 'war', at least 3 asked")


@pytest.mark.parametrize("keyword", ["C++", "a.b", "(x", "what?", "$5"])
def test_takes_a_keyword_literally(keyword: str) -> None:
    assert Existence(keywords=(keyword,)).check(f"so {keyword} it").followed
    assert not Existence(keywords=(keyword,)).check("C aab x what 5").followed


def test_finds_a_keyword_in_a_script_without_spaces() -> None:
    assert Existence(keywords=("\u732b",)).check("\u3053\u306e\u732b\u306f").followed


def test_names_every_keyword_that_is_lacking() -> None:
    finding = Existence(keywords=("cat", "dog", "owl")).check("the dog")
    assert finding == (False, "it lacks 'cat', 'owl'")


@pytest.mark.parametrize("letter", ["#", "!", "\u00e9", "Q"])
def test_counts_a_character_that_is_no_letter_instead_of_drawing_another(letter: str) -> None:
    counted = LetterFrequency(letter=letter, let_frequency=2, let_relation="at least")
    assert counted.check(f"a {letter} and {letter.lower()}").followed
    assert not counted.check(f"a {letter}").followed

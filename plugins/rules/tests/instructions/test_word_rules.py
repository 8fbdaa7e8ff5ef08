import pytest
from rewardhub_rules.instructions.word_rules import (
    Alphabet,
    Consonants,
    KeywordsSpecificPosition,
    LastFirst,
    NoConsecutive,
    OddEvenSyllables,
    Palindrome,
    ParagraphLastFirst,
    PrimeLengths,
    Repeats,
    StartVerb,
    Vowel,
    WordsPosition,
)

EVERY = (Alphabet, Consonants, Vowel, PrimeLengths, ParagraphLastFirst, NoConsecutive, StartVerb)


@pytest.mark.parametrize("kind", EVERY)
def test_marks_alone_follow_nothing(kind: type[Alphabet]) -> None:
    assert kind().check("?! -").why == "it has no words"


def test_the_alphabet_starts_anywhere_and_again() -> None:
    assert Alphabet().check("Xylophones yield zany \u00e4rias.").followed


def test_an_accent_makes_no_other_vowel() -> None:
    assert Vowel().check("\u00e0 \u00e9 \u00ed").why == "vowels a, e, i; at most 3 asked"
    assert not Vowel().check("\u00e0 \u00e9 \u00ed \u00f3").followed


def test_a_dash_is_no_word_without_consonants() -> None:
    assert Consonants().check("strong - winds").followed


@pytest.mark.parametrize("text", ["12321 " * 10, "aaaaa bbbbb ccccc", "level Level LEVEL " * 4])
def test_palindromes_are_words_and_differ(text: str) -> None:
    assert not Palindrome().check(text).followed


def test_counts_the_letters_of_a_word_with_marks() -> None:
    assert PrimeLengths().check("can't").why == '"can\'t" has 4 letters'


def test_counts_a_word_in_any_case() -> None:
    assert Repeats(small_n=1).check("Rain, rain").why == "2 times 'rain', at most 1 asked"


def test_syllables_alternate() -> None:
    assert OddEvenSyllables().check("the harbour").followed
    assert OddEvenSyllables().check("the boat").why == "'the' and 'boat' have 1 and 1 syllables"


def test_a_blank_line_ends_a_sentence() -> None:
    assert not LastFirst().check("Rain fell\n\nSnow came").followed


def test_paragraphs_are_lines() -> None:
    assert ParagraphLastFirst().check("Rain is rain.\nSnow is *snow*!").followed


def test_a_hyphen_makes_one_word() -> None:
    assert NoConsecutive().check("a well-written text").followed


def test_counts_words_and_not_marks_to_a_position() -> None:
    asked = KeywordsSpecificPosition(keyword="Rain", n=1, m=3)
    assert asked.check('It, said "rain" fell.').followed
    assert WordsPosition(keyword="rain").check("The rain... is, rain, here?!").followed

import pytest
from rewardhub_rules.instructions.counts import (
    Conjunctions,
    KeywordsMultiple,
    Numbers,
    Overlap,
    PersonNames,
    Pronouns,
    Punctuation,
    StopWords,
    UniqueWordCount,
    WordCountRange,
    WordsJapanese,
)


def test_one_conjunction_in_two_cases_is_one() -> None:
    assert Conjunctions(small_n=2).check("And then, and so").why.startswith("2 ")
    assert Conjunctions(small_n=2).check("And this and, that").why.startswith("1 ")


def test_marks_are_no_words() -> None:
    assert UniqueWordCount(N=3).check("one - two ...").why.startswith("2 ")
    assert WordCountRange(min_words=2, max_words=2).check("one - two").followed


@pytest.mark.parametrize(
    ("text", "count"),
    [("1,000", 1), ("3.14", 1), ("10-20", 2), ("1,2,3", 3), ("3/4", 2), ("12:30", 2)],
)
def test_counts_numbers_as_they_are_written(text: str, count: int) -> None:
    assert Numbers(N=count).check(text).followed


@pytest.mark.parametrize("text", ["I'm here with you", "He/him. Theirs", "it\u2019s all mine"])
def test_counts_pronouns_in_contractions_and_between_strokes(text: str) -> None:
    assert Pronouns(N=2).check(text).followed


def test_names_have_no_other_case() -> None:
    assert PersonNames(N=1).check("grace and mercy").why.startswith("0 ")


def test_the_marks_of_the_interrobang_count_for_nothing_else() -> None:
    assert Punctuation().check(", ; : . ! ?!").why == "it lacks ?"
    assert Punctuation().check("a, b; c: d. e! f?").why == "it lacks ?!"


@pytest.mark.parametrize("mark", ["?!", "!?", "\u203d"])
def test_knows_each_way_to_write_an_interrobang(mark: str) -> None:
    assert Punctuation().check(f"a, b; c: d. e! f? g{mark}").followed


def test_a_keyword_inside_of_another_does_not_count() -> None:
    names = {f"keyword{number}": word for number, word in enumerate("abcde", 1)}
    assert KeywordsMultiple(**names).check("a bad b b c c c d d d d d e e e e e e e").followed


def test_a_text_without_the_nth_word_does_not_follow() -> None:
    assert WordsJapanese(N=9).check("one two").why == "2 words, 9 needed"


def test_stop_words_are_counted_in_contractions() -> None:
    assert StopWords(percentage=99).check("It\u2019s").why.startswith("100.0 %")
    assert StopWords(percentage=0).check("Boats drift").followed


@pytest.mark.parametrize("percentage", [48, 50, 52])
def test_the_overlap_may_be_two_percent_off(percentage: int) -> None:
    assert Overlap(reference_text="abcdef", percentage=percentage).check("abcdxy").followed


@pytest.mark.parametrize("percentage", [47, 53])
def test_the_overlap_may_not_be_more_off(percentage: int) -> None:
    assert not Overlap(reference_text="abcdef", percentage=percentage).check("abcdxy").followed

import pytest
from rewardhub_rules.instructions.lengths import (
    NthParagraphFirstWord,
    NumberParagraphs,
    NumberSentences,
    NumberWords,
)


@pytest.mark.parametrize(
    "text", ["don't stop well-known things", "3.14 and 1,000 more", "one -- two * three ... four"]
)
def test_counts_a_word_with_marks_inside_as_one(text: str) -> None:
    assert NumberWords(num_words=5, relation="less than").check(text).why.startswith("4 words")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Dr. Lee came at 5 p.m. She left.", 2),
        ("It costs 3.50 euros. Really?", 2),
        ("Wait... what? Yes!", 2),
        ("Dear Jake,\n\nI hope you are well.", 2),
        ("1. One thing.\n2. Another.", 2),
    ],
)
def test_counts_sentences_past_abbreviations_numbers_and_blank_lines(text: str, count: int) -> None:
    finding = NumberSentences(num_sentences=count, relation="at least").check(text)
    assert finding.why.startswith(f"{count} sentences")


def test_bold_italics_divide_no_paragraphs() -> None:
    assert NumberParagraphs(num_paragraphs=1).check("A ***very*** good day.").followed


@pytest.mark.parametrize("text", ["***\nA\n***\nB\n***", "A\n\n***\n\nB", "A *** B"])
def test_a_divider_may_stand_at_the_ends(text: str) -> None:
    assert NumberParagraphs(num_paragraphs=2).check(text).followed


@pytest.mark.parametrize("gap", ["\n\n", "\n\n\n", "\n \n", "\n\n\n\n"])
def test_a_run_of_blank_lines_is_one_gap(gap: str) -> None:
    third = NthParagraphFirstWord(num_paragraphs=3, nth_paragraph=3, first_word="end")
    assert third.check(f"One.{gap}Two.{gap}End.").followed


@pytest.mark.parametrize("first", ["Summary:", "\u201cSummary\u201d", "**Summary**", "(summary)"])
def test_the_first_word_may_have_marks_around_it(first: str) -> None:
    only = NthParagraphFirstWord(num_paragraphs=1, nth_paragraph=1, first_word="summary")
    assert only.check(f"{first} all is well.").followed


def test_the_first_word_may_have_an_apostrophe() -> None:
    only = NthParagraphFirstWord(num_paragraphs=1, nth_paragraph=1, first_word="don't")
    assert only.check("Don\u2019t go.").followed

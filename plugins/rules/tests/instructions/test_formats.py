import pytest
from rewardhub_rules.instructions.formats import (
    Emoji,
    Newline,
    NoWhitespace,
    Options,
    OutputTemplate,
    Parentheses,
    Quotes,
    QuoteUnquote,
    TitleCase,
)


def test_brackets_are_closed() -> None:
    assert not Parentheses().check("(((((a)").followed
    assert Parentheses().check(":( ((((((a))))))").followed


def test_an_apostrophe_is_no_quotation_mark() -> None:
    assert not Quotes().check("\"It's Tom's, isn't it? That's Ann's.\"").followed


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ("yes/no/maybe", "Maybe!"),
        ("I know or I don't know", "I don't know."),
        ("a), b), c), d)", " c)\n"),
        ("more, less, or the same", "the same"),
        ("for, against", "Against"),
        ("red or blue, or green", "blue"),
    ],
)
def test_reads_the_options(options: str, answer: str) -> None:
    assert Options(options=options).check(answer).followed


@pytest.mark.parametrize("answer", ["c", "C)", "(c)", "a), b)"])
def test_the_form_of_a_letter_is_part_of_the_answer(answer: str) -> None:
    assert not Options(options="a), b), c), d)").check(answer).followed


def test_a_line_of_marks_has_no_word() -> None:
    assert Newline().check("one\n---\n\ntwo!").followed


@pytest.mark.parametrize(
    "text",
    [
        "Rain \U0001f327\ufe0f. Snow \u2744\ufe0f!",
        "Rain. \U0001f327\ufe0f Snow! \u2744\ufe0f",
        "So it is \U0001f44d\U0001f3fd",
        "A family \U0001f468\u200d\U0001f469\u200d\U0001f467.",
        "To Norway \U0001f1f3\U0001f1f4!",
        "First 1\ufe0f\u20e3.",
    ],
)
def test_knows_an_emoji_at_the_end(text: str) -> None:
    assert Emoji().check(text).followed


@pytest.mark.parametrize("text", ["Rain :-). Snow.", "Rain 1.", "\U0001f327\ufe0f Rain."])
def test_knows_what_is_no_emoji_at_the_end(text: str) -> None:
    assert not Emoji().check(text).followed


@pytest.mark.parametrize(
    "text", ['"a" "b" c', "\u201ca\u201d \u2014 \u201cb\u201d c", 'so "a"', 'a "b c']
)
def test_something_follows_each_quotation(text: str) -> None:
    assert not QuoteUnquote().check(text).followed


@pytest.mark.parametrize(
    "text", ["The Art of War", "It Isn't So", "A \u201cRain\u201d Song for NASA"]
)
def test_knows_title_case(text: str) -> None:
    assert TitleCase().check(text).followed


@pytest.mark.parametrize("text", ["of War", "The art of War", "THE ART OF WAR", "1 2"])
def test_knows_what_is_no_title_case(text: str) -> None:
    assert not TitleCase().check(text).followed


@pytest.mark.parametrize(
    "text",
    [
        "Sure. My Answer: a My Conclusion: b Future Outlook: c",
        "My Answer: a My Conclusion: b",
        "My Answer: a My Answer: a My Conclusion: b Future Outlook: c",
        "My Answer: a My Conclusion: b Future Outlook:",
    ],
)
def test_keeps_to_the_template(text: str) -> None:
    assert not OutputTemplate().check(text).followed


def test_labels_may_be_bold() -> None:
    assert (
        OutputTemplate()
        .check("**My Answer:** a\n**My Conclusion:** b\n**Future Outlook:** c")
        .followed
    )


def test_a_newline_at_the_end_is_no_white_space_inside() -> None:
    assert NoWhitespace().check("Rain\n").followed
    assert not NoWhitespace().check("Rain\u00a0falls").followed

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewardhub_rules.instructions.words import count_words, folded, letters_of, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't stop -- now!", ["Don't", "stop", "now"]),
        (
            "a well-known, and/or snake_case thing",
            ["a", "well-known", "and", "or", "snake_case", "thing"],
        ),
        ("3.14, 1,000 and U.S. e.g. this", ["3.14", "1,000", "and", "U.S", "e.g", "this"]),
        ("end.Next one...two", ["end", "Next", "one", "two"]),
        ("*bold* \u201cquoted\u201d it\u2019s", ["bold", "quoted", "it\u2019s"]),
        ("na\u00efve cafe\u0301", ["na\u00efve", "cafe\u0301"]),
        (
            "\u0939\u093f\u0902\u0926\u0940 \u092e\u0947\u0902",
            ["\u0939\u093f\u0902\u0926\u0940", "\u092e\u0947\u0902"],
        ),
        ("\u72ac\u3068\u732b and cat", ["\u72ac", "\u3068", "\u732b", "and", "cat"]),
        (" \n -- ?! ", []),
    ],
)
def test_cuts_a_text_into_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words
    assert count_words(text) == len(words)


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_cuts_ascii_the_same_as_any_other_text(text: str) -> None:
    # The Greek letter makes it a text of any script.
    assert [*words_of(text), "\u03b1"] == words_of(f"{text} \u03b1")


def test_folds_case_and_apostrophes() -> None:
    assert folded(["It\u2019s", "STRASSE"]) == ["it's", "strasse"]


def test_leaves_marks_inside_of_a_word_out_of_its_letters() -> None:
    assert letters_of("well-known") == "wellknown"

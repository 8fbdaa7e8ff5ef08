# ruff: noqa: RUF001  # other scripts are what is tested
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewardhub_rules.sentences import count_sentences, split_sentences

COUNTS = [
    ("One. Two! Three?", 3),
    ("Dr. Smith paid $3.50 for v1.2.3 at 5 p.m. today. Really?", 2),
    ("See e.g. the U.S. Army, i.e. them.", 1),
    ('"Yes," he said. "It works."', 2),
    ("Wait... what?", 1),
    ("1. One thing.\n2. Another thing.", 2),
    ("- first item\n- second item", 2),
    ("A heading\n\nA text without an end", 2),
    ("你好。这是第二句！", 2),
    ("one line\nof the same sentence", 1),
    ("... ?! ***", 0),
    ("", 0),
]


@pytest.mark.parametrize(("text", "count"), COUNTS)
def test_counts_sentences(text: str, count: int) -> None:
    assert count_sentences(text) == count


def test_a_number_of_a_list_belongs_to_its_sentence() -> None:
    assert split_sentences("1. One thing. 2. Another.") == ["1. One thing.", "2. Another."]


@pytest.mark.parametrize("space", ["\xa0", "\u3000", "\u2028", "\x85", "\r", "\t"])
def test_any_white_space_may_follow_an_initial(space: str) -> None:
    assert count_sentences(f"Ask Mr. A{space}. B{space}is out.") == count_sentences(
        "Ask Mr. A . B is out."
    )


def test_a_long_paragraph_is_cut_at_white_space() -> None:
    assert count_sentences("word " * 3_000) in {3, 4}
    assert count_sentences("It was so. " * 3_000) in range(3_000, 3_010)


TRICKY = st.sampled_from(
    ["Mr", "A", "e.g", ".", "!", '"', "\u201d", "\xa0", " ", "\n", "1", "\u3002"]
)


@given(st.lists(TRICKY, max_size=40).map("".join) | st.text(max_size=200))
def test_sentences_are_in_the_text_in_order(text: str) -> None:
    at = 0
    for sentence in split_sentences(text):
        for piece in sentence.split():
            at = text.index(piece, at) + len(piece)

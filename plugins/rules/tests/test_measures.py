from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewardhub_rules import Length, Repetition
from rewardhub_rules.measures import _longest_repeated

from rewardhub import RecordError, Score
from rewardhub.testing import grade, make_trajectory


def length(text: str, **options: Any) -> Score:
    return grade(Length, make_trajectory(text), options=options)


def repetition(text: str, **options: Any) -> float:
    value = grade(Repetition, make_trajectory(text), options=options).value
    assert value is not None
    return value


@pytest.mark.parametrize(
    ("unit", "count"),
    [("words", 8), ("characters", 36), ("sentences", 3), ("paragraphs", 2), ("lines", 3)],
)
def test_counts_in_each_unit(unit: str, count: int) -> None:
    text = "One two. Three\nfour!\n\nFive six, 7 8.\n"
    assert length(text, unit=unit, at_least=count, at_most=count).value == 1
    assert length(text, unit=unit, at_least=count + 1).value == 0


@pytest.mark.parametrize(
    ("words", "value"), [(7, 0), (8, 0), (9, 0.5), (10, 1), (20, 1), (22, 0.5), (24, 0), (99, 0)]
)
def test_the_value_falls_over_the_margin(words: int, value: float) -> None:
    options = {"at_least": 10, "at_most": 20, "margin": 0.2}
    assert length("word " * words, **options).value == pytest.approx(value)
    assert length("word " * words, shape="cosine", **options).value == pytest.approx(value)


@given(
    st.integers(1, 40), st.integers(1, 40), st.floats(0, 1), st.sampled_from(["linear", "cosine"])
)
def test_no_value_rises_away_from_the_bounds(
    words: int, other: int, margin: float, shape: str
) -> None:
    near, far = sorted([words, other])
    options = {"at_most": 10, "margin": margin, "shape": shape}
    closer, further = (length("word " * count, **options).value for count in (near, far))
    assert closer is not None
    assert further is not None
    assert closer >= further


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"at_least": 3, "at_most": 2}, "below at_least"),
        ({"at_least": 0}, "greater than or equal to 1"),
        ({"margin": 2}, "less than or equal to 1"),
        ({"unit": "pages"}, "unit"),
    ],
)
def test_length_refuses_options_that_make_no_sense(options: Any, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        length("x", **options)


def test_ngrams_are_counted_as_in_the_paper() -> None:
    # 7 bigrams of 8 words, 4 of them distinct: ab bc ca ... : share 3/7.
    text = "a b c d a b c d"
    assert repetition(text, n=2, free=0, limit=1) == pytest.approx(1 - 3 / 7)


def test_a_text_shorter_than_an_ngram_repeats_nothing() -> None:
    assert repetition("a a a", n=4) == 1


def test_lines_that_occurred_before_are_repeats() -> None:
    assert repetition("a\n b\n\na\nb", measure="lines", free=0, limit=1) == pytest.approx(0.5)


def test_a_block_is_the_longest_that_occurs_again() -> None:
    # "one two three" again: 3 of 8 words.
    text = "one two three x one two three y"
    assert repetition(text, measure="block", free=0, limit=1) == pytest.approx(1 - 3 / 8)


def test_a_text_without_spaces_is_measured_by_its_characters() -> None:
    assert repetition("真的吗" * 50) == 0


def test_refuses_a_limit_below_what_is_free() -> None:
    with pytest.raises(RecordError, match=r"free \(0.6\) must be below limit \(0.5\)"):
        repetition("x", free=0.6)


@given(st.text(alphabet="abc", max_size=40))
def test_the_longest_repeated_block_is_what_a_search_finds(text: str) -> None:
    def again(size: int) -> bool:
        return any(text.find(text[i : i + size], i + 1) >= 0 for i in range(len(text) - size + 1))

    expected = max((size for size in range(1, len(text)) if again(size)), default=0)
    assert _longest_repeated(text) == expected


@given(
    st.text(min_size=1, max_size=200), st.sampled_from(["ngrams", "block", "lines", "compression"])
)
def test_every_measure_gives_a_value_for_any_text(text: str, measure: str) -> None:
    assert 0 <= repetition(text, measure=measure) <= 1

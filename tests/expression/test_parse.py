from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.expression import ExpressionError, parse

WORDS = st.sampled_from(
    [
        *"()+-*/,<>=!.'\"&",
        "and",
        "or",
        "not",
        "min",
        "max",
        "abs",
        "true",
        "a",
        "b",
        "1",
        "0.5",
        "==",
    ]
)


def test_names_come_once_each_in_order_of_appearance() -> None:
    assert parse("b > 0.5 and min(a, b, c) >= a").names == ("b", "a", "c")


def test_an_expression_without_names_has_none() -> None:
    assert parse("1 + 1").names == ()


def test_dotted_names_are_kept_whole() -> None:
    assert parse("task.metadata.level == 'hard'", dotted=True).names == ("task.metadata.level",)


def test_keeps_its_text() -> None:
    assert parse(" a  > 1 ").text == " a  > 1 "


@pytest.mark.parametrize("text", ["a > 1", "not a > 1", "true", "a == 1 or b == 1", "(a < b)"])
def test_tells_a_condition(text: str) -> None:
    assert parse(text).is_condition


@pytest.mark.parametrize("text", ["a", "1", "-a", "min(a, b)", "(a + 1)"])
def test_tells_a_formula(text: str) -> None:
    assert not parse(text).is_condition


def test_equal_texts_make_equal_expressions() -> None:
    assert parse("a > 1") == parse("a > 1")
    assert hash(parse("a > 1")) == hash(parse("a > 1"))
    assert parse("a > 1") != parse("a >  1")


def test_is_frozen() -> None:
    with pytest.raises(AttributeError):
        parse("a").text = "b"  # type: ignore[misc]


@given(words=st.lists(WORDS, max_size=30), dotted=st.booleans())
def test_any_words_parse_or_raise_an_expression_error(words: list[str], dotted: bool) -> None:
    _parse_or_refuse(" ".join(words), dotted=dotted)


@given(text=st.text(max_size=60), dotted=st.booleans())
def test_any_text_parses_or_raises_an_expression_error(text: str, dotted: bool) -> None:
    _parse_or_refuse(text, dotted=dotted)


def _parse_or_refuse(text: str, *, dotted: bool) -> None:
    position = 0
    try:
        parse(text, dotted=dotted)
    except ExpressionError as error:
        position = error.position
    assert 0 <= position <= len(text)

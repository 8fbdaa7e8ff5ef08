from __future__ import annotations

from collections.abc import Sequence

import pytest

from rewardhub.expression import ExpressionError, is_name
from rewardhub.expression.tokens import MAX_LENGTH, RESERVED, tokens_of


def words(text: str, *, dotted: bool = False) -> Sequence[tuple[str, str]]:
    return [(token.kind, token.text) for token in tokens_of(text, dotted=dotted)][:-1]


@pytest.mark.parametrize("number", ["0", "12", "0.5", ".5", "3.", "1e3", "2.5E-3", "1e+2"])
def test_reads_a_number(number: str) -> None:
    assert words(number) == [("number", number)]


def test_reads_names_and_marks() -> None:
    assert words("tests>=max(a_1,_b)") == [
        ("name", "tests"),
        ("mark", ">="),
        ("mark", "max"),
        ("mark", "("),
        ("name", "a_1"),
        ("mark", ","),
        ("name", "_b"),
        ("mark", ")"),
    ]


def test_a_name_may_begin_with_a_reserved_word() -> None:
    assert words("android nothing minimum") == [
        ("name", "android"),
        ("name", "nothing"),
        ("name", "minimum"),
    ]


def test_ends_with_an_end() -> None:
    assert list(tokens_of(" a ", dotted=False))[-1] == ("end", "", 3)


def test_positions_count_from_the_start_of_the_text() -> None:
    assert [token.position for token in tokens_of("a\n >= 1", dotted=False)] == [0, 3, 6, 7]


def test_reads_dotted_names_and_strings_where_asked() -> None:
    assert words("""task.metadata.level == 'a "b"'""", dotted=True) == [
        ("name", "task.metadata.level"),
        ("mark", "=="),
        ("string", """'a "b"'"""),
    ]


def test_a_string_is_never_a_mark() -> None:
    assert words("'and'", dotted=True) == [("string", "'and'")]


@pytest.mark.parametrize(("text", "position"), [("a.b > 1", 1), ("a == 'x'", 5), ('"x"', 0)])
def test_refuses_fields_and_strings_where_not_asked(text: str, position: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        words(text)
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("text", "position", "hint"),
    [
        ("a = 1", 2, "`==`"),
        ("a && b", 2, "`and`"),
        ("a || b", 2, "`or`"),
        ("!a", 0, "`not`"),
        ("a == 'x", 5, "never closed"),
        ("a % 2", 2, "+ - * /"),
        ("a \u2265 1", 2, "comparisons"),
    ],
)
def test_says_what_to_use_instead(text: str, position: int, hint: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        words(text)
    assert caught.value.position == position
    assert hint in caught.value.problem


def test_reads_the_longest_allowed_text_and_no_longer() -> None:
    assert words("a" + " " * (MAX_LENGTH - 1)) == [("name", "a")]
    with pytest.raises(ExpressionError, match=str(MAX_LENGTH)):
        words("a" + " " * MAX_LENGTH)


@pytest.mark.parametrize("text", ["tests", "_", "unit_tests2", "A"])
def test_tells_a_name(text: str) -> None:
    assert is_name(text)


@pytest.mark.parametrize("text", ["", "unit-tests", "2nd", "a.b", "a b", "a\n", *RESERVED])
def test_tells_what_is_no_name(text: str) -> None:
    assert not is_name(text)

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewardhub_rules.instructions.nesting import depth_of_brackets, depth_of_quotes


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("", 0),
        ("(a)", 1),
        ("([{}])", 3),
        ("()()", 1),
        ("((", 0),
        ("(((a))", 2),
        ("([)]", 0),
        ("a) (b)", 1),
    ],
)
def test_counts_closed_brackets(text: str, depth: int) -> None:
    assert depth_of_brackets(text) == depth


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("", 0),
        ('"a"', 1),
        ("\"a 'b' c\"", 2),
        ('"a \'b "c" d\' e"', 3),
        ("\u201ca \u2018b \u201cc\u201d d\u2019 e\u201d", 3),
        ("\"It's Anna's and it isn't\"", 1),
        ('"never closed', 0),
    ],
)
def test_counts_closed_quotations(text: str, depth: int) -> None:
    assert depth_of_quotes(text) == depth


@given(st.integers(0, 30))
def test_finds_any_depth(depth: int) -> None:
    assert depth_of_brackets("(" * depth + "a" + ")" * depth) == depth

from typing import Any

import pytest
from rewardhub_code.compare import exact_difference, is_same, token_difference

NAN = float("nan")


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (1, 1),
        (1.0, 1),
        (True, 1),
        ([1, [2]], [1, [2]]),
        ((1, 2), [1, 2]),
        ([(1, 2)], [[1, 2]]),
        ((1, 2), (1, 2)),
        ({"a": (1,)}, {"a": [1]}),
        ({1, 2}, {2, 1}),
        (NAN, NAN),
        ([NAN], [NAN]),
        (None, None),
        (b"a", b"a"),
        (10**400, 10**400),
    ],
)
def test_accepts_what_is_the_same(got: Any, expected: Any) -> None:
    assert is_same(got, expected)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (1, 2),
        ("1", 1),
        ([1, 2], (1, 2)),
        ([1], [1, 2]),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": 2}),
        (None, 0),
        ("", None),
        (0.1 + 0.2, 0.3),
        (NAN, 1.0),
        ([], {}),
        (10**400, 1e308),
    ],
)
def test_refuses_what_differs(got: Any, expected: Any) -> None:
    assert not is_same(got, expected)


def test_numbers_may_differ_by_the_tolerance_at_any_depth() -> None:
    assert is_same({"a": [0.1 + 0.2]}, {"a": [0.3]}, tolerance=1e-9)
    assert is_same(1e12 + 1, 1e12, tolerance=1e-9)
    assert not is_same(1.1, 1.0, tolerance=0.01)
    assert not is_same(10**400, 1.0, tolerance=0.01)


def test_items_may_come_in_any_order_where_that_is_said() -> None:
    assert is_same([[2, 3], [1]], [[1], [2, 3]], any_order=True)
    assert not is_same([[3, 2], [1]], [[1], [2, 3]], any_order=True)
    assert not is_same([1, 1, 2], [1, 2, 2], any_order=True)


@pytest.mark.parametrize("got", ["a b\nc", "a b\nc\n", "a b\r\nc\r\n\n"])
def test_exact_ignores_newlines_at_the_end(got: str) -> None:
    assert exact_difference(got, "a b\nc\n") == ""


@pytest.mark.parametrize("got", ["a  b\nc", "a b \nc", "\na b\nc", "a b", "a b\nc\nd", "A b\nc"])
def test_exact_refuses_any_other_difference(got: str) -> None:
    assert exact_difference(got, "a b\nc")


def test_tokens_ignore_white_space() -> None:
    assert token_difference(" a\n b   c\n", "a b c") == ""
    assert "word 2 is 'x', not 'b'" in token_difference("a x c", "a b c")
    assert "2 words, not 3" in token_difference("a b", "a b c")


def test_numbers_within_the_tolerance_are_the_same() -> None:
    assert token_difference("x 1.0000001 2", "x 1 2.0", tolerance=1e-6) == ""
    assert token_difference("1e3", "1000", tolerance=0.0) == ""
    assert token_difference("1.1", "1", tolerance=1e-6)
    assert token_difference("nan", "1", tolerance=1.0)


@pytest.mark.parametrize("got", ["1_000", "\N{ARABIC-INDIC DIGIT ONE}000", "0x3e8", "1" * 500])
def test_only_plain_numbers_are_numbers(got: str) -> None:
    assert token_difference(got, "1000", tolerance=1e300)

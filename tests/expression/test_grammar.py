from __future__ import annotations

import pytest

from rewardhub.expression import ExpressionError, parse
from rewardhub.expression.grammar import MAX_NESTING, MAX_OPERATORS, tree_of
from rewardhub.expression.tree import Formula, Name, Node, Number, children_of


def shape(node: Node) -> object:
    """Return the tree as nested tuples, without positions."""
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Number):
        return node.value
    what = getattr(node, "operator", None) or getattr(node, "function", type(node).__name__)
    return (what, *map(shape, children_of(node)))


def tree(text: str) -> object:
    return shape(tree_of(text, dotted=False))


def mistake(text: str, *, dotted: bool = False) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        tree_of(text, dotted=dotted)
    return caught.value


def test_product_binds_tighter_than_sum() -> None:
    assert tree("a + b * c") == ("+", "a", ("*", "b", "c"))


def test_sums_and_products_group_to_the_left() -> None:
    assert tree("a - b - c") == ("-", ("-", "a", "b"), "c")
    assert tree("a / b * c") == ("*", ("/", "a", "b"), "c")


def test_sign_binds_tightest() -> None:
    assert tree("-a * b") == ("*", ("Negative", "a"), "b")
    assert tree("a - -b") == ("-", "a", ("Negative", "b"))


def test_comparison_is_looser_than_sum_and_tighter_than_not() -> None:
    assert tree("not a + 1 > b") == ("Not", (">", ("+", "a", 1.0), "b"))


def test_and_binds_tighter_than_or() -> None:
    assert tree("a > 1 or b > 1 and c > 1") == (
        "or",
        (">", "a", 1.0),
        ("and", (">", "b", 1.0), (">", "c", 1.0)),
    )


def test_not_covers_only_the_next_condition() -> None:
    assert tree("not a > 1 and b > 1") == ("and", ("Not", (">", "a", 1.0)), (">", "b", 1.0))


def test_parentheses_group() -> None:
    assert tree("a * (b + c)") == ("*", "a", ("+", "b", "c"))


def test_functions_take_formulas() -> None:
    assert tree("min(a, b + 1, 2)") == ("min", "a", ("+", "b", 1.0), 2.0)
    assert tree("abs(a - b)") == ("abs", ("-", "a", "b"))


@pytest.mark.parametrize(
    ("text", "position", "says"),
    [
        ("", 0, "found the end"),
        ("   ", 3, "found the end"),
        ("a +", 3, "found the end"),
        ("a b", 2, "operator before `b`"),
        ("2x", 1, "operator before `x`"),
        ("(a", 2, "Expected `)`"),
        ("a)", 1, "closes nothing"),
        ("()", 1, "found `)`"),
        ("min a", 4, "Expected `(` after `min`"),
        ("max(a, b", 8, "to close `max(`"),
        ("min()", 4, "found `)`"),
        ("abs(a, b)", 0, "`abs` takes one number"),
        ("+a", 0, "found `+`"),
        ("a * / b", 4, "found `/`"),
        ("a and", 5, "found the end"),
        ("1e400", 0, "larger than a float"),
    ],
)
def test_refuses_what_is_no_expression(text: str, position: int, says: str) -> None:
    error = mistake(text)
    assert error.position == position
    assert says in error.problem


@pytest.mark.parametrize(
    ("text", "position", "says"),
    [
        ("a + (b > 1)", 7, "`+` needs numbers"),
        ("-(a > 1)", 4, "`-` needs numbers"),
        ("min(a, b > 1)", 9, "`min` needs numbers"),
        ("a and b > 1", 0, "`a == 1`"),
        ("a > 1 or 0.5", 9, "`or` needs conditions"),
        ("not a", 4, "`not` needs conditions"),
        ("0.2 < a < 0.8", 4, "do not chain"),
        ("a == true", 5, "Say `1` for `true`"),
        ("(a > 1) == (b > 1)", 3, "do not chain"),
    ],
)
def test_keeps_numbers_and_conditions_apart(text: str, position: int, says: str) -> None:
    error = mistake(text)
    assert error.position == position
    assert says in error.problem


@pytest.mark.parametrize(
    ("text", "position", "says"),
    [
        ("a < 'x'", 4, "Only `==` and `!=` take text"),
        ("a + 'x'", 4, "needs numbers"),
        ("min('x')", 4, "needs numbers"),
        ("'x' and a > 1", 0, "this is text"),
        ("'x'", 0, "Text alone"),
    ],
)
def test_takes_text_for_equality_only(text: str, position: int, says: str) -> None:
    error = mistake(text, dotted=True)
    assert error.position == position
    assert says in error.problem


def test_what_may_nest_deepest_still_works() -> None:
    depth = MAX_NESTING - 1
    text = "(" * depth + "a" + ")" * depth
    assert parse(text).evaluate({"a": 0.5}) == 0.5
    assert mistake(f"({text})").position == MAX_NESTING


@pytest.mark.parametrize("opening", ["(", "-", "min(", "abs(1 - ", "not ", "not (", "1 * ("])
def test_refuses_what_nests_deeper(opening: str) -> None:
    assert "Nested" in mistake(opening * (MAX_NESTING + 1)).problem


def test_the_longest_chain_still_works() -> None:
    text = "a" + " + a" * MAX_OPERATORS
    assert parse(text).evaluate({"a": 1.0}) == MAX_OPERATORS + 1
    assert "operators" in mistake(f"{text} + a").problem


def test_parentheses_leave_no_trace_in_the_tree() -> None:
    assert isinstance(tree_of("((a))", dotted=False), Formula)

"""Whether passing more can ever pay less: what only rises in every name that it reads."""

from __future__ import annotations

from collections.abc import Iterator

from rewardhub.expression.bounds import UNIT, Bounds, Box, bound_of, box_of, range_of, rises
from rewardhub.expression.parse import Expression
from rewardhub.expression.tree import (
    Arithmetic,
    Comparison,
    Condition,
    Formula,
    Junction,
    Literally,
    Node,
    Not,
    Truth,
    children_of,
    names_in,
)

__all__ = ["why_not_monotone"]

_REMEDY = "Say `monotone: false` on the stage if that is meant."
_EQUAL = 1e-12  # rounding, far inside the tolerance with which numbers are compared


def why_not_monotone(expression: Expression, bounds: Bounds = UNIT) -> str | None:
    """Return None when ``expression`` provably never falls as one name rises, else the reason.

    Names lie in ``bounds``, else in [0, 1]. A formula is decided by the signs of its slopes. Of
    conditions these can pass: comparisons by order whose larger side never falls against the
    smaller one; ``==`` with the most that the other side reaches (``tests == 1``); and, or; and
    whatever reads no name. ``not`` and ``!=`` are refused, also where they would be harmless.
    The proof is one-sided: a reason does not mean that the expression does fall somewhere.

    Raises:
        ExpressionError: whatever the answer would be, for a division by something that can be 0.
        ValueError: when a bound is no interval.
    """
    box, text, tree = box_of(expression, bounds), expression.text, expression.tree
    for formula in _formulas_in(tree):
        bound_of(formula, box, text)
    if isinstance(tree, Condition):
        reason = _why_condition(tree, box, text)
    else:
        name = _falling_name(tree, box, text)
        reason = name and f"The formula can fall as `{name}` rises."
    return f"{reason} {_REMEDY}" if reason else None


def _formulas_in(node: Node) -> Iterator[Formula]:
    """Yield the formulas that are not part of a larger one."""
    if isinstance(node, Formula):
        yield node
        return
    for child in children_of(node):
        yield from _formulas_in(child)


def _falling_name(node: Formula, box: Box, text: str) -> str | None:
    """Return the first name in which ``node`` may fall, or None."""
    slopes = bound_of(node, box, text).slopes
    return next((name for name, slope in slopes.items() if not rises(slope)), None)


def _why_condition(node: Condition, box: Box, text: str) -> str | None:
    name = next(names_in(node), None)
    if name is None:
        return None
    match node:
        case Truth():
            return None
        case Junction():
            left = _why_condition(node.left, box, text)
            return left or _why_condition(node.right, box, text)
        case Not():
            return f"`not` (character {node.position + 1}) makes a fall of every rise of `{name}`."
        case Comparison():
            return _why_comparison(node, name, box, text)


def _why_comparison(node: Comparison, name: str, box: Box, text: str) -> str | None:
    place = f"`{node.operator}` (character {node.position + 1})"
    left, right = node.left, node.right
    if isinstance(left, Literally) or isinstance(right, Literally):
        return f"{place} compares `{name}` with text, which has no order."
    match node.operator:
        case ">" | ">=":
            falling = _falling_name(Arithmetic("-", left, right, node.position), box, text)
        case "<" | "<=":
            falling = _falling_name(Arithmetic("-", right, left, node.position), box, text)
        case "==":
            if _meets_from_below(left, right, box, text) or _meets_from_below(
                right, left, box, text
            ):
                return None
            return (
                f"{place} can turn from true to false as `{name}` rises past the other side. "
                f"Compare by `>=`, or with the most that `{name}` can reach."
            )
        case "!=":
            return f"{place} can turn from true to false as `{name}` rises to the other side."
    return falling and f"{place} can turn from true to false as `{falling}` rises."


def _meets_from_below(lower: Formula, upper: Formula, box: Box, text: str) -> bool:
    """Return whether ``lower`` only rises against ``upper``, and never past it."""
    difference = Arithmetic("-", lower, upper, lower.position)
    if _falling_name(difference, box, text) is not None:
        return False
    return range_of(difference, box, text).high <= _EQUAL

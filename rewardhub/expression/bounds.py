"""Between which numbers a formula stays, and how fast it moves with each name.

Forward-mode differentiation in interval arithmetic: each node gets an interval for its value and
one per name for its slope. Where ``min``, ``max`` and ``abs`` switch branches, the slope is the
hull of the branches (their generalised gradient), so a sign that it proves holds across the switch.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from rewardhub.expression.errors import ExpressionError
from rewardhub.expression.intervals import Interval, hull
from rewardhub.expression.parse import Expression
from rewardhub.expression.tree import (
    Arithmetic,
    Call,
    Condition,
    Formula,
    Name,
    Negative,
    Number,
)

__all__ = [
    "UNIT",
    "Bound",
    "Bounds",
    "Box",
    "bound_of",
    "box_of",
    "falls",
    "interval",
    "range_of",
    "rises",
]

Bounds: TypeAlias = Mapping[str, tuple[float, float]]
Box: TypeAlias = Mapping[str, Interval]

UNIT: Bounds = MappingProxyType({})
"""Every name in [0, 1], as every part of a reward is."""

_ZERO = Interval(0.0, 0.0)
_ONE = Interval(1.0, 1.0)
_SLACK = 1e-12  # what rounding may push a slope of 0 to


class Bound(NamedTuple):
    """What holds for a formula all over a box: its value, and its slope in each of its names."""

    value: Interval
    slopes: Mapping[str, Interval]


def interval(expression: Expression, bounds: Bounds = UNIT) -> Interval:
    """Return an interval that holds every value of a formula; names lie in ``bounds``, else [0, 1].

    It is exact, up to rounding, where the formula provably rises or falls in each name.

    Raises:
        ExpressionError: for a condition, for a division by something that can be 0, and where the
            formula outgrows a float.
        ValueError: when a bound is no interval.
    """
    if isinstance(expression.tree, Condition):
        raise ExpressionError(
            "A condition is true or false: only formulas have bounds.", expression.text, 0
        )
    return range_of(expression.tree, box_of(expression, bounds), expression.text)


def box_of(expression: Expression, bounds: Bounds) -> Box:
    """Return the interval of each name that ``expression`` reads."""
    return {name: Interval(*bounds.get(name, (0.0, 1.0))) for name in expression.names}


def range_of(node: Formula, box: Box, text: str) -> Interval:
    """Return an interval that holds every value of ``node`` on ``box``.

    A name in which the formula only rises (or falls) is set to the end where the formula is lowest,
    then to the other, so it counts once however often it appears: ``a * (1 - b) + b`` stays in
    [0, 1], while plain interval arithmetic says [0, 2].
    """
    whole, slopes = bound_of(node, box, text)
    lowest, highest = dict(box), dict(box)
    for name, slope in slopes.items():
        ends = Interval.at(box[name].low), Interval.at(box[name].high)
        if rises(slope):
            lowest[name], highest[name] = ends
        elif falls(slope):
            highest[name], lowest[name] = ends
    low = max(whole.low, bound_of(node, lowest, text).value.low)
    high = min(whole.high, bound_of(node, highest, text).value.high)
    # Rounding can cross the two ends of a constant.
    return Interval(min(low, high), max(low, high))


def rises(slope: Interval) -> bool:
    """Return whether a formula with this slope never falls."""
    return slope.low >= -_SLACK


def falls(slope: Interval) -> bool:
    """Return whether a formula with this slope never rises."""
    return slope.high <= _SLACK


def bound_of(node: Formula, box: Box, text: str) -> Bound:
    """Return the bound of ``node``, a part of the expression ``text``, on ``box``.

    Raises:
        ExpressionError: for a division by an interval that holds 0, and beyond what a float holds.
    """
    match node:
        case Number(number):
            return Bound(Interval.at(number), {})
        case Name(name):
            return Bound(box[name], {name: _ONE})
        case Negative():
            return _negated(bound_of(node.operand, box, text))
        case Call():
            return _called(node.function, [bound_of(each, box, text) for each in node.arguments])
        case Arithmetic():
            left, right = bound_of(node.left, box, text), bound_of(node.right, box, text)
            if node.operator == "/" and 0.0 in right.value:
                problem = (
                    f"The divisor can be 0: it lies between {right.value.low:g} and "
                    f"{right.value.high:g}. Keep it away from 0, say by `max`."
                )
                raise ExpressionError(problem, text, node.position)
            try:
                return _joined(node.operator, left, right)
            except ValueError:
                problem = "This can grow larger than a float holds. Use smaller numbers."
                raise ExpressionError(problem, text, node.position) from None


def _joined(operator: str, left: Bound, right: Bound) -> Bound:
    u, v = left.value, right.value
    both = {
        name: (left.slopes.get(name, _ZERO), right.slopes.get(name, _ZERO))
        for name in {**left.slopes, **right.slopes}
    }
    match operator:
        case "+":
            return Bound(u + v, {name: du + dv for name, (du, dv) in both.items()})
        case "-":
            return Bound(u - v, {name: du - dv for name, (du, dv) in both.items()})
        case "*":
            return Bound(u * v, {name: du * v + u * dv for name, (du, dv) in both.items()})
        case _:
            ratio = u / v
            # Not (du v - u dv) / v^2: the square of a small v could round to 0.
            slopes = {name: (du - ratio * dv) / v for name, (du, dv) in both.items()}
            return Bound(ratio, slopes)


def _called(function: str, arguments: list[Bound]) -> Bound:
    match function:
        case "abs":
            return _absolute(arguments[0])
        case "min":
            return _smallest(arguments)
        case _:
            return _negated(_smallest([_negated(argument) for argument in arguments]))


def _negated(bound: Bound) -> Bound:
    return Bound(-bound.value, {name: -slope for name, slope in bound.slopes.items()})


def _absolute(bound: Bound) -> Bound:
    if bound.value.low >= 0.0:
        return bound
    mirrored = _negated(bound)
    if bound.value.high <= 0.0:
        return mirrored
    value = Interval(0.0, max(bound.value.high, mirrored.value.high))
    return Bound(value, {name: hull(slope, -slope) for name, slope in bound.slopes.items()})


def _smallest(arguments: list[Bound]) -> Bound:
    leader = min(arguments, key=lambda argument: argument.value.high)
    # What never falls below the leader never decides, so its slopes do not count.
    rivals = [each for each in arguments if each is leader or each.value.low < leader.value.high]
    value = Interval(min(rival.value.low for rival in rivals), leader.value.high)
    names = dict.fromkeys(name for rival in rivals for name in rival.slopes)
    slopes = {name: hull(*(rival.slopes.get(name, _ZERO) for rival in rivals)) for name in names}
    return Bound(value, slopes)

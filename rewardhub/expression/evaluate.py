"""A tree to closures that evaluate it, built once.

Every closure reads all that is below it: ``and`` and ``or`` do not stop early, so an expression
reads the same names whatever their values are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from rewardhub.errors import did_you_mean
from rewardhub.expression.errors import ExpressionError
from rewardhub.expression.tree import (
    Arithmetic,
    Call,
    Comparison,
    Condition,
    Formula,
    Junction,
    Literally,
    Name,
    Negative,
    Not,
    Number,
    Truth,
)

__all__ = ["TOLERANCE", "Value", "Values", "compiled_condition", "compiled_formula"]

TOLERANCE = 1e-9
"""Numbers that differ by no more than this are equal."""

Value: TypeAlias = float | str
Values: TypeAlias = Mapping[str, Value]
_Reader: TypeAlias = Callable[[Values], object]
_Formula: TypeAlias = Callable[[Values], float]
_Condition: TypeAlias = Callable[[Values], bool]


def compiled_formula(node: Formula, text: str) -> _Formula:
    """Return a closure that computes ``node``, a part of the expression ``text``."""
    match node:
        case Number(number):
            return lambda _: number
        case Name():
            return _number_reader(node, text)
        case Negative():
            operand = compiled_formula(node.operand, text)
            return lambda values: -operand(values)
        case Call():
            return _call(node, text)
        case Arithmetic():
            return _arithmetic(node, text)


def compiled_condition(node: Condition, text: str) -> _Condition:
    """Return a closure that decides ``node``, a part of the expression ``text``."""
    match node:
        case Truth(truth):
            return lambda _: truth
        case Not():
            operand = compiled_condition(node.operand, text)
            return lambda values: not operand(values)
        case Junction():
            left, right = compiled_condition(node.left, text), compiled_condition(node.right, text)
            if node.operator == "and":
                return lambda values: left(values) & right(values)
            return lambda values: left(values) | right(values)
        case Comparison(operator="=="):
            return _same(node, text)
        case Comparison(operator="!="):
            same = _same(node, text)
            return lambda values: not same(values)
        case Comparison():
            return _ordered(node, text)


def _reader(node: Name, text: str) -> _Reader:
    name = node.name

    def read(values: Values) -> object:
        try:
            return values[name]
        except KeyError:
            problem = f"No value is called `{name}`.{did_you_mean(name, values)}"
            raise ExpressionError(problem, text, node.position) from None

    return read


def _number_reader(node: Name, text: str) -> _Formula:
    read = _reader(node, text)

    def read_number(values: Values) -> float:
        value = read(values)
        if isinstance(value, (float, int)):
            return value
        problem = (
            f"`{node.name}` holds {value!r:.40}, and a number is needed. Only `==` takes text."
        )
        raise ExpressionError(problem, text, node.position)

    return read_number


def _call(node: Call, text: str) -> _Formula:
    arguments = [compiled_formula(argument, text) for argument in node.arguments]
    first = arguments[0]
    if node.function == "abs":
        return lambda values: abs(first(values))
    choose = min if node.function == "min" else max
    return lambda values: choose([argument(values) for argument in arguments])


def _arithmetic(node: Arithmetic, text: str) -> _Formula:
    left, right = compiled_formula(node.left, text), compiled_formula(node.right, text)
    match node.operator:
        case "+":
            return lambda values: left(values) + right(values)
        case "-":
            return lambda values: left(values) - right(values)
        case "*":
            return lambda values: left(values) * right(values)
        case "/":

            def quotient(values: Values) -> float:
                try:
                    return left(values) / right(values)
                except ZeroDivisionError:
                    problem = "Division by zero. Keep the divisor away from 0, say by `max`."
                    raise ExpressionError(problem, text, node.position) from None

            return quotient


def _ordered(node: Comparison, text: str) -> _Condition:
    """Return the closure of an order: what is within the tolerance counts as equal."""
    # The types allow text on either side; the parser has refused it for these operators.
    assert not isinstance(node.left, Literally)
    assert not isinstance(node.right, Literally)
    left, right = compiled_formula(node.left, text), compiled_formula(node.right, text)

    def difference(values: Values) -> float:
        return _checked(left(values) - right(values), text, node.position)

    match node.operator:
        case ">":
            return lambda values: difference(values) > TOLERANCE
        case ">=":
            return lambda values: difference(values) >= -TOLERANCE
        case "<":
            return lambda values: difference(values) < -TOLERANCE
        case _:
            return lambda values: difference(values) <= TOLERANCE


def _same(node: Comparison, text: str) -> _Condition:
    """Return the closure of an equality: text is equal to itself, and never to a number."""
    left, right = _side(node.left, text), _side(node.right, text)

    def same(values: Values) -> bool:
        one, other = left(values), right(values)
        if one == other:
            return True
        if isinstance(one, (float, int)) and isinstance(other, (float, int)):
            return abs(_checked(one - other, text, node.position)) <= TOLERANCE
        return False

    return same


def _side(node: Formula | Literally, text: str) -> _Reader:
    match node:
        case Literally(value):
            return lambda _: value
        case Name():
            return _reader(node, text)
        case _:
            return compiled_formula(node, text)


def _checked(difference: float, text: str, position: int) -> float:
    """Return ``difference``, unless it is no number: then no comparison would be true or false."""
    if difference != difference:  # noqa: PLR0124 (only NaN differs from itself)
        raise ExpressionError("One side is not a number, so they do not compare.", text, position)
    return difference

"""Tokens to a tree: a Pratt parser that checks what is a number and what is a condition.

From the loosest to the tightest: or; and; not; comparison; + -; * /; unary minus.
"""

from __future__ import annotations

import math

from rewardhub.expression.errors import ExpressionError
from rewardhub.expression.tokens import FUNCTIONS, Token, tokens_of
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
    Node,
    Not,
    Number,
    Truth,
)

__all__ = ["MAX_NESTING", "MAX_OPERATORS", "tree_of"]

MAX_NESTING = 50
"""How deep parentheses, functions and signs may nest."""

MAX_OPERATORS = 100
"""How many operators between two sides an expression may have.

Together with ``MAX_NESTING`` it bounds the height of the tree, and so the recursion of whatever
walks it, far below Python's own limit.
"""

_OR, _AND, _NOT, _COMPARE, _ADD, _MULTIPLY, _SIGN = range(1, 8)
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_POWERS = {
    "or": _OR,
    "and": _AND,
    **dict.fromkeys(_COMPARISONS, _COMPARE),
    "+": _ADD,
    "-": _ADD,
    "*": _MULTIPLY,
    "/": _MULTIPLY,
}


def tree_of(text: str, *, dotted: bool) -> Formula | Condition:
    """Return the tree of ``text``.

    Raises:
        ExpressionError: for anything that is no expression, and over the limits.
    """
    parser = _Parser(text, dotted=dotted)
    node = parser.operation(loosest=_OR)
    parser.expect_end()
    if isinstance(node, Literally):
        raise parser.error("Text alone says nothing. Compare it with a field by `==`.", node)
    return node


class _Parser:
    def __init__(self, text: str, *, dotted: bool) -> None:
        self.text = text
        self.tokens = tuple(tokens_of(text, dotted=dotted))
        self.index = 0
        self.nesting = 0
        self.operators = 0

    def error(self, problem: str, at: Token | Node) -> ExpressionError:
        return ExpressionError(problem, self.text, at.position)

    @property
    def next(self) -> Token:
        return self.tokens[self.index]

    def take(self) -> Token:
        token = self.next
        self.index += 1
        return token

    def at(self, mark: str) -> bool:
        return self.next.kind == "mark" and self.next.text == mark

    def expect(self, mark: str, reason: str) -> None:
        if not self.at(mark):
            raise self.error(f"Expected `{mark}` {reason}, found {_shown(self.next)}.", self.next)
        self.take()

    def expect_end(self) -> None:
        if self.next.kind == "end":
            return
        if self.at(")"):
            raise self.error("This `)` closes nothing. Take it out, or open it before.", self.next)
        problem = f"Expected an operator before {_shown(self.next)}, such as `and` or `+`."
        raise self.error(problem, self.next)

    def operation(self, *, loosest: int) -> Node:
        """Read operands joined by operators that bind at least as tight as ``loosest``."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise self.error(f"Nested deeper than {MAX_NESTING} levels. Simplify.", self.next)
        left = self.operand()
        while True:
            power = _POWERS.get(self.next.text, 0) if self.next.kind == "mark" else 0
            if power < loosest:
                break
            operator = self.take()
            self.operators += 1
            if self.operators > MAX_OPERATORS:
                raise self.error(f"More than {MAX_OPERATORS} operators. Simplify.", operator)
            left = self.joined(operator, left, self.operation(loosest=power + 1))
        self.nesting -= 1
        return left

    def operand(self) -> Node:
        token = self.take()
        match token.kind:
            case "number":
                return self.number(token)
            case "name":
                return Name(token.text, token.position)
            case "string":
                return Literally(token.text[1:-1], token.position)
            case "mark" if token.text in FUNCTIONS:
                return self.call(token)
            case "mark" if token.text in ("true", "false"):
                return Truth(token.text == "true", token.position)
            case "mark" if token.text == "not":
                operand = self.operation(loosest=_NOT)
                return Not(self.condition(operand, token), token.position)
            case "mark" if token.text == "-":
                operand = self.operation(loosest=_SIGN)
                return Negative(self.formula(operand, token), token.position)
            case "mark" if token.text == "(":
                inner = self.operation(loosest=_OR)
                self.expect(")", "to close the parenthesis")
                return inner
            case _:
                problem = f"Expected a number, a name or `(`, found {_shown(token)}."
                raise self.error(problem, token)

    def number(self, token: Token) -> Number:
        value = float(token.text)
        if not math.isfinite(value):
            raise self.error(f"{token.text} is larger than a float can hold.", token)
        return Number(value, token.position)

    def call(self, function: Token) -> Call:
        self.expect("(", f"after `{function.text}`")
        arguments = [self.formula(self.operation(loosest=_OR), function)]
        while self.at(","):
            self.take()
            arguments.append(self.formula(self.operation(loosest=_OR), function))
        self.expect(")", f"to close `{function.text}(`")
        if function.text == "abs" and len(arguments) > 1:
            raise self.error(f"`abs` takes one number, not {len(arguments)}.", function)
        match function.text:
            case "min" | "max" | "abs" as name:
                return Call(name, tuple(arguments), function.position)
            case _:
                raise AssertionError(function)

    def joined(self, token: Token, left: Node, right: Node) -> Formula | Condition:
        match token.text:
            case "and" | "or" as operator:
                sides = self.condition(left, token), self.condition(right, token)
                return Junction(operator, *sides, token.position)
            case "==" | "!=" as operator:
                texts = self.comparable(left, token), self.comparable(right, token)
                return Comparison(operator, *texts, token.position)
            case "<" | "<=" | ">" | ">=" as operator:
                numbers = self.formula(left, token), self.formula(right, token)
                return Comparison(operator, *numbers, token.position)
            case "+" | "-" | "*" | "/" as operator:
                numbers = self.formula(left, token), self.formula(right, token)
                return Arithmetic(operator, *numbers, token.position)
            case _:
                raise AssertionError(token)

    def comparable(self, node: Node, user: Token) -> Formula | Literally:
        return node if isinstance(node, Literally) else self.formula(node, user)

    def formula(self, node: Node, user: Token) -> Formula:
        """Return ``node`` as the formula that the token ``user`` needs."""
        if isinstance(node, Literally):
            problem = (
                f"`{user.text}` needs numbers, and this is text. Only `==` and `!=` take text."
            )
            raise self.error(problem, node)
        if not isinstance(node, Condition):
            return node
        hint = "Compare numbers, not conditions."
        if user.text in _COMPARISONS and isinstance(node, Comparison):
            hint = "Comparisons do not chain: say `0.2 < a and a < 0.8`, not `0.2 < a < 0.8`."
        elif isinstance(node, Truth):
            hint = f"Say `{int(node.value)}` for `{str(node.value).lower()}`."
        problem = f"`{user.text}` needs numbers, and this is a condition. {hint}"
        raise self.error(problem, node)

    def condition(self, node: Node, user: Token) -> Condition:
        """Return ``node`` as the condition that the token ``user`` needs."""
        if isinstance(node, Condition):
            return node
        what = "text" if isinstance(node, Literally) else "a number"
        name = node.name if isinstance(node, Name) else "tests"
        problem = f"`{user.text}` needs conditions, and this is {what}. Compare it: `{name} == 1`."
        raise self.error(problem, node)


def _shown(token: Token) -> str:
    return "the end" if token.kind == "end" else f"`{token.text}`"

"""What an expression is made of: a tree of formulas (numbers) and conditions (true or false).

The types keep the two apart, so no tree can add a condition or negate a number. ``position`` is the
0-based offset of a node's own token: for ``a / b`` that of ``/``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = [
    "Arithmetic",
    "Call",
    "Comparison",
    "Condition",
    "Formula",
    "Junction",
    "Literally",
    "Name",
    "Negative",
    "Node",
    "Not",
    "Number",
    "Truth",
    "children_of",
    "names_in",
]


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written."""

    value: float
    position: int


@dataclass(frozen=True, slots=True)
class Name:
    """The value that is looked up when the expression is evaluated."""

    name: str
    position: int


@dataclass(frozen=True, slots=True)
class Negative:
    """Unary minus."""

    operand: Formula
    position: int


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two formulas joined by an operator."""

    operator: Literal["+", "-", "*", "/"]
    left: Formula
    right: Formula
    position: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function of one formula (abs) or of one or more (min, max)."""

    function: Literal["min", "max", "abs"]
    arguments: tuple[Formula, ...]
    position: int


@dataclass(frozen=True, slots=True)
class Literally:
    """Text in quotes."""

    value: str
    position: int


@dataclass(frozen=True, slots=True)
class Truth:
    """``true`` or ``false``."""

    value: bool
    position: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two formulas compared; text only by ``==`` and ``!=``."""

    operator: Literal["==", "!=", "<", "<=", ">", ">="]
    left: Formula | Literally
    right: Formula | Literally
    position: int


@dataclass(frozen=True, slots=True)
class Not:
    """A condition turned round."""

    operand: Condition
    position: int


@dataclass(frozen=True, slots=True)
class Junction:
    """Two conditions joined."""

    operator: Literal["and", "or"]
    left: Condition
    right: Condition
    position: int


Formula: TypeAlias = Number | Name | Negative | Arithmetic | Call
Condition: TypeAlias = Truth | Comparison | Not | Junction
Node: TypeAlias = Formula | Condition | Literally


def children_of(node: Node) -> tuple[Node, ...]:
    """Return the nodes right below ``node``, from left to right."""
    match node:
        case Arithmetic() | Comparison() | Junction():
            return node.left, node.right
        case Negative() | Not():
            return (node.operand,)
        case Call():
            return node.arguments
        case Number() | Name() | Literally() | Truth():
            return ()


def names_in(node: Node) -> Iterator[str]:
    """Yield every name below ``node`` from left to right, as often as it appears."""
    if isinstance(node, Name):
        yield node.name
    for child in children_of(node):
        yield from names_in(child)

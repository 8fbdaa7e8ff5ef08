"""The way in: text to an Expression."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from rewardhub.expression.errors import ExpressionError
from rewardhub.expression.evaluate import Values, compiled_condition, compiled_formula
from rewardhub.expression.grammar import tree_of
from rewardhub.expression.tree import Condition, Formula, names_in

__all__ = ["Expression", "parse"]


@dataclass(frozen=True, slots=True)
class Expression:
    """A condition or a formula, parsed and checked. Made by ``parse``.

    Attributes:
        text: what was parsed.
        names: every name it reads, once each, in the order of their first appearance.
        is_condition: whether it is true or false, and not a number.
        tree: its root, for whoever reasons about it.
    """

    text: str
    names: tuple[str, ...] = field(compare=False)
    is_condition: bool = field(compare=False)
    tree: Formula | Condition = field(repr=False)
    _compiled: Callable[[Values], float | bool] = field(repr=False, compare=False)

    def evaluate(self, values: Values) -> float | bool:
        """Return a bool for a condition, a finite float for a formula.

        Every name in ``names`` is looked up in ``values``, whatever the others are. Numbers within
        1e-9 of each other are equal: ``a >= b`` holds from b - 1e-9 on, ``a > b`` above b + 1e-9.
        A bool in ``values`` is 0 or 1. Text (which only dotted expressions compare) never equals a
        number.

        Raises:
            ExpressionError: for a name that ``values`` lacks, text where a number is needed, a
                division by zero, and a result that no float holds.
        """
        try:
            result = self._compiled(values)
            if self.is_condition:
                return result
            result = float(result)
        except OverflowError:
            raise ExpressionError("A number is larger than a float holds.", self.text, 0) from None
        if not math.isfinite(result):
            raise ExpressionError(f"The result is {result}, not a number.", self.text, 0)
        return result


def parse(text: str, *, dotted: bool = False) -> Expression:
    """Return the condition or formula that ``text`` says.

    The language: numbers, names, ``true`` and ``false``, comparison (== != < <= > >=), and, or,
    not, + - * /, min(...), max(...), abs(x) and parentheses. With ``dotted``, names may have dots
    (``task.metadata.level``) and may be compared with text in quotes by ``==`` and ``!=``; a quote
    holds everything up to the next quote of its kind, backslashes included.

    Raises:
        ExpressionError: with the ``position`` of the first mistake. Conditions and numbers do not
            mix: ``a + (b > 1)`` is a mistake, as is ``a and b`` for numbers.
    """
    tree = tree_of(text, dotted=dotted)
    names = tuple(dict.fromkeys(names_in(tree)))
    if isinstance(tree, Condition):
        return Expression(text, names, True, tree, compiled_condition(tree, text))
    return Expression(text, names, False, tree, compiled_formula(tree, text))

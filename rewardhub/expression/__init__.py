"""The small safe language of conditions and formulas in a reward spec.

``parse`` reads it, ``Expression.evaluate`` computes it, ``interval`` says where a formula stays,
and ``why_not_monotone`` whether passing more could ever pay less. Nothing is handed to ``eval``;
length, nesting and operators are limited, so no text can hang or overflow what reads it.
"""

from rewardhub.expression.bounds import interval
from rewardhub.expression.errors import ExpressionError
from rewardhub.expression.evaluate import TOLERANCE
from rewardhub.expression.intervals import Interval
from rewardhub.expression.monotone import why_not_monotone
from rewardhub.expression.parse import Expression, parse
from rewardhub.expression.tokens import is_name

__all__ = [
    "TOLERANCE",
    "Expression",
    "ExpressionError",
    "Interval",
    "interval",
    "is_name",
    "parse",
    "why_not_monotone",
]

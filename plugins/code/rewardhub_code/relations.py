"""What the inputs of a task have to do with each other, as far as it shows in all of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any, TypeAlias

Args: TypeAlias = tuple[Any, ...]
Relation: TypeAlias = Callable[[Args], bool]

_FEWEST = 2
"""From fewer inputs nothing is concluded."""
_COMPARISONS = (operator.eq, operator.lt, operator.gt, operator.le, operator.ge)
"""The strongest first."""


def relations_of(inputs: Sequence[Args]) -> list[Relation]:
    """Return what holds for all ``inputs``: an index below a length, two lists as long, sorted.

    Compared are whole numbers and the lengths of texts and collections, two by two; and a list
    that is sorted, or has no item twice, in all inputs stays so. What holds by chance only makes
    further inputs fewer; what is missed lets some in that the task would never give.
    """
    if len(inputs) < _FEWEST or len({len(args) for args in inputs}) > 1:
        return []
    return [
        *_comparisons(inputs),
        *(
            relation
            for place in range(len(inputs[0]))
            for relation in (_is_sorted(place), _is_unique(place))
            if all(relation(args) for args in inputs)
        ),
    ]


def _comparisons(inputs: Sequence[Args]) -> Iterator[Relation]:
    for one, other in combinations(range(len(inputs[0])), 2):
        pairs = [(_measure(args[one]), _measure(args[other])) for args in inputs]
        if any(None in pair for pair in pairs):
            continue
        for compare in _COMPARISONS:
            if all(_compared(one, other, compare)(args) for args in inputs):
                yield _compared(one, other, compare)
                break


def _compared(one: int, other: int, compare: Callable[[Any, Any], Any]) -> Relation:
    def holds(args: Args) -> bool:
        left, right = _measure(args[one]), _measure(args[other])
        return left is not None and right is not None and bool(compare(left, right))

    return holds


def _measure(value: Any) -> int | None:
    if type(value) is int:
        return value
    return len(value) if isinstance(value, str | bytes | list | tuple | set | dict) else None


def _is_sorted(place: int) -> Relation:
    def holds(args: Args) -> bool:
        value = args[place]
        try:
            return isinstance(value, list) and value == sorted(value)
        except TypeError:
            return False

    return holds


def _is_unique(place: int) -> Relation:
    def holds(args: Args) -> bool:
        value = args[place]
        return isinstance(value, list) and len({repr(item) for item in value}) == len(value)

    return holds

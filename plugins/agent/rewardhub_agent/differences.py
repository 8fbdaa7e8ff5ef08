"""Where two JSON values differ: paths, what was expected, what came."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from rewardhub_agent.pairing import pair
from rewardhub_agent.values import MISSING, Json, canonical, is_array, names_of, pointer, same_leaf

Names = tuple[str, ...]
_CLOSEST = 200
"""Unordered lists are paired item by item up to this many items that are not simply equal."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where the values differ; `MISSING` where one of them has nothing there."""

    path: str
    expected: Json
    got: Json

    def as_json(self) -> dict[str, Json]:
        """Return it as evidence: a side that has nothing there is left out."""
        found = {"path": self.path, "expected": self.expected, "got": self.got}
        return {key: value for key, value in found.items() if value is not MISSING}


def pattern_of(path: str) -> Names:
    """Return the names of a path in which ``*`` stands for any one name.

    Raises:
        ValueError: if it is no JSON Pointer.
    """
    return names_of(path)


@dataclass(frozen=True)
class Comparison:
    """How values are compared.

    Attributes:
        ignore: paths that do not count.
        unordered: paths of lists whose order does not count.
        tolerance: how far numbers may lie apart.
    """

    ignore: Sequence[str] = ()
    unordered: Sequence[str] = ()
    tolerance: float = 0.0

    @cached_property
    def _ignored(self) -> tuple[Names, ...]:
        return tuple(pattern_of(path) for path in self.ignore)

    @cached_property
    def _any_order(self) -> tuple[Names, ...]:
        return tuple(pattern_of(path) for path in self.unordered)

    def reduced(self, value: Json, at: Names = ()) -> Json:
        """Return ``value`` without what is ignored, and unordered lists sorted."""
        if isinstance(value, Mapping):
            return {
                name: self.reduced(item, (*at, name))
                for name, item in cast("Mapping[str, Json]", value).items()
                if not _matches((*at, name), self._ignored)
            }
        if not is_array(value):
            return value
        items = [
            self.reduced(item, (*at, str(number)))
            for number, item in enumerate(value)
            if not _matches((*at, str(number)), self._ignored)
        ]
        return sorted(items, key=canonical) if _matches(at, self._any_order) else items

    def size(self, value: Json) -> int:
        """Return the number of values that count in ``value``."""
        return sum(1 for _ in _leaves(self.reduced(value)))

    def differences(self, expected: Json, got: Json) -> list[Difference]:
        """Return every place where ``got`` is not as expected, in order of the document."""
        return list(self._differences(expected, got, ()))

    def _differences(self, expected: Json, got: Json, at: Names) -> Iterator[Difference]:
        if _matches(at, self._ignored):
            return
        if isinstance(expected, Mapping) and isinstance(got, Mapping):
            for name in dict.fromkeys((*expected, *got)):
                one, other = expected.get(name, MISSING), got.get(name, MISSING)
                yield from self._differences(one, other, (*at, name))
        elif is_array(expected) and is_array(got):
            if _matches(at, self._any_order):
                yield from self._unordered(expected, got, at)
                return
            for number in range(max(len(expected), len(got))):
                one = expected[number] if number < len(expected) else MISSING
                other = got[number] if number < len(got) else MISSING
                yield from self._differences(one, other, (*at, str(number)))
        elif not same_leaf(expected, got, self.tolerance):
            yield from self._apart(expected, got, at)

    def _apart(self, expected: Json, got: Json, at: Names) -> Iterator[Difference]:
        """Yield what is there on one side only, value by value, or the two as a whole."""
        one_side = got if expected is MISSING else expected if got is MISSING else MISSING
        if one_side is MISSING or not (isinstance(one_side, Mapping) or is_array(one_side)):
            yield Difference(pointer(*at), expected, got)
            return
        for names in _leaves(self.reduced(one_side, at)):
            yield Difference(
                pointer(*at, *names),
                MISSING if expected is MISSING else _inside(expected, names),
                MISSING if got is MISSING else _inside(got, names),
            )

    def _unordered(
        self, expected: Sequence[Json], got: Sequence[Json], at: Names
    ) -> Iterator[Difference]:
        left = [self.reduced(item, (*at, "*")) for item in expected]
        right = [self.reduced(item, (*at, "*")) for item in got]
        keys = [canonical(item) for item in right]
        places: dict[str, list[int]] = {}
        for number in reversed(range(len(right))):
            places.setdefault(keys[number], []).append(number)
        unmatched = [
            number for number, item in enumerate(left) if not _take(places, canonical(item))
        ]
        over = sorted(number for numbers in places.values() for number in numbers)
        if max(len(unmatched), len(over)) <= _CLOSEST:
            edges = [
                [
                    place
                    for place, other in enumerate(over)
                    if not any(self._differences(left[number], right[other], (*at, "*")))
                ]
                for number in unmatched
            ]
            paired = pair(edges)
            unmatched = [n for i, n in enumerate(unmatched) if i not in paired.values()]
            over = [other for place, other in enumerate(over) if place not in paired]
        for number in unmatched:
            yield from self._apart(left[number], MISSING, (*at, str(number)))
        for number in over:
            yield from self._apart(MISSING, right[number], (*at, str(number)))


def _take(places: dict[str, list[int]], key: str) -> bool:
    """Take one place away; return whether there was one."""
    if places.get(key):
        places[key].pop()
        return True
    return False


def _matches(at: Names, patterns: Sequence[Names]) -> bool:
    return any(
        len(pattern) == len(at)
        and all(one in {"*", name} or name == "*" for one, name in zip(pattern, at, strict=True))
        for pattern in patterns
    )


def _leaves(value: Json, at: Names = ()) -> Iterator[Names]:
    """Yield the path of every value that holds no other; empty containers are values."""
    if isinstance(value, Mapping) and value:
        for name, item in cast("Mapping[str, Json]", value).items():
            yield from _leaves(item, (*at, name))
    elif is_array(value) and value:
        for number, item in enumerate(value):
            yield from _leaves(item, (*at, str(number)))
    else:
        yield at


def _inside(value: Json, names: Names) -> Json:
    for name in names:
        value = value[int(name)] if is_array(value) else value[name]
    return value

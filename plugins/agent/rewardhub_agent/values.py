"""JSON values: equality that keeps the kinds apart, a canonical text, and paths."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard, cast

Json: TypeAlias = Any
"""Any JSON value. Records keep arrays as tuples; lists are taken as well."""

MISSING = object()
"""What stands at a path that is not there; null is a value."""


def is_array(value: Json) -> TypeGuard[Sequence[Json]]:
    """Return whether ``value`` is a JSON array."""
    return isinstance(value, list | tuple)


def is_number(value: Json) -> bool:
    """Return whether ``value`` is a JSON number: true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def plain(value: Json) -> Json:
    """Return ``value`` in dicts and lists, as libraries expect it."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if is_array(value) else value


def is_deeper(value: Json, levels: int) -> bool:
    """Return whether containers in ``value`` are nested more than ``levels`` deep."""
    layer: list[Json] = [value]
    for _ in range(levels + 1):
        layer = [item for each in layer for item in _items(each)]
        if not layer:
            return False
    return True


def _items(value: Json) -> Iterable[Json]:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Json]", value).values()
    return value if is_array(value) else ()


def canonical(value: Json) -> str:
    """Return a text that equal JSON values share: fields sorted, 1.0 written as 1.

    JSON has one kind of number, so a whole number is written the same way however it came, as
    RFC 8785 has it. Other numbers are written in the shortest form that reads back.
    """
    return json.dumps(_whole(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _whole(value: Json) -> Json:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _whole(item) for key, item in value.items()}
    return [_whole(item) for item in value] if is_array(value) else value


def sha256(value: Json) -> str:
    """Return the SHA-256 of the canonical text of ``value``, in hexadecimal."""
    return hashlib.sha256(canonical(value).encode("utf-8")).hexdigest()


def same_leaf(one: Json, other: Json, tolerance: float = 0.0) -> bool:
    """Return whether two values that are no containers are equal.

    Numbers are compared by value, within ``tolerance``; true is not 1 and "1" is not 1.
    """
    if is_number(one) and is_number(other):
        if one == other:
            return True
        try:
            return bool(tolerance > 0 and abs(one - other) <= tolerance)
        except OverflowError:  # a whole number that no float holds
            return False
    return type(one) is type(other) and bool(one == other)


def pointer(*names: str | int) -> str:
    """Return the path of ``names`` as a JSON Pointer (RFC 6901); the whole document is ``""``."""
    return "".join(f"/{str(name).replace('~', '~0').replace('/', '~1')}" for name in names)


def names_of(path: str) -> tuple[str, ...]:
    """Return the names in a JSON Pointer.

    Raises:
        ValueError: if it is none.
    """
    if path and not path.startswith("/"):
        raise ValueError(f"a path is a JSON Pointer as `/orders/0/status`, not `{path}`")
    return tuple(name.replace("~1", "/").replace("~0", "~") for name in path.split("/")[1:])


def at(value: Json, path: str) -> Json:
    """Return what stands at ``path`` (a JSON Pointer), or `MISSING`."""
    for name in names_of(path):
        if isinstance(value, Mapping):
            value = cast("Mapping[str, Json]", value).get(name, MISSING)
        elif is_array(value) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return MISSING
    return value


def short(value: Json, longest: int = 80) -> str:
    """Return ``value`` as one line of JSON for a reason, cut if it is long."""
    text = json.dumps(plain(value), ensure_ascii=False)
    return text if len(text) <= longest else f"{text[:longest]}..."

"""JSON values of unknown kind."""

from __future__ import annotations

from typing import Any, TypeGuard


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether ``value`` is a JSON object."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """Whether ``value`` is a JSON array."""
    return isinstance(value, list)


def kind_of(value: Any) -> str:
    """Return what ``value`` is, for a sentence: ``an array``."""
    kinds: dict[Any, str] = {dict: "an object", list: "an array", str: "a text", bool: "a boolean"}
    return "null" if value is None else kinds.get(type(value), "a number")

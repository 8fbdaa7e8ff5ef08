"""Taking fields out of a row, so that what nobody took is known in the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from pydantic_core import from_json

from rewardhub.builtin.formats.values import is_array, is_object, kind_of
from rewardhub.errors import RowError

Fields = dict[str, Any]


class Node:
    """A JSON object of a row, and where it stands there.

    ``take...`` removes a field and returns it; null counts as absent. `object` and `objects` lead
    to what stands below and remove nothing. A value of another kind than asked for is a RowError
    that names its place.
    """

    def __init__(self, fields: Fields, place: str = "") -> None:
        self.fields = fields
        self.place = place

    def where(self, key: str) -> str:
        """Return the place of the field ``key``, for a sentence."""
        return f"{self.place}.{key}" if self.place else key

    def has(self, *keys: str) -> bool:
        """Whether one of the fields is there, and not null."""
        return any(self.fields.get(key) is not None for key in keys)

    def take(self, key: str) -> Any:
        """Return the field, whatever it is."""
        return self.fields.pop(key, None)

    def take_text(self, key: str) -> str:
        """Return the text in the field; an empty one where it is absent."""
        value = self.fields.get(key)
        if value is not None and not isinstance(value, str):
            raise self.wrong(key, "a text")
        return self.take(key) or ""

    def take_id(self, key: str) -> str:
        """Return the text or the whole number in the field, as text."""
        value = self.fields.get(key)
        if value is not None and not isinstance(value, str) and type(value) is not int:
            raise self.wrong(key, "a text or a whole number")
        self.take(key)
        return "" if value is None else str(value)

    def take_number(self, key: str) -> float | None:
        """Return the number in the field, or None where it is absent."""
        value = self.fields.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(key, "a number")
        if isinstance(value, float) and not math.isfinite(value):
            raise self.wrong(key, "a finite number")
        return cast("float | None", self.take(key))

    def take_count(self, key: str) -> int | None:
        """Return the whole number in the field, or None where it is absent."""
        number = self.fields.get(key)
        if isinstance(number, float) and not number.is_integer():
            raise self.wrong(key, "a whole number")
        number = self.take_number(key)
        return None if number is None else int(number)

    def take_flag(self, key: str) -> bool:
        """Return the boolean in the field; false where it is absent."""
        if not isinstance(self.fields.get(key), bool | None):
            raise self.wrong(key, "a boolean")
        return bool(self.take(key))

    def object(self, key: str) -> Node:
        """Return the object under ``key``; an empty one where it is absent."""
        value = self.fields.get(key)
        if value is None:
            return Node({}, self.where(key))
        if not is_object(value):
            raise self.wrong(key, "an object")
        return Node(value, self.where(key))

    def objects(self, key: str) -> Sequence[Node]:
        """Return the objects in the list under ``key``; none where it is absent."""
        value = self.fields.get(key)
        if value is None:
            return ()
        if not is_array(value):
            raise self.wrong(key, "a list")
        nodes: list[Node] = []
        for index, item in enumerate(value):
            place = f"{self.where(key)}[{index}]"
            if not is_object(item):
                raise RowError(f"`{place}` is {kind_of(item)}, not an object")
            nodes.append(Node(item, place))
        return nodes

    def unfold(self, key: str) -> None:
        """Read the JSON in a field that holds it as text; leave any other text as it is."""
        value = self.fields.get(key)
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            try:
                self.fields[key] = from_json(value, allow_inf_nan=False)
            except ValueError:
                return

    def wrong(self, key: str, wanted: str) -> RowError:
        """Return the error for a field of the wrong kind."""
        return RowError(f"`{self.where(key)}` is {kind_of(self.fields.get(key))}, not {wanted}")


def left_of(value: Any) -> Any:
    """Return what was not taken out of ``value``, in its shape; None if that is nothing.

    A list keeps its length, with null for what was taken whole, so that what is left of the third
    message still stands third.
    """
    if is_object(value):
        kept = {key: rest for key, item in value.items() if (rest := left_of(item)) is not None}
        return kept or None
    if is_array(value):
        items = [left_of(item) for item in value]
        return None if all(item is None for item in items) else items
    return value

"""Columns of a row, and which field of ours each of them fills."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from pydantic_core import from_json

from rewardhub.builtin.formats.values import is_array, is_object, kind_of
from rewardhub.contracts import RawRow
from rewardhub.errors import RowError, UsageError, did_you_mean

Target = Literal["trajectory", "task"]
Converter = Callable[[str, Any], Any]


def read_object(row: RawRow) -> dict[str, Any]:
    """Return the JSON object in ``row``.

    Raises:
        RowError: if the row could not be cut, is not UTF-8, is no JSON, or is no object.
    """
    if row.error is not None:
        raise RowError(row.error)
    try:
        value = from_json(row.data, allow_inf_nan=False)
    except ValueError as error:
        value = _mended(row.data, error)
    if not is_object(value):
        raise RowError(f"the row is {kind_of(value)}, not a JSON object")
    return value


def _mended(data: bytes, error: ValueError) -> Any:
    r"""Return the JSON in ``data``, with what programs write into JSON that does not belong there.

    NaN and infinity become null. Halves of surrogate pairs (``\ud83d``), from texts cut between
    two UTF-16 units, become U+FFFD, as they do wherever records are written.

    Raises:
        RowError: if something else is wrong.
    """
    try:
        value = json.loads(data.decode(), parse_constant=lambda _: None)
        text = json.dumps(value, ensure_ascii=False)
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return from_json(whole, allow_inf_nan=False)
    except UnicodeDecodeError as undecodable:
        byte, column = data[undecodable.start], undecodable.start + 1
        raise RowError(f"the row is not UTF-8: byte 0x{byte:02x} at column {column}") from None
    except (ValueError, RecursionError):
        raise RowError(f"the row is no JSON: {error}") from None


def identifier(name: str, value: Any) -> str:
    """Return an id as text; whole numbers are accepted."""
    if isinstance(value, str):
        return value
    if type(value) is int:
        return str(value)
    raise RowError(f"`{name}` is a text or a whole number, not {kind_of(value)}")


def structured(name: str, value: Any) -> Any:
    """Return an object or an array, also where it is stored as text that holds its JSON."""
    if not isinstance(value, str):
        return value
    try:
        return from_json(value, allow_inf_nan=False)
    except ValueError as error:
        raise RowError(f"`{name}` is text, and no JSON: {error}") from None


def _named(_name: str, value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _mapping(name: str, value: Any) -> Any:
    value = structured(name, value)
    if not is_object(value):
        raise RowError(f"`{name}` is an object, not {kind_of(value)}")
    return value


class Place(NamedTuple):
    """Where a column goes: which record, which of its fields, converted how."""

    target: Target
    field: str
    convert: Converter | None = None


PLACES: dict[str, Place] = {
    "id": Place("trajectory", "id", identifier),
    "group": Place("trajectory", "group", identifier),
    "group_size": Place("trajectory", "group_size"),
    "status": Place("trajectory", "status"),
    "fault": Place("trajectory", "fault"),
    "reason": Place("trajectory", "reason"),
    "policy": Place("trajectory", "policy", _named),
    "artifacts": Place("trajectory", "artifacts", _mapping),
    "seconds": Place("trajectory", "seconds"),
    "tokens": Place("trajectory", "tokens"),
    "cost": Place("trajectory", "cost"),
    "metadata": Place("trajectory", "metadata", _mapping),
    "task_id": Place("task", "id", identifier),
    "domain": Place("task", "domain"),
    "tools": Place("task", "tools", structured),
    "reference": Place("task", "reference"),
    "checks": Place("task", "checks", _mapping),
    "files": Place("task", "files", _mapping),
    "environment": Place("task", "environment", _mapping),
    "split": Place("task", "split"),
    "task_metadata": Place("task", "metadata", _mapping),
}
"""Every field that a column may fill, whatever the shape of the row."""

OPEN_FIELDS = frozenset(
    {"artifacts", "metadata", "checks", "files", "environment", "task_metadata"}
)
"""Fields that ``--map`` may fill key by key: ``checks.code=tests``."""


def read_mapping(arguments: Iterable[str]) -> dict[str, str]:
    """Return the mapping in arguments such as ``reference=extra_info.ground_truth``.

    Raises:
        UsageError: for an argument without ``=``, or a field that is named twice.
    """
    mapping: dict[str, str] = {}
    for argument in arguments:
        field, equals, column = (part.strip() for part in argument.partition("="))
        if not equals or not field or not column:
            raise UsageError(f"`--map {argument}` must be `--map FIELD=COLUMN`.")
        if field in mapping:
            raise UsageError(f"`--map` names `{field}` twice: {mapping[field]} and {column}.")
        mapping[field] = column
    return mapping


@dataclass(frozen=True, slots=True)
class Columns:
    """A checked mapping.

    Attributes:
        pairs: the field (and the key in it, or an empty text), and the column that fills it.
        taken: the columns.
    """

    pairs: tuple[tuple[str, str, str], ...]
    taken: frozenset[str]

    def apply(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return ``row`` with the mapped fields in place of the columns that fill them.

        Raises:
            RowError: if a mapped column is absent.
        """
        mapped = {name: value for name, value in row.items() if name not in self.taken}
        for field, key, column in self.pairs:
            value = row[column] if column in row else _nested(row, column, field)
            if key:
                mapped[field] = {**_mapping(field, mapped.get(field) or {}), key: value}
            else:
                mapped[field] = value
        return mapped


@lru_cache(maxsize=64)
def columns_of(pairs: tuple[tuple[str, str], ...], shape: str, own: tuple[str, ...]) -> Columns:
    """Return the mapping ``pairs``, checked against the fields of a shape of rows.

    Raises:
        UsageError: for a field that the shape does not have, with the close one.
    """
    known = (*own, *PLACES)
    checked: list[tuple[str, str, str]] = []
    for field, column in sorted(pairs):
        name, dot, key = field.partition(".")
        if name not in known:
            hint = did_you_mean(name, known) or f" Its fields: {', '.join(known)}."
            raise UsageError(f"`--map {field}={column}`: {shape} rows have no `{name}`.{hint}")
        if dot and (name not in OPEN_FIELDS or not key):
            raise UsageError(
                f"`--map {field}={column}`: only {', '.join(sorted(OPEN_FIELDS))} can be filled "
                "key by key."
            )
        checked.append((name, key, column))
    return Columns(tuple(checked), frozenset(column for _, column in pairs))


def _nested(row: dict[str, Any], column: str, field: str) -> Any:
    value: Any = row
    for name in column.split("."):
        if is_object(value) and name in value:
            value = value[name]
        elif is_array(value) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            there = ", ".join(f"`{known}`" for known in list(row)[:20]) or "none"
            raise RowError(
                f"column `{column}`, mapped to `{field}`, is missing; the row has {there}"
            )
    return value

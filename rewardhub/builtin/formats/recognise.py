"""Which reader a file needs, and which writer: by its first row, by its name's ending, or named."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic_core import from_json, to_json

from rewardhub.builtin.formats.columns import read_object
from rewardhub.builtin.formats.cutting import cut, head_of
from rewardhub.builtin.formats.values import is_object
from rewardhub.errors import RowError, UsageError
from rewardhub.host import ReaderCard, Registered, Registry, WriterCard

_ROWS_TRIED = 100


def is_native(head: bytes) -> bool:
    """Whether ``head`` begins with a Trajectory record."""
    row = _first_object(head)
    return is_object(row.get("task")) and "steps" in row


def is_completion(head: bytes) -> bool:
    """Whether ``head`` begins with a row that has a ``completion``."""
    return "completion" in _first_object(head)


def is_chat(head: bytes) -> bool:
    """Whether ``head`` begins with a row that has ``messages``, and no ``completion``."""
    row = _first_object(head)
    return "messages" in row and "completion" not in row


def _first_object(head: bytes) -> dict[str, Any]:
    """Return the JSON object on the first line of ``head``, or as much of it as is there."""
    line, newline, _ = head.lstrip().partition(b"\n")
    try:
        row = from_json(line, allow_partial=False if newline else "trailing-strings")
    except ValueError:
        return {}
    return row if is_object(row) else {}


def reader_for(
    path: Path, registry: Registry, *, named: str | None = None, mapping: Mapping[str, str]
) -> Registered[ReaderCard]:
    """Return the reader of ``path``: the named one, or the one that recognises it.

    Cards are shown the first bytes of the file (the first row, where that is longer), or the
    fields that ``mapping`` fills. Where none knows them, they are shown row by row, with those
    fields in it. Where several say yes, the highest rank decides, then the ending of the name.

    Args:
        path: the file.
        registry: who can read.
        named: the name of a reader, from ``--reader``.
        mapping: field of ours -> column, from ``--map``.

    Raises:
        UnknownNameError: if no reader has this name.
        UsageError: if the file is missing or empty, or none or several of the readers claim it.
    """
    if named is not None:
        return registry.get(ReaderCard, named)
    cards = registry.all(ReaderCard)
    head = head_of(path)
    fields: dict[str, Any] = {field.partition(".")[0]: None for field in mapping}
    opening = _opening(path, head)
    found = _claiming(cards, path, to_json(fields) if fields else opening)
    if not found and fields:
        found = _claiming(cards, path, opening)
    if not found:
        found = _claiming_a_row(cards, path, head, fields)
    if len(found) > 1:
        names = " or ".join(f"`--reader {each.card.name}`" for each in found)
        raise UsageError(f"Several readers claim `{path}`: name one with {names}.")
    return found[0]


def _opening(path: Path, head: bytes) -> bytes:
    """Return what a file begins with: ``head``, or the whole first row where that is longer.

    What tells a format from another one may be the last column of its rows.
    """
    if not head.startswith(b"{") or b"\n" in head:
        return head
    return next((row.data for row in cut(path) if row.error is None), head)


def _claiming_a_row(
    cards: Mapping[str, Registered[ReaderCard]], path: Path, head: bytes, fields: dict[str, Any]
) -> list[Registered[ReaderCard]]:
    """Return who claims the first rows: the very first may be a remark about the others.

    Raises:
        UsageError: if nobody does, or there is no row.
    """
    if not head.strip():
        raise UsageError(f"`{path}` is empty.")
    first: dict[str, Any] | None = None
    mistake = ""
    for row in itertools.islice(cut(path), _ROWS_TRIED):
        try:
            values = read_object(row)
        except RowError as error:
            mistake = mistake or str(error)
            continue
        if found := _claiming(cards, path, to_json(values | fields)):
            return found
        first = values if first is None else first
    raise UsageError(
        _no_row(path, head, mistake) if first is None else _nobody_knows(path, cards, first)
    )


def _claiming(
    cards: Mapping[str, Registered[ReaderCard]], path: Path, head: bytes
) -> list[Registered[ReaderCard]]:
    claiming = [each for each in cards.values() if each.card.recognises(head)]
    if not claiming:
        return []
    top = max(each.card.rank for each in claiming)
    best = [each for each in claiming if each.card.rank == top]
    by_name = [
        each for each in best if each.card.suffixes and path.name.endswith(each.card.suffixes)
    ]
    return by_name if len(by_name) == 1 else best


def _no_row(path: Path, head: bytes, mistake: str) -> str:
    if head.lstrip().startswith(b"["):
        return (
            f"`{path}` is one JSON array, and no reader of arrays recognises it. Write one object "
            f"per line: `jq -c '.[]' {path} > {path.stem}.jsonl`."
        )
    if head.startswith(b"PK\x03\x04"):
        return f"`{path}` is a zip archive, and no reader recognises it. Unpack it first."
    hint = ""
    if head.lstrip().startswith(b"{\n"):
        hint = f" Objects that span lines go on one line each: `jq -c . {path}`."
    return f"`{path}` holds no row that can be read: {mistake}.{hint}"


def _nobody_knows(
    path: Path, cards: Mapping[str, Registered[ReaderCard]], row: Mapping[str, Any]
) -> str:
    columns = ", ".join(f"`{name}`" for name in list(row)[:20]) or "none"
    readers = "; ".join(f"`{name}`: {each.card.description}" for name, each in cards.items())
    return (
        f"No reader recognises `{path}`: its first row has the columns {columns}. Say which column "
        f"is what (`--map prompt=COLUMN --map completion=COLUMN`, or `--map messages=COLUMN`), or "
        f"name a reader with `--reader` ({readers})."
    )


def writer_for(path: Path, registry: Registry) -> Registered[WriterCard]:
    """Return the writer for the ending of ``path``; the longest ending counts.

    Raises:
        UsageError: if no writer has this ending.
    """
    cards = registry.all(WriterCard).values()
    endings = {suffix: each for each in cards for suffix in each.card.suffixes}
    fitting = [suffix for suffix in endings if path.name.endswith(suffix)]
    if not fitting:
        known = ", ".join(sorted(endings))
        raise UsageError(f"No writer knows the ending of `{path.name}`. Known endings: {known}.")
    return endings[max(fitting, key=len)]

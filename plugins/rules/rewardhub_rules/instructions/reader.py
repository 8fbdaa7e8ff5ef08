"""The reader ``ifeval``: rows of answers in the public shape, with their instructions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from rewardhub import (
    RawRow,
    Reader,
    ReaderCard,
    ReadOptions,
    RowError,
    Trajectory,
    UsageError,
    registry_of,
)

__all__ = ["InstructionReader", "has_instructions"]

_IDS, _KWARGS, _ANSWER = "instruction_id_list", "kwargs", "response"


@cache
def _completions() -> Reader:
    return registry_of().get(ReaderCard, "completion").card.reader()


class InstructionReader(Reader):
    """Reads rows with ``prompt``, ``instruction_id_list``, ``kwargs`` and ``response``.

    The answer may be called ``completion``, too. Ids and kwargs become ``checks.instructions`` of
    the task; all else is read as in completion rows, so that other columns (``key``, ``strict``)
    are kept in the trajectory's metadata. JSON lines, compressed or not, and Parquet.
    """

    def rows(self, path: Path) -> Iterator[RawRow]:
        """Yield the rows of a file of JSON lines or of a Parquet file."""
        return _completions().rows(path)

    def check(self, options: ReadOptions) -> None:
        """Refuse a mapping of the columns that make the format, and of unknown fields."""
        if "checks" in options.mapping or "checks.instructions" in options.mapping:
            raise UsageError(
                f"The reader `ifeval` takes `checks` from `{_IDS}` and `{_KWARGS}`: leave it out "
                "of `--map`, or name `--reader completion`."
            )
        _completions().check(options)

    def parse(self, row: RawRow, options: ReadOptions) -> Trajectory:
        """Return the trajectory in ``row``."""
        if row.error is not None:
            return _completions().parse(row, options)
        columns = _object(row)
        if columns.get(_IDS) is None:
            raise RowError(f"`{_IDS}` is missing")
        listed = {_IDS: columns.pop(_IDS), _KWARGS: columns.pop(_KWARGS, None)}
        checks = columns.get("checks") or {}
        if not isinstance(checks, dict):
            raise RowError("`checks` is an object")
        columns["checks"] = {**checks, "instructions": listed}
        if "completion" not in options.mapping and columns.get("completion") is None:
            columns["completion"] = columns.pop(_ANSWER, None)
            if columns["completion"] is None:
                raise RowError(f"`{_ANSWER}` is missing: these are prompts without answers")
        data = json.dumps(columns).encode()
        return _completions().parse(row._replace(data=data), options)


def _object(row: RawRow) -> dict[str, Any]:
    try:
        value = json.loads(row.data)
    except (ValueError, RecursionError) as error:
        raise RowError(f"the row is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise RowError("the row is no JSON object")
    return value


def has_instructions(head: bytes) -> bool:
    """Whether ``head`` begins with a row that has the ids of instructions and an answer."""
    line = head.lstrip().partition(b"\n")[0]
    names = (f'"{name}"'.encode() for name in (_ANSWER, "completion"))
    return line.startswith(b"{") and f'"{_IDS}"'.encode() in line and any(n in line for n in names)

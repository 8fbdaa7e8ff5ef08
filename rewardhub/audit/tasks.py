"""Tasks against a reward spec: right answers earn full marks, empty and copied ones none."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from rewardhub.builtin.formats import reader_for
from rewardhub.builtin.formats.columns import read_object
from rewardhub.builtin.formats.readers import CompletionReader, NativeReader
from rewardhub.contracts import RawRow, Reader, ReadOptions
from rewardhub.engine.engine import Engine
from rewardhub.errors import RecordError, RowError, UsageError
from rewardhub.host import AttackCard, Registry
from rewardhub.records import Reward, Step, Task, Trajectory, read_task

REFERENCE = "{reference}"
"""Stands for the reference in the template of a right answer."""

_NO_OP = "I don't know."
_PARTS_TOLD = 3


# --- reading ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task and its row in the file; or why the row has none."""

    row: int
    task: Task | None
    error: str = ""


def read_tasks(
    path: Path, registry: Registry, *, named: str | None = None, mapping: Mapping[str, str]
) -> Iterator[TaskRow]:
    """Yield each task of a file once, and the rows that hold none.

    Args:
        path: Task records; or rows of any reader, whose attempts are left aside; or rows with a
            ``prompt`` and no attempt.
        registry: knows the readers.
        named: the name of a reader, where the file does not tell.
        mapping: field -> column, as for reading trajectories.

    Raises:
        UsageError: if the file is missing, or nothing can read it.
    """
    reader = _reader(path, registry, named, mapping)
    options = ReadOptions(mapping=mapping, source=path.name)
    reader.check(options)
    seen: set[str] = set()
    for row in reader.rows(path):
        try:
            task = reader.parse(row, options).task
        except RowError as error:
            yield TaskRow(row.number, None, str(error))
            continue
        if task.digest not in seen:
            seen.add(task.digest)
            yield TaskRow(row.number, task)


def _reader(
    path: Path, registry: Registry, named: str | None, mapping: Mapping[str, str]
) -> Reader:
    if named is None and not mapping and _holds_tasks(path):
        return _TaskReader()
    try:
        return registry_reader(path, registry, named, mapping)
    except UsageError:
        if named is None and path.is_file() and _asks_only(path, mapping):
            return _PromptReader()
        raise


def registry_reader(
    path: Path, registry: Registry, named: str | None, mapping: Mapping[str, str]
) -> Reader:
    """Return the reader that ``path`` needs. Raises as `reader_for`."""
    return reader_for(path, registry, named=named, mapping=mapping).card.reader()

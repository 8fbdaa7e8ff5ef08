"""Tasks in a file: Task records, or rows that ask something, whether anybody tried or not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from rewardhub.builtin.formats import reader_for
from rewardhub.builtin.formats.columns import read_object
from rewardhub.builtin.formats.readers import NativeReader
from rewardhub.contracts import RawRow, Reader, ReadOptions
from rewardhub.errors import RecordError, RowError
from rewardhub.host import ReaderCard, Registry
from rewardhub.records import Step, Task, Trajectory, read_task

_ROWS_TRIED = 20


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task and its row in the file (from 1); or why the row has none."""

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
    if named is None and path.is_file():
        row = _first_row(path)
        if row is not None and not mapping and _is_task(row):
            return _TaskReader()
        if row is not None and _only_asks(row, mapping):
            return _asking_reader(row, registry)
    return reader_for(path, registry, named=named, mapping=mapping).card.reader()


def _first_row(path: Path) -> RawRow | None:
    """Return the first row that holds a JSON object, of the first few."""
    for row in itertools.islice(NativeReader().rows(path), _ROWS_TRIED):
        try:
            read_object(row)
        except RowError:
            continue
        return row
    return None


def _is_task(row: RawRow) -> bool:
    try:
        task = read_task(row.data)
    except RecordError:
        return False
    return not task.messages or task.messages[-1].role != "assistant"


def _only_asks(row: RawRow, mapping: Mapping[str, str]) -> bool:
    fields = {*read_object(row), *mapping}
    return "prompt" in fields and not fields & {"completion", "messages", "steps"}


class _TaskReader(NativeReader):
    """Reads Task records; each becomes an attempt that says nothing."""

    def parse(self, row: RawRow, options: ReadOptions) -> Trajectory:
        del options
        read_object(row)
        try:
            return Trajectory(task=read_task(row.data), steps=(Step(),))
        except RecordError as error:
            raise RowError(str(error)) from None


class _AskingReader(Reader):
    """Reads rows that ask something, as another reader would with an empty answer in them."""

    def __init__(self, inner: Reader) -> None:
        self._inner = inner

    def rows(self, path: Path) -> Iterator[RawRow]:
        return self._inner.rows(path)

    def check(self, options: ReadOptions) -> None:
        self._inner.check(options)

    def parse(self, row: RawRow, options: ReadOptions) -> Trajectory:
        return self._inner.parse(RawRow(row.number, _with_answer(row)), options)


def _asking_reader(row: RawRow, registry: Registry) -> Reader:
    """Return who would read ``row`` if somebody had answered: the completion reader, or better."""
    answered = _with_answer(row)
    cards = [each.card for each in registry.all(ReaderCard).values()]
    claiming = [card for card in cards if card.recognises(answered)]
    return _AskingReader(max(claiming, key=lambda card: card.rank).reader())


def _with_answer(row: RawRow) -> bytes:
    columns: dict[str, Any] = {**read_object(row), "completion": ""}
    return to_json(columns)

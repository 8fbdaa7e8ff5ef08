"""Tasks in a file: Task records, or rows that ask something, whether anybody tried or not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from rewardhub.audit.task_folders import is_yaml, yaml_tasks
from rewardhub.audit.task_sources import is_source, source_tasks, unknown_source
from rewardhub.builtin.formats import reader_for
from rewardhub.builtin.formats.columns import read_object
from rewardhub.builtin.formats.readers import NativeReader
from rewardhub.contracts import RawRow, Reader, ReadOptions
from rewardhub.errors import RecordError, RowError, UsageError
from rewardhub.host import ReaderCard, Registry, TaskSourceCard, discover
from rewardhub.records import EMPTY, Step, Task, Trajectory, read_task

_ROWS_TRIED = 20


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task and its number in the file (from 1); or why there is none.

    Attributes:
        row: of the file, from 1; in a folder or a source, the number of the task.
        task: None where there is none.
        error: why there is none.
        where: file and line where ``row`` does not tell; else empty.
    """

    row: int
    task: Task | None
    error: str = ""
    where: str = ""


def read_tasks(
    path: str | Path,
    *,
    registry: Registry | None = None,
    reader: str | None = None,
    mapping: Mapping[str, str] = EMPTY,
    options: Mapping[str, Any] = EMPTY,
) -> Iterator[Task]:
    """Yield each task of a file, a folder or a task source once, as every command reads them.

    Args:
        path: as for `task_rows`.
        registry: who can read, and knows the sources; the default is all that is installed.
        reader: the name of a reader, where the file does not tell.
        mapping: field of ours -> column, as for reading trajectories.
        options: of a task source.

    Raises:
        UsageError: if there is nothing of that name, or nothing can read it.
        RowError: for a row that is no task, with file and row.
    """
    known = discover() if registry is None else registry
    for each in task_rows(path, known, named=reader, mapping=mapping, options=options):
        if each.task is None:
            raise RowError(f"{each.where or f'{path}, row {each.row}'}: {each.error}")
        yield each.task


def task_rows(
    path: str | Path,
    registry: Registry,
    *,
    named: str | None = None,
    mapping: Mapping[str, str],
    options: Mapping[str, Any] = EMPTY,
) -> Iterator[TaskRow]:
    """Yield each task of a file, a folder or a task source once, and the rows that hold none.

    Args:
        path: Task records; or rows of any reader, whose attempts are left aside; or rows with a
            ``prompt`` and no attempt; or YAML, or a folder of YAML; or where no file has this
            name, a task source.
        registry: knows the readers and the sources.
        named: the name of a reader, where the file does not tell.
        mapping: field -> column, as for reading trajectories.
        options: of a task source.

    Raises:
        UsageError: if there is nothing of that name, or nothing can read it.
    """
    seen: set[str] = set()
    for each in _rows(path, registry, named, mapping, options):
        if each.task is not None and each.task.digest in seen:
            continue
        if each.task is not None:
            seen.add(each.task.digest)
        yield each


def _rows(
    named: str | Path,
    registry: Registry,
    reader: str | None,
    mapping: Mapping[str, str],
    options: Mapping[str, Any],
) -> Iterator[TaskRow]:
    path = Path(named)
    if not path.exists() and is_source(str(named), registry):
        for number, task in enumerate(source_tasks(str(named), registry, options), 1):
            yield TaskRow(number, task, where=f"{named}, task {number}")
    elif options:
        raise UsageError(f"`{named}` is no task source, and only these take options.")
    elif reader is None and path.exists() and is_yaml(path):
        for number, each in enumerate(yaml_tasks(path), 1):
            yield TaskRow(number, each.task, each.error, each.where)
    elif not path.exists() and registry.all(TaskSourceCard) and not path.suffix:
        raise UsageError(unknown_source(str(named), registry))
    else:
        yield from _file_rows(path, registry, reader, mapping)


def _file_rows(
    path: Path, registry: Registry, named: str | None, mapping: Mapping[str, str]
) -> Iterator[TaskRow]:
    reader = _reader(path, registry, named, mapping)
    options = ReadOptions(mapping=mapping, source=path.name)
    reader.check(options)
    for row in reader.rows(path):
        try:
            task = reader.parse(row, options).task
        except RowError as error:
            yield TaskRow(row.number, None, str(error))
            continue
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

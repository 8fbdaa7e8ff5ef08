"""A run folder, read as a stream: its rewards, and beside them what was graded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from rewardhub.contracts import RawRow, Reader, ReadOptions
from rewardhub.engine.folder import LEDGER, read_run
from rewardhub.engine.index import RowIndex
from rewardhub.engine.rows import id_hash, row_digest
from rewardhub.errors import LedgerError, RowError, UsageError
from rewardhub.host import ReaderCard, Registry
from rewardhub.records import Reward, Trajectory
from rewardhub.report.shelf import Shelf
from rewardhub.text import DEFAULT_FACTS, TemplateFacts

By = Literal["group", "task"]
L = TypeVar("L", bound="_Place")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """What says where a line belongs. Read by itself it costs a tenth of the whole line."""

    task: str
    group: str
    domain: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRow(_Place):
    """One line of a ledger: which attempt it is about, and its Reward.

    Attributes:
        id: of the trajectory; ``task``, ``group``, ``domain``, ``status`` are its, too.
        source: the number of its input, from 0; ``row``: its row there, from 1.
        digest: of that row's bytes, when they were graded.
        steps: how many the trajectory has.
        reward: what the spec made of it.
    """

    schema_version: Literal[1]
    id: str
    source: int
    row: int
    digest: str
    status: str
    steps: int
    reward: Reward


class ScoredPair(NamedTuple):
    """An attempt, and the line of the ledger about it."""

    trajectory: Trajectory
    row: ScoredRow

    @property
    def reward(self) -> Reward:
        """What the spec made of the attempt."""
        return self.row.reward


@dataclass(frozen=True)
class ScoredRun:
    """A run folder that is only read, row by row: memory does not grow with the run.

    A run that is still going on, or was interrupted, is read as far as its ledger goes.

    Attributes:
        path: the folder.
        described: what its run.json says.
        known: what is installed; None: it is discovered when a reader is needed.
    """

    path: Path
    described: Mapping[str, Any]
    known: Registry | None = None

    @property
    def ledger(self) -> Path:
        """The ledger's path."""
        return self.path / LEDGER

    @cached_property
    def registry(self) -> Registry:
        """What knows the readers of the inputs."""
        if self.known is not None:
            return self.known
        from rewardhub.host import discover

        return discover()

    def input(self, source: int) -> Path:
        """Return the path of an input, by its number; a relative one begins at the folder."""
        path: str = self.described["inputs"][source]["path"]
        return self.path / path

    def named(self, source: int) -> str:
        """Return the name of an input, as default ids have it: the shortest that is unique."""
        paths = [self.input(each) for each in range(len(self.described["inputs"]))]
        same = [path.name for path in paths].count(paths[source].name)
        return paths[source].name if same == 1 else str(paths[source])

    def reading(self, source: int) -> tuple[Reader, ReadOptions]:
        """Return the reader of an input, and how it reads it.

        Raises:
            UnknownNameError: if the reader is not installed.
        """
        described = self.described["inputs"][source]
        where = f"the reader of `{self.input(source)}`"
        card = self.registry.get(ReaderCard, described["reader"], where=where).card
        facts = self.described.get("facts")
        options = ReadOptions(
            mapping=self.described.get("mapping") or {},
            source=self.named(source),
            facts=TemplateFacts(**facts) if facts else DEFAULT_FACTS,
        )
        return card.reader(), options

    def rows(self, *, domain: str | None = None) -> Iterator[ScoredRow]:
        """Yield the lines of the ledger in order: all, or those of one domain.

        Raises:
            LedgerError: for a line that is damaged. A torn last line is left out.
        """
        for line in self._lines():
            row = self._read(ScoredRow, line)
            if domain is None or row.domain == domain:
                yield row

    def domains(self) -> dict[str, int]:
        """Return each domain with the number of its rows, in the order of the ledger."""
        counts: dict[str, int] = {}
        for line in self._lines():
            domain = self._read(_Place, line).domain
            counts[domain] = counts.get(domain, 0) + 1
        return counts

    def pairs(self, *, domain: str | None = None) -> Iterator[ScoredPair]:
        """Yield each attempt with its row, in the order of the ledger.

        Each input is read once, beside the ledger. Rows that stand there in another order wait
        on disk.

        Raises:
            UsageError: if an input is gone, or a row of it is not the one that was scored.
            LedgerError: for a line that is damaged.
        """
        with _Inputs(self) as inputs:
            for line in self._lines():
                row = self._read(ScoredRow, line)
                data = inputs.take(row)
                if domain is None or row.domain == domain:
                    yield ScoredPair(inputs.parse(row, data), row)

    def groups(self, by: By = "group", *, domain: str | None = None) -> Iterator[list[ScoredPair]]:
        """Yield the attempts of one group together, groups in the order of their first members.

        Groups whose members do not stand together in the ledger are put together on disk.

        Args:
            by: ``group``: attempts that are compared with each other; ``task``: all attempts at
                one task (of one domain), whatever their groups are.
            domain: groups with an attempt of another domain come without it.

        Raises:
            UsageError: as `pairs`.
            LedgerError: as `pairs`.
        """
        if self._is_together(by):
            for _, group in groupby(self.pairs(domain=domain), lambda pair: _key(pair.row, by)):
                yield list(group)
            return
        with _Inputs(self) as inputs, Shelf() as shelf:
            for line in self._lines():
                row = self._read(ScoredRow, line)
                data = inputs.take(row)
                if domain is None or row.domain == domain:
                    shelf.put(_key(row, by), line, data)
            for _, members in shelf.names():
                rows = [(self._read(ScoredRow, line), data) for line, data in members]
                yield [ScoredPair(inputs.parse(row, data), row) for row, data in rows]

    def _is_together(self, by: By) -> bool:
        last = None
        with closing(RowIndex()) as index:
            for line in self._lines():
                key = _key(self._read(_Place, line), by)
                if key != last and not index.new_ids([id_hash(key)])[0]:
                    return False
                last = key
        return True

    def _lines(self) -> Iterator[bytes]:
        with self.ledger.open("rb") as lines:
            yield from (line for line in lines if line.endswith(b"\n"))

    def _read(self, kind: type[L], line: bytes) -> L:
        try:
            row: L = _adapter(kind).validate_json(line)  # type: ignore[arg-type]  # is hashable
        except ValidationError:
            raise LedgerError(
                f"`{self.ledger}` is damaged: a line is no scored attempt ({line[:60]!r}...). "
                "Score anew: `rewardhub score`."
            ) from None
        return row


def open_run(path: Path | str, registry: Registry | None = None) -> ScoredRun:
    """Return the run in a folder: of `score`, `rescore` or a rollout.

    Args:
        path: the run folder.
        registry: knows the readers of its inputs; the default discovers them when needed.

    Raises:
        UsageError: if it is no run folder.
        LedgerError: if its run.json is damaged.
    """
    path = Path(path)
    described = read_run(path)
    if described is None or not (path / LEDGER).is_file():
        what = "is no run folder" if path.is_dir() else "does not exist"
        raise UsageError(f"`{path}` {what}: name the one that `rewardhub score` tells.")
    return ScoredRun(path, described, registry)


class _Inputs:
    """The inputs of a run, each read once beside the ledger."""

    def __init__(self, run: ScoredRun) -> None:
        self._run = run
        self._shelf = Shelf()
        count = len(run.described["inputs"])
        for source in range(count):
            if not run.input(source).is_file():
                raise UsageError(
                    f"The input `{run.input(source)}` of the run `{run.path}` is gone. Put it "
                    "back, or score anew."
                )
        self._reading = [run.reading(source) for source in range(count)]
        self._rows = [
            reader.rows(run.input(source)) for source, (reader, _) in enumerate(self._reading)
        ]
        self._at = [0] * count

    def __enter__(self) -> _Inputs:
        return self

    def __exit__(self, *error: object) -> None:
        self._shelf.__exit__(*error)

    def take(self, row: ScoredRow) -> bytes:
        """Return the bytes of a row.

        Raises:
            UsageError: if they are not what was graded.
        """
        data = self._data(row.source, row.row)
        if data is None or row_digest(data) != row.digest:
            raise UsageError(
                f"Row {row.row} of `{self._run.input(row.source)}` is not the one that was "
                "scored: the file has changed since. Put it back, or score anew."
            )
        return data

    def _data(self, source: int, number: int) -> bytes | None:
        for row in self._rows[source] if self._at[source] < number else ():
            self._at[source] = row.number
            if row.number == number:
                return row.data
            if row.error is None:
                self._shelf.put(f"{source}:{row.number}", row.data)
            if row.number > number:
                break
        return self._shelf.take(f"{source}:{number}")

    def parse(self, row: ScoredRow, data: bytes) -> Trajectory:
        """Return the trajectory of a row.

        Raises:
            UsageError: if it cannot be read any more.
        """
        reader, options = self._reading[row.source]
        try:
            return reader.parse(RawRow(row.row, data), options)
        except RowError as error:
            raise UsageError(
                f"Row {row.row} of `{self._run.input(row.source)}` cannot be read: {error}"
            ) from None


def _key(row: _Place, by: By) -> str:
    return row.group if by == "group" else f"{row.domain}\n{row.task}"


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)

"""Rows, cut from the inputs into chunks that a worker takes at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from rewardhub.contracts import RawRow
from rewardhub.engine.folder import Plan
from rewardhub.engine.index import RowIndex
from rewardhub.engine.rows import Cell
from rewardhub.engine.tally import Tally
from rewardhub.host import ReaderCard, Registry

CHUNK_SECONDS = 0.1
"""How long a chunk should keep a worker busy."""

CHUNK_BYTES = 4 << 20
FIRST_ROWS = 16


@dataclass(slots=True)
class Slot:
    """One chunk of rows, in input order, on its way to the ledger.

    Attributes:
        source: index of the input file.
        rows: its rows, as they stand in the file.
        size: their bytes.
        block: the lines of the ledger for all its rows, where workers finished every one.
        hashes: the hashes of the ids in ``block``, 8 bytes each.
        next: the first cell that is not written yet.
        checked: whether its ids were compared with those before.
        tallies: counts of what workers finished by themselves.
        alone: cells that still have to be tried one by one.
    """

    source: int
    rows: list[RawRow]
    size: int
    block: bytes | None = None
    hashes: bytes = b""
    next: int = 0
    checked: bool = False
    tallies: list[Tally] = field(default_factory=list[Tally])
    alone: deque[Cell] = field(default_factory=deque[Cell])
    _cells: list[Cell] | None = None

    @property
    def entered(self) -> bool:
        """Whether it is known of every row what it is."""
        if self.block is not None:
            return True
        return self._cells is not None and all(cell.entered for cell in self._cells)

    @property
    def cells(self) -> list[Cell]:
        """Its rows one by one. Most slots never need them."""
        if self._cells is None:
            self._cells = [Cell(row.number, row.data, row.error) for row in self.rows]
        return self._cells

    def take_apart(self) -> None:
        """Give each cell its line of the block."""
        if self.block is not None:
            for place, (cell, line) in enumerate(
                zip(self.cells, self.block.splitlines(keepends=True), strict=True)
            ):
                cell.line = line
                cell.identity = self.hashes[8 * place : 8 * place + 8]
            self.block = None


class Chunks:
    """Yields slots of rows that the ledger does not have; their size follows the pace.

    Args:
        plan: says which files are read.
        registry: knows the readers.
        index: knows the rows that are done.
        most: how many rows a chunk has at most.
    """

    def __init__(self, plan: Plan, registry: Registry, index: RowIndex, most: int) -> None:
        self.bytes_read = 0
        self._plan = plan
        self._registry = registry
        self._index = index
        self._most = max(1, most)
        self._row_seconds = 0.0

    def note_pace(self, seconds: float, rows: int) -> None:
        """Note how long a worker took for a chunk."""
        pace = seconds / rows
        before = self._row_seconds
        self._row_seconds = pace if not before else (before * 3 + pace) / 4

    def __iter__(self) -> Iterator[Slot]:
        for source, each in enumerate(self._plan.inputs):
            reader = self._registry.get(ReaderCard, each.reader).card.reader()
            rows: list[RawRow] = []
            size = 0
            most = self._rows()
            for row in self._undone(source, reader.rows(each.path)):
                rows.append(row)
                size += len(row.data)
                if size >= CHUNK_BYTES or len(rows) >= most:
                    self.bytes_read += size
                    yield Slot(source, rows, size)
                    rows, size, most = [], 0, self._rows()
            self.bytes_read += size
            if rows:
                yield Slot(source, rows, size)

    def _undone(self, source: int, rows: Iterator[RawRow]) -> Iterator[RawRow]:
        return self._not_done(source, rows) if self._index.any_done else rows

    def _not_done(self, source: int, rows: Iterator[RawRow]) -> Iterator[RawRow]:
        for row in rows:
            if self._index.is_done(source, row.number):
                self.bytes_read += len(row.data)
            else:
                yield row

    def _rows(self) -> int:
        if not self._row_seconds:
            return min(FIRST_ROWS, self._most)
        return min(self._most, max(1, int(CHUNK_SECONDS / self._row_seconds)))

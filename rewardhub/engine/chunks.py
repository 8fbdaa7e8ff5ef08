"""Rows, cut from the inputs into chunks that a worker takes at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

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
        cells: its rows.
        size: their bytes.
        next: the first cell that is not written yet.
        checked: whether its ids were compared with those before.
        tallies: counts of what workers finished by themselves.
        alone: cells that still have to be tried one by one.
    """

    source: int
    cells: list[Cell]
    size: int
    next: int = 0
    checked: bool = False
    tallies: list[Tally] = field(default_factory=list[Tally])
    alone: deque[Cell] = field(default_factory=deque[Cell])

    @property
    def entered(self) -> bool:
        """Whether it is known of every row what it is."""
        return all(cell.entered for cell in self.cells)


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
            cells: list[Cell] = []
            size = 0
            for row in reader.rows(each.path):
                self.bytes_read += len(row.data) + 1
                if self._index.is_done(source, row.number):
                    continue
                cells.append(Cell(row.number, row.data, row.error))
                size += len(row.data)
                if len(cells) >= self._rows() or size >= CHUNK_BYTES:
                    yield Slot(source, cells, size)
                    cells, size = [], 0
            if cells:
                yield Slot(source, cells, size)

    def _rows(self) -> int:
        if not self._row_seconds:
            return min(FIRST_ROWS, self._most)
        return min(self._most, max(1, int(CHUNK_SECONDS / self._row_seconds)))

"""Writes what became of the rows: the ledger, the failures, the counts."""

from __future__ import annotations

from typing import IO

from rewardhub.engine.chunks import Slot
from rewardhub.engine.conveyor import reward_in
from rewardhub.engine.folder import Plan, failure_line
from rewardhub.engine.index import RowIndex
from rewardhub.engine.rows import Cell
from rewardhub.engine.tally import Tally
from rewardhub.errors import RowError
from rewardhub.host import Registry


class Output:
    """The ledger and the failures of a run, while they are written.

    Args:
        ledger: open for appending.
        failures: open for writing.
        plan: names the inputs.
        index: knows the ids before.
        registry: has the observers, who are told of each Reward.
        tally: counts what is written.
        strict: whether the first bad row ends the run.
    """

    def __init__(
        self,
        ledger: IO[bytes],
        failures: IO[bytes],
        *,
        plan: Plan,
        index: RowIndex,
        registry: Registry,
        tally: Tally,
        strict: bool,
    ) -> None:
        self.written = 0
        self._ledger = ledger
        self._failures = failures
        self._plan = plan
        self._index = index
        self._registry = registry
        self._tally = tally
        self._strict = strict

    def flush(self) -> None:
        """Hand what is written to the operating system: a kill does not lose it."""
        self._ledger.flush()
        self._failures.flush()

    def write(self, slot: Slot) -> bool:
        """Write what is ready of a slot, in order; return whether that was the rest of it.

        Raises:
            RowError: for a row that is no trajectory, if the run is strict.
        """
        if not slot.checked:
            if not slot.entered:
                return False
            if slot.block is not None and self._whole(slot, slot.block):
                return True
            slot.take_apart()
            self._check_ids(slot)
        cells = slot.cells
        while slot.next < len(cells) and cells[slot.next].ready:
            self._row(slot, cells[slot.next])
            cells[slot.next].data = b""
            slot.next += 1
            self.written += 1
        return slot.next == len(cells)

    def _whole(self, slot: Slot, block: bytes) -> bool:
        """Write a slot that workers finished, at once; not where an id was there before."""
        if not self._index.all_new(slot.hashes):
            return False
        slot.checked = True
        self._ledger.write(block)
        self.written += len(slot.rows)
        for tally in slot.tallies:
            self._tally.merge(tally)
        return True

    def _check_ids(self, slot: Slot) -> None:
        """Refuse ids that were there before, and count the slot without them."""
        slot.checked = True
        named = [cell for cell in slot.cells if cell.identity]
        new = self._index.new_ids([cell.identity for cell in named])
        for cell, is_new in zip(named, new, strict=True):
            if not is_new:
                cell.failure = "its id was there before: ids are unique, equal answers need none"
        if all(new):
            for tally in slot.tallies:
                self._tally.merge(tally)
            return
        for cell in slot.cells:
            cell.counted = False
            if cell.line is not None and cell.failure is None and cell.reward is None:
                self._tally.add(reward_in(cell.line))

    def _row(self, slot: Slot, cell: Cell) -> None:
        if cell.failure is not None:
            self._bad_row(slot, cell, cell.failure)
            return
        assert cell.line is not None
        self._ledger.write(cell.line)
        if cell.reward is not None:
            self._tally.add(cell.reward)
            self._tally.add_reused(cell.reward, cell.known)
        if cell.trajectory is not None and self._registry.has_observers:
            self._registry.observe(cell.trajectory, cell.reward or reward_in(cell.line))

    def _bad_row(self, slot: Slot, cell: Cell, why: str) -> None:
        name = str(self._plan.inputs[slot.source].path)
        if self._strict:
            raise RowError(f"{name}, row {cell.number}: {why}")
        if not cell.counted:
            self._tally.add_bad(why)
        self._failures.write(failure_line(name, cell.number, why))

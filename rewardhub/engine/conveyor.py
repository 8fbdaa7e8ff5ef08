"""Takes slots of rows through the workers, and finds the row at fault when one breaks."""

from __future__ import annotations

import queue
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, cast

from rewardhub.contracts import Limits, RawRow
from rewardhub.engine import wire
from rewardhub.engine.chunks import Slot
from rewardhub.engine.engine import Engine
from rewardhub.engine.folder import Plan
from rewardhub.engine.index import RowIndex
from rewardhub.engine.rows import Cell, Pending, id_hash, ledger_line, pending_of
from rewardhub.engine.tally import Tally
from rewardhub.engine.worker import most_memory
from rewardhub.engine.workers import Result
from rewardhub.engine.workers.launch import last_line
from rewardhub.records import Reward, read_reward, read_trajectory


class Conveyor:
    """Sends rows to workers, and what they cannot finish to the engine.

    All of it happens on the run's own thread: whatever ends elsewhere puts a call into
    ``events``, and the run makes these calls.

    Attributes:
        events: calls for the run's thread to make.
        at_work: how many rows workers have to grade.

    Args:
        engine: grades; made with ``isolate=True``.
        plan: what the rows are.
        index: knows the previous ledger.
        then: spec digest -> part id -> identity, of the previous ledger.
        note_pace: is told seconds and rows of each chunk.
    """

    def __init__(
        self,
        engine: Engine,
        plan: Plan,
        index: RowIndex,
        then: dict[str, Any],
        note_pace: Callable[[float, int], None],
    ) -> None:
        self.events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.at_work = 0
        self._engine = engine
        self._plan = plan
        self._index = index
        self._then = then
        self._note_pace = note_pace
        self._groups = engine.new_groups(index.members)
        # The worker itself limits time, for each slice of a chunk and for dear graders.
        self._limits = Limits(None, None, most_memory(engine.reward))
        self._keep = engine.registry.has_observers or self._groups is not None

    @property
    def has_groups(self) -> bool:
        """Whether rows may wait for others that are not read yet."""
        return self._groups is not None

    def send(self, slot: Slot) -> None:
        """Let workers grade the rows of a slot."""
        if not any(row.error for row in slot.rows):
            self._submit(slot, slot.rows)
            return
        good = [cell for cell in slot.cells if cell.failure is None]
        if good:
            self._submit(slot, good)
        else:
            self.wake()

    def count_groups(self, slots: Iterable[Slot]) -> None:
        """Count the members of every group before the first row is graded.

        A group whose size nobody declared is then complete as soon as its last member arrives,
        wherever in the input that is. Rows that cannot be read fail later, when they are graded.
        """
        under_way: deque[Future[Result]] = deque()
        for slot in slots:
            rows = [row for row in slot.rows if row.error is None]
            blobs = [b"G", self._head(slot.source), _numbers(rows), *(row.data for row in rows)]
            under_way.append(self._engine.pool().submit(wire.pack(blobs), limits=self._limits))
            if len(under_way) > 4 * self._engine.workers:
                self._count(under_way.popleft())
        while under_way:
            self._count(under_way.popleft())

    def _count(self, counted: Future[Result]) -> None:
        result = counted.result()
        if result.end == "reply":
            self._index.count_members(wire.from_bytes(result.payload))

    def wake(self) -> None:
        """Let the run look around."""
        self.events.put(lambda: None)

    def end(self, slots: Iterable[Slot]) -> None:
        """Note that nothing more is sent: groups close once every row has entered them."""
        groups = self._groups
        if groups is None:
            return
        waiting = list(slots)
        if all(slot.entered for slot in waiting):
            self._engine.run_on_loop(groups.end)
            return
        timer = threading.Timer(0.05, lambda: self.events.put(lambda: self.end(waiting)))
        timer.daemon = True
        timer.start()

    def _submit(self, slot: Slot, rows: Rows) -> None:
        blobs = [b"R", self._head(slot.source), _numbers(rows), *(row.data for row in rows)]
        if self._index.has_previous:
            blobs += [self._index.previous(slot.source, row.number) for row in rows]
        self.at_work += len(rows)
        self._job(blobs, self._limits, lambda result: self._receive(slot, rows, result))

    def _job(self, blobs: list[bytes], limits: Limits, receive: Callable[[Result], None]) -> None:
        def take(done: Future[Result]) -> None:
            result = done.result()
            if result.end != "closed":
                receive(result)

        future = self._engine.pool().submit(wire.pack(blobs), limits=limits)
        future.add_done_callback(lambda done: self.events.put(lambda: take(done)))

    def _head(self, source: int) -> bytes:
        each = self._plan.inputs[source]
        return wire.to_bytes(
            {
                "reader": each.reader,
                "name": self._plan.name_of(source),
                "source": source,
                "mapping": self._plan.mapping,
                "facts": self._plan.facts,
                "broken": self._engine.broken,
                "then": self._then,
                "keep": self._keep,
            }
        )

    def _receive(self, slot: Slot, rows: Rows, result: Result) -> None:
        self.at_work -= len(rows)
        told = wire.unpack(result.payload) if result.end == "reply" else []
        if told:
            self._note_pace(result.seconds, len(rows))
            slot.tallies.append(Tally.from_json(wire.from_bytes(told[0])))
            if told[1] == b"whole" and rows is slot.rows:
                slot.hashes, slot.block = told[2:]
                return
        # A slot goes out as the rows that it is, or as some of its cells.
        cells = slot.cells if rows is slot.rows else cast("list[Cell]", rows)
        if not told:
            self._again(slot, cells)
            return
        replies = iter(_one_by_one(*told[2:]) if told[1] == b"whole" else told[2:])
        for cell, kind, identity, body in zip(cells, replies, replies, replies, strict=True):
            cell.identity = identity
            if kind == b"D":
                cell.line = body
            elif kind == b"B":
                cell.failure = body.decode()
                cell.counted = True
            elif kind == b"K":
                self._keep_row(cell, body)
            else:
                self._wait_for(slot, cell, pending_of(self._engine.reward, body, self._then))
        self._next_alone(slot)

    # --- a chunk broke ----------------------------------------------------------------------------

    def _again(self, slot: Slot, cells: list[Cell]) -> None:
        """Find the row at fault: one after the other; one that breaks goes part by part.

        One after the other, because the first may show that a grader breaks on anything, and then
        the others need not be tried.
        """
        if len(cells) > 1:
            slot.alone.extend(cells)
            self._next_alone(slot)
            return
        (cell,) = cells
        blobs = [b"T", self._head(slot.source), cell.number.to_bytes(8, "little"), cell.data]
        self._job(blobs, Limits(), lambda result: self._parsed(slot, cell, result))

    def _next_alone(self, slot: Slot) -> None:
        if slot.alone:
            self._submit(slot, [slot.alone.popleft()])

    def _parsed(self, slot: Slot, cell: Cell, result: Result) -> None:
        if result.end != "reply":
            how = "broke: " + last_line(result.detail) if result.end == "raised" else result.detail
            cell.failure = f"the row could not be read: the reader {how}"
            self._next_alone(slot)
            return
        kind, body = wire.unpack(result.payload)
        if kind == b"B":
            cell.failure = body.decode()
            self._next_alone(slot)
            return
        trajectory = read_trajectory(body)
        cell.identity = id_hash(trajectory.id)
        pending = Pending.new(self._engine.reward, trajectory, cell.data)
        graded = self._wait_for(slot, cell, pending)
        if self.has_groups:  # it may wait for one of those that have not been tried yet
            self._next_alone(slot)
        else:
            graded.add_done_callback(lambda _: self.events.put(lambda: self._next_alone(slot)))

    # --- what a worker cannot finish --------------------------------------------------------------

    def _keep_row(self, cell: Cell, body: bytes) -> None:
        cell.line, data = wire.unpack(body)
        cell.trajectory = read_trajectory(data)
        if self._groups is not None:
            self._engine.finish(reward_in(cell.line), cell.trajectory, self._groups)

    def _wait_for(self, slot: Slot, cell: Cell, pending: Pending) -> Future[Reward]:
        future = self._engine.finish(
            pending.course, pending.trajectory, self._groups, pending.known
        )
        cell.trajectory = pending.trajectory
        future.add_done_callback(
            lambda done: self.events.put(lambda: self._graded(slot, cell, pending, done))
        )
        return future

    def _graded(self, slot: Slot, cell: Cell, pending: Pending, done: Future[Reward]) -> None:
        if done.cancelled():
            return
        cell.reward = done.result()
        cell.known = pending.known
        cell.line = ledger_line(
            pending.trajectory, cell.reward, slot.source, cell.number, pending.digest
        )


Rows = Sequence[RawRow] | Sequence[Cell]


def _numbers(rows: Rows) -> bytes:
    return struct.pack(f"<{len(rows)}Q", *(row.number for row in rows))


def _one_by_one(hashes: bytes, block: bytes) -> list[bytes]:
    """Return what a worker says of whole rows as it says it of each."""
    told: list[bytes] = []
    for place, line in enumerate(block.splitlines(keepends=True)):
        told += [b"D", hashes[8 * place : 8 * place + 8], line]
    return told


def reward_in(line: bytes) -> Reward:
    """Return the Reward in a ledger line."""
    mark = b',"reward":'
    return read_reward(line[line.index(mark) + len(mark) :].rstrip()[:-1])

"""A run over files: read, grade in workers, compose, write the ledger in order."""

from __future__ import annotations

import itertools
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Any

from rewardhub.contracts import Limits
from rewardhub.engine import wire
from rewardhub.engine.engine import WINDOW, Engine
from rewardhub.engine.folder import FAILURES, Plan, RunFolder, cut_torn_line, failure_line
from rewardhub.engine.graders import specs_of
from rewardhub.engine.index import RowIndex, head_of
from rewardhub.engine.rows import Cell, Pending, pending_of
from rewardhub.engine.tally import Tally
from rewardhub.engine.worker import id_hash, ledger_line, widest_range
from rewardhub.engine.workers import Result
from rewardhub.errors import RowError
from rewardhub.host import ReaderCard
from rewardhub.records import Reward, read_reward, read_trajectory

CHUNK_SECONDS = 0.1
CHUNK_BYTES = 4 << 20
WINDOW_BYTES = 64 << 20
PROGRESS_SECONDS = 0.2
_CHUNK = Limits(None, None, 4096)


@dataclass(slots=True)
class Progress:
    """How far a run is.

    Attributes:
        rows: rows written, bad ones included.
        bytes_read: of all inputs; ``bytes_total``: of all inputs, as they lie on disk.
        seconds: since the run began.
        tally: counts so far.
        waiting: rows that are under way.
        blocked_by: the row that the others wait for (``file:row``), while reading has stopped.
    """

    rows: int
    bytes_read: int
    bytes_total: int
    seconds: float
    tally: Tally
    waiting: int
    blocked_by: str | None = None


@dataclass(slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        tally: counts of the whole ledger.
        resumed: rows that an earlier run had finished.
        interrupted: the signal that ended the run, or None if it is complete.
        seconds: wall time of this run.
        folder: the run folder.
    """

    tally: Tally
    resumed: int = 0
    interrupted: int | None = None
    seconds: float = 0.0
    folder: Path = field(default_factory=Path)


@dataclass(slots=True)
class _Slot:
    """One chunk of rows, in input order."""

    source: int
    cells: list[Cell]
    size: int
    next: int = 0
    checked: bool = False
    tallies: list[Tally] = field(default_factory=list[Tally])
    alone: deque[Cell] = field(default_factory=deque[Cell])


class Run:
    """Scores files into a run folder.

    Args:
        engine: made with ``isolate=True``, so that no grader can end the run.
        plan: what to do.
        folder: where; a ledger of the same plan is continued.
        ordered: keep the input's order, within a window.
        strict: end the run at the first row that is no trajectory.
        on_progress: called a few times a second.
        previous: another run's ledger and run.json, whose Scores are used where they hold.
    """

    def __init__(
        self,
        engine: Engine,
        plan: Plan,
        folder: RunFolder,
        *,
        ordered: bool = True,
        strict: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
        previous: tuple[Path, dict[str, Any]] | None = None,
    ) -> None:
        self._engine = engine
        self._plan = plan
        self._folder = folder
        self._ordered = ordered
        self._strict = strict
        self._on_progress = on_progress
        self._previous = previous
        self._index = RowIndex()
        self._groups = engine.new_groups()
        self._events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._slots: deque[_Slot] = deque()
        self._waiting_rows = 0
        self._waiting_bytes = 0
        self._parked = 0
        self._row_seconds = 0.0
        self._tally = Tally(widest_range(specs_of(engine.reward)))
        self._written = 0
        self._bytes_read = 0
        self._signal: int | None = None
        self._exhausted = False
        self._keep = engine.registry.has_observers or self._groups is not None
        self._heads: list[bytes] = []
        self._then: dict[str, Any] = {}

    # --- the run --------------------------------------------------------------------------------

    def execute(self) -> Outcome:
        """Score every row that the ledger does not have yet; return how that ended.

        Raises:
            RowError: for the first bad row, if ``strict``.
            WorkerStartError: if a worker process cannot start.
        """
        start = time.monotonic()
        self._folder.begin(self._plan)
        resumed = self._resume()
        self._remember_previous()
        with (
            self._folder.ledger.open("ab") as ledger,
            (self._folder.path / FAILURES).open("wb") as failures,
            _signals(self._stop),
        ):
            self._loop(ledger, failures, start)
        outcome = Outcome(
            self._tally, resumed, self._signal, time.monotonic() - start, self._folder.path
        )
        if self._signal is None:
            self._folder.finish(
                {"tally": self._tally.to_json(), "seconds": outcome.seconds, "resumed": resumed}
            )
        self._index.close()
        return outcome

    def _loop(self, ledger: IO[bytes], failures: IO[bytes], start: float) -> None:
        chunks = self._chunks()
        shown = 0.0
        while self._signal is None:
            self._fill(chunks)
            if not self._slots:
                break
            try:
                self._events.get(timeout=PROGRESS_SECONDS)()
                while not self._events.empty():
                    self._events.get()()
            except queue.Empty:
                pass
            self._flush(ledger, failures)
            now = time.monotonic()
            if self._on_progress is not None and now - shown > PROGRESS_SECONDS:
                shown = now
                ledger.flush()
                self._on_progress(self._progress(now - start))
        if self._on_progress is not None:
            self._on_progress(self._progress(time.monotonic() - start))

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        self._signal = number
        self._events.put(lambda: None)

    def _fill(self, chunks: Iterator[_Slot]) -> None:
        while not self._exhausted and not self._is_full():
            slot = next(chunks, None)
            if slot is None:
                self._exhausted = True
                if self._groups is not None:
                    self._end_groups_when_all_entered()
                return
            self._slots.append(slot)
            self._waiting_rows += len(slot.cells)
            self._waiting_bytes += slot.size
            good = [cell for cell in slot.cells if cell.failure is None]
            if good:
                self._submit(slot, good)
            else:
                self._events.put(lambda: None)

    def _is_full(self) -> bool:
        rows = self._waiting_rows - self._parked
        return rows >= WINDOW or self._waiting_bytes >= WINDOW_BYTES

    def _progress(self, seconds: float) -> Progress:
        total = sum(each.path.stat().st_size for each in self._plan.inputs)
        blocked = None
        if self._ordered and self._is_full() and self._slots:
            slot = self._slots[0]
            blocked = f"{self._plan.inputs[slot.source].path.name}:{slot.cells[slot.next].number}"
        return Progress(
            self._written,
            self._bytes_read,
            total,
            seconds,
            self._tally,
            self._waiting_rows,
            blocked,
        )

    # --- what was done before -------------------------------------------------------------------

    def _resume(self) -> int:
        ledger = self._folder.ledger
        if not ledger.exists():
            return 0
        cut_torn_line(ledger)
        count = 0
        with ledger.open("rb") as file:
            while lines := list(itertools.islice(file, 1000)):
                heads = [head_of(line) for line in lines]
                self._index.note_done((head["source"], head["row"]) for head in heads)
                self._index.new_ids([id_hash(head["id"]) for head in heads])
                for line in lines:
                    self._tally.add(reward_in(line))
                count += len(lines)
        self._written = count
        return count

    def _remember_previous(self) -> None:
        previous = self._previous or self._folder.previous()
        if previous is None:
            return
        ledger, described = previous
        now = {str(each.path.resolve()): index for index, each in enumerate(self._plan.inputs)}
        sources = {
            index: now[each["path"]]
            for index, each in enumerate(described["inputs"])
            if each["path"] in now
        }
        self._then = described["parts"]
        self._index.note_previous(ledger, sources)

    # --- reading --------------------------------------------------------------------------------

    def _chunks(self) -> Iterator[_Slot]:
        for source, each in enumerate(self._plan.inputs):
            card = self._engine.registry.get(ReaderCard, each.reader).card
            cells: list[Cell] = []
            size = 0
            for row in card.reader().rows(each.path):
                self._bytes_read += len(row.data) + 1
                if self._index.is_done(source, row.number):
                    continue
                cells.append(Cell(row.number, row.data, failure=row.error))
                size += len(row.data)
                if len(cells) >= self._chunk_rows() or size >= CHUNK_BYTES:
                    yield _Slot(source, cells, size)
                    cells, size = [], 0
            if cells:
                yield _Slot(source, cells, size)

    def _chunk_rows(self) -> int:
        most = max(1, WINDOW // (2 * self._engine.workers))
        if not self._row_seconds:
            return min(16, most)
        return min(most, max(1, int(CHUNK_SECONDS / self._row_seconds)))

    # --- workers --------------------------------------------------------------------------------

    def _submit(self, slot: _Slot, cells: list[Cell]) -> None:
        blobs = [b"R", self._head(slot.source)]
        for cell in cells:
            blobs.append(cell.number.to_bytes(8, "little"))
            blobs.append(cell.data)
            blobs.append(self._index.previous(slot.source, cell.number))
        future = self._engine.pool().submit(wire.pack(blobs), limits=_CHUNK)
        future.add_done_callback(
            lambda done: self._events.put(lambda: self._receive(slot, cells, done))
        )

    def _head(self, source: int) -> bytes:
        each = self._plan.inputs[source]
        return wire.to_bytes(
            {
                "reader": each.reader,
                "name": self._name(source),
                "source": source,
                "mapping": self._plan.mapping,
                "facts": self._plan.facts,
                "broken": self._engine.broken,
                "then": self._then,
                "keep": self._keep,
            }
        )

    def _name(self, source: int) -> str:
        path = self._plan.inputs[source].path
        same = [each.path.name for each in self._plan.inputs].count(path.name)
        return path.name if same == 1 else str(path)

    def _receive(self, slot: _Slot, cells: list[Cell], done: Future[Result]) -> None:
        result = done.result()
        if result.end == "closed":
            return
        if result.end != "reply":
            self._again(slot, cells)
            return
        pace = result.seconds / len(cells)
        self._row_seconds = pace if not self._row_seconds else (self._row_seconds * 3 + pace) / 4
        tally, *rows = wire.unpack(result.payload)
        slot.tallies.append(Tally.from_json(wire.from_bytes(tally)))
        replies = iter(rows)
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

    def _again(self, slot: _Slot, cells: list[Cell]) -> None:
        """Find the row at fault: one after the other; one that breaks goes part by part.

        One after the other, because the first may show that a grader breaks on anything, and then
        the others need not be tried.
        """
        if len(cells) > 1:
            slot.alone.extend(cells)
            self._next_alone(slot)
            return
        (cell,) = cells
        payload = wire.pack(
            (b"T", self._head(slot.source), cell.number.to_bytes(8, "little"), cell.data)
        )
        future = self._engine.pool().submit(payload, limits=Limits())
        future.add_done_callback(
            lambda done: self._events.put(lambda: self._parsed(slot, cell, done))
        )

    def _next_alone(self, slot: _Slot) -> None:
        if slot.alone:
            self._submit(slot, [slot.alone.popleft()])

    def _parsed(self, slot: _Slot, cell: Cell, done: Future[Result]) -> None:
        result = done.result()
        if result.end == "closed":
            return
        if result.end == "raised":
            raise RuntimeError(f"A worker broke while it read row {cell.number}:\n{result.detail}")
        if result.end != "reply":
            cell.failure = f"the row could not be read: the reader {result.detail}"
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
        self._wait_for(slot, cell, pending).add_done_callback(
            lambda _: self._events.put(lambda: self._next_alone(slot))
        )

    def _keep_row(self, cell: Cell, body: bytes) -> None:
        cell.line, data = wire.unpack(body)
        cell.trajectory = read_trajectory(data)
        if self._groups is not None:
            self._engine.finish(reward_in(cell.line), cell.trajectory, self._groups)

    def _wait_for(self, slot: _Slot, cell: Cell, pending: Pending) -> Future[Reward]:
        future = self._engine.finish(
            pending.course, pending.trajectory, self._groups, pending.known
        )
        cell.trajectory = pending.trajectory
        if self._groups is not None:
            self._parked += 1
            cell.parked = True
        future.add_done_callback(
            lambda done: self._events.put(lambda: self._graded(slot, cell, pending, done))
        )
        return future

    def _graded(self, slot: _Slot, cell: Cell, pending: Pending, done: Future[Reward]) -> None:
        if done.cancelled():
            return
        reward = done.result()
        cell.reward = reward
        self._tally.add_reused(reward, pending.known)
        cell.line = ledger_line(
            pending.trajectory, reward, slot.source, cell.number, pending.digest
        )
        if cell.parked:
            self._parked -= 1
            cell.parked = False

    def _end_groups_when_all_entered(self) -> None:
        """Close the groups once every row that was read has entered them."""
        groups = self._groups
        if groups is None:
            return
        if all(cell.entered for slot in self._slots for cell in slot.cells[slot.next :]):
            self._engine.run_on_loop(lambda: self._engine.end_groups(groups))
            return
        timer = threading.Timer(0.05, lambda: self._events.put(self._end_groups_when_all_entered))
        timer.daemon = True
        timer.start()

    # --- writing --------------------------------------------------------------------------------

    def _flush(self, ledger: IO[bytes], failures: IO[bytes]) -> None:
        if self._ordered:
            while self._slots and self._flush_slot(self._slots[0], ledger, failures):
                self._slots.popleft()
            return
        self._slots = deque(
            slot for slot in self._slots if not self._flush_slot(slot, ledger, failures)
        )

    def _flush_slot(self, slot: _Slot, ledger: IO[bytes], failures: IO[bytes]) -> bool:
        """Write what is ready of a slot, in order; return whether that was all of it."""
        if not slot.checked:
            if not all(cell.entered for cell in slot.cells):
                return False
            self._check_ids(slot)
        cells = slot.cells
        while slot.next < len(cells) and cells[slot.next].ready:
            self._write(slot, cells[slot.next], ledger, failures)
            cells[slot.next].data = b""
            slot.next += 1
            self._waiting_rows -= 1
            self._written += 1
        if slot.next < len(cells):
            return False
        self._waiting_bytes -= slot.size
        return True

    def _check_ids(self, slot: _Slot) -> None:
        """Refuse explicit ids that were there before; a Tally of the chunk counts them not."""
        slot.checked = True
        named = [cell for cell in slot.cells if cell.identity]
        new = self._index.new_ids([cell.identity for cell in named])
        doubles = [cell for cell, is_new in zip(named, new, strict=True) if not is_new]
        for cell in doubles:
            cell.failure = "its id was there before: ids are unique, equal answers need none"
        if not doubles:
            for tally in slot.tallies:
                self._tally.merge(tally)
            return
        for cell in slot.cells:
            cell.counted = False
            if cell.line is not None and cell.failure is None and cell.reward is None:
                self._tally.add(reward_in(cell.line))

    def _write(self, slot: _Slot, cell: Cell, ledger: IO[bytes], failures: IO[bytes]) -> None:
        if cell.failure is not None:
            name = str(self._plan.inputs[slot.source].path)
            if self._strict:
                raise RowError(f"{name}, row {cell.number}: {cell.failure}")
            if not cell.counted:
                self._tally.add_bad(cell.failure)
            failures.write(failure_line(name, cell.number, cell.failure))
            return
        assert cell.line is not None
        ledger.write(cell.line)
        if cell.reward is not None:
            self._tally.add(cell.reward)
        if cell.trajectory is not None and self._engine.registry.has_observers:
            reward = cell.reward or reward_in(cell.line)
            self._engine.registry.observe(cell.trajectory, reward)


def reward_in(line: bytes) -> Reward:
    """Return the Reward in a ledger line."""
    start = line.index(b',"reward":') + len(b',"reward":')
    return read_reward(line[start:].rstrip()[:-1])


class _signals:  # noqa: N801  # reads as a function
    """Turns SIGINT and SIGTERM into a call, while inside and on the main thread."""

    def __init__(self, handler: Callable[[int, FrameType | None], None]) -> None:
        self._handler = handler
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handler)

    def __exit__(self, *_exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

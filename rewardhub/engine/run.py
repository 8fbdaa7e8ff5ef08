"""A run over files: read, grade in workers, compose, write the ledger in order."""

from __future__ import annotations

import itertools
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from rewardhub.engine.chunks import Chunks, Slot
from rewardhub.engine.conveyor import Conveyor, reward_in
from rewardhub.engine.engine import WINDOW, Engine
from rewardhub.engine.folder import FAILURES, Plan, RunFolder, cut_torn_line
from rewardhub.engine.graders import specs_of
from rewardhub.engine.index import RowIndex, head_of
from rewardhub.engine.output import Output
from rewardhub.engine.rows import id_hash
from rewardhub.engine.tally import Tally
from rewardhub.engine.worker import widest_range
from rewardhub.errors import LedgerError

WINDOW_BYTES = 64 << 20
PROGRESS_SECONDS = 0.2

Previous = tuple[Path, dict[str, Any]]
"""Another run's ledger, and what its ``run.json`` says."""


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


class Run:
    """Scores files into a run folder.

    Args:
        engine: made with ``isolate=True``, so that no grader can end the run.
        plan: what to do.
        folder: where; a ledger of the same plan is continued.
        ordered: keep the input's order, within a window of 1,024 rows or 64 MB; past it reading
            stops. With group graders it goes on, for a row may wait for any later one.
        strict: end the run at the first row that is no trajectory.
        on_progress: called a few times a second.
        previous: another run, whose Scores are used where they hold.
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
        previous: Previous | None = None,
    ) -> None:
        self._engine = engine
        engine.expect(each.reader for each in plan.inputs)
        self._plan = plan
        self._folder = folder
        self._ordered = ordered
        self._strict = strict
        self._on_progress = on_progress
        self._previous = previous
        self._index = RowIndex()
        self._tally = Tally(widest_range(specs_of(engine.reward)))
        self._chunks = Chunks(plan, engine.registry, self._index, WINDOW // (2 * engine.workers))
        self._slots: deque[Slot] = deque()
        self._waiting_rows = 0
        self._waiting_bytes = 0
        self._exhausted = False
        self._signal: int | None = None
        self._resumed = 0

    def execute(self) -> Outcome:
        """Score every row that the ledger does not have yet; return how that ended.

        Raises:
            RowError: for the first bad row, if ``strict``.
            LedgerError: if the ledger is damaged.
            WorkerStartError: if a worker process cannot start.
        """
        with closing(self._index):
            return self._execute(time.monotonic())

    def _execute(self, start: float) -> Outcome:
        self._folder.begin(self._plan)
        self._resume()
        conveyor = Conveyor(
            self._engine, self._plan, self._index, self._earlier(), self._chunks.note_pace
        )
        if self._engine.compares:
            conveyor.count_groups(Chunks(self._plan, self._engine.registry, self._index, 256))
        with (
            self._folder.ledger.open("ab") as ledger,
            (self._folder.path / FAILURES).open("wb") as failures,
            _signals(lambda number: self._stop(number, conveyor)),
        ):
            output = Output(
                ledger, failures, plan=self._plan, index=self._index,
                registry=self._engine.registry, tally=self._tally, strict=self._strict,
            )  # fmt: skip
            self._loop(conveyor, output, start)
        seconds = time.monotonic() - start
        if self._signal is None:
            self._folder.finish(
                {"tally": self._tally.to_json(), "seconds": seconds, "resumed": self._resumed}
            )
        return Outcome(self._tally, self._resumed, self._signal, seconds, self._folder.path)

    def _loop(self, conveyor: Conveyor, output: Output, start: float) -> None:
        chunks = iter(self._chunks)
        shown = 0.0
        while self._signal is None:
            self._fill(chunks, conveyor)
            if not self._slots:
                break
            _make_calls(conveyor.events)
            self._write(output)
            now = time.monotonic()
            if now - shown > PROGRESS_SECONDS:
                shown = now
                output.flush()
                self._show(now - start, output, conveyor)
        self._show(time.monotonic() - start, output, conveyor)

    def _stop(self, number: int, conveyor: Conveyor) -> None:
        self._signal = number
        conveyor.wake()

    def _fill(self, chunks: Iterator[Slot], conveyor: Conveyor) -> None:
        while not self._exhausted and not self._is_full(conveyor):
            slot = next(chunks, None)
            if slot is None:
                self._exhausted = True
                conveyor.end(self._slots)
                return
            self._slots.append(slot)
            self._waiting_rows += len(slot.rows)
            self._waiting_bytes += slot.size
            conveyor.send(slot)

    def _is_full(self, conveyor: Conveyor) -> bool:
        if conveyor.has_groups:
            return conveyor.at_work >= WINDOW
        return self._waiting_rows >= WINDOW or self._waiting_bytes >= WINDOW_BYTES

    def _write(self, output: Output) -> None:
        before = output.written
        unfinished: deque[Slot] = deque()
        while self._slots:
            slot = self._slots.popleft()
            if output.write(slot):
                self._waiting_bytes -= slot.size
                continue
            unfinished.append(slot)
            if self._ordered:
                break
        self._slots.extendleft(reversed(unfinished))
        self._waiting_rows -= output.written - before

    def _show(self, seconds: float, output: Output, conveyor: Conveyor) -> None:
        if self._on_progress is None:
            return
        blocked = None
        if self._ordered and self._slots and self._is_full(conveyor):
            slot = self._slots[0]
            blocked = f"{self._plan.name_of(slot.source)}:{slot.cells[slot.next].number}"
        self._on_progress(
            Progress(
                self._resumed + output.written,
                self._chunks.bytes_read,
                sum(each.path.stat().st_size for each in self._plan.inputs),
                seconds,
                self._tally,
                self._waiting_rows,
                blocked,
            )
        )

    # --- what was done before -------------------------------------------------------------------

    def _resume(self) -> None:
        ledger = self._folder.ledger
        if not ledger.exists():
            return
        if self._engine.compares:
            # A group may be half written, and its rest needs the other members: all rows are
            # graded again, with the Scores that the ledger has.
            self._folder.set_aside()
            return
        cut_torn_line(ledger)
        with ledger.open("rb") as file:
            while lines := list(itertools.islice(file, 1000)):
                try:
                    heads = [head_of(line) for line in lines]
                    rewards = [reward_in(line) for line in lines]
                except ValueError:
                    raise LedgerError(
                        f"`{ledger}` is damaged after line {self._resumed}. Name another folder "
                        "with `--run`."
                    ) from None
                self._index.note_done((head["source"], head["row"]) for head in heads)
                self._index.new_ids([id_hash(head["id"]) for head in heads])
                for reward in rewards:
                    self._tally.add(reward)
                self._resumed += len(lines)

    def _earlier(self) -> dict[str, Any]:
        """Note where the previous ledger has our rows; return which graders made its Scores."""
        previous = self._previous or self._folder.previous()
        if previous is None:
            return {}
        ledger, described = previous
        plan = self._plan.to_json()
        if (described["mapping"], described["facts"]) != (plan["mapping"], plan["facts"]):
            return {}  # the same row was another trajectory then
        now = {(each["path"], each["reader"]): index for index, each in enumerate(plan["inputs"])}
        sources = {
            index: now[each["path"], each["reader"]]
            for index, each in enumerate(described["inputs"])
            if (each["path"], each["reader"]) in now
        }
        self._index.note_previous(ledger, sources)
        parts: dict[str, Any] = described["parts"]
        return parts


def _make_calls(events: queue.SimpleQueue[Callable[[], None]]) -> None:
    """Make the calls that have come in; wait a moment for the first."""
    try:
        events.get(timeout=PROGRESS_SECONDS)()
        while not events.empty():
            events.get()()
    except queue.Empty:
        return


@contextmanager
def _signals(handle: Callable[[int], None]) -> Generator[None]:
    """Turn SIGINT and SIGTERM into a call while inside, where this is the main thread."""
    before: dict[int, Any] = {}

    def handler(number: int, _frame: FrameType | None) -> None:
        handle(number)

    if threading.current_thread() is threading.main_thread():
        before = {
            number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)
        }
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)

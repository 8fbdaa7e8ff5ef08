"""What runs inside a worker process: whole rows, or one part of one trajectory.

Requests and replies are frames of blobs (see `rewardhub.engine.wire`); the first says the kind.
"""

from __future__ import annotations

import gc
import importlib
import itertools
import struct
import time
from collections.abc import Container, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rewardhub.contracts import Limits, RawRow, Reader, ReadOptions
from rewardhub.engine import wire
from rewardhub.engine.cache import Cache, is_cacheable, key_of
from rewardhub.engine.direct import Control, DirectWorkers
from rewardhub.engine.grade import Escalate, Runner
from rewardhub.engine.graders import GradeHere, Graders, course_of, spec_for, specs_of
from rewardhub.engine.groups import member_key
from rewardhub.engine.manifest import read_manifest
from rewardhub.engine.rows import Work, id_hash, ledger_line, reusable, row_digest
from rewardhub.engine.tally import Tally
from rewardhub.errors import LimitError, RowError
from rewardhub.host import ReaderCard
from rewardhub.records import (
    Reward,
    Score,
    Trajectory,
    read_trajectory,
    write_record,
)
from rewardhub.spec import load
from rewardhub.spec.model import RewardSpec, Spec
from rewardhub.spec.secrets import secrets_spared
from rewardhub.text import DEFAULT_FACTS, TemplateFacts

YOUNG_OBJECTS = 50_000
"""The collector looks for cycles after this many new objects: a chunk of rows makes some ten
thousand, and none of them is in a cycle."""

SLICE_SECONDS = 0.2
"""The limits of a chunk start anew at a row's end, at most this often."""


def serve(manifest: bytes, control: Control) -> Handler:
    """Return the handler of a worker process; called once, when the worker starts."""
    registry, source, cache = read_manifest(manifest)
    with secrets_spared("judge", "model", "sandbox"):  # the main process opens them
        reward = load(source, registry)
    graders = Graders(reward)
    graders.open({"inline", "process"})
    readers = {name: each.card for name, each in registry.all(ReaderCard).items()}
    gc.freeze()  # all that is there by now stays: the collector need not look at it again
    gc.set_threshold(YOUNG_OBJECTS)
    return Handler(graders, readers, cache, control)


@dataclass(slots=True)
class RowContext:
    """What all rows of a request share."""

    reader: Reader
    options: ReadOptions
    source: int
    broken: Mapping[str, str]
    then: Mapping[str, Any]
    keep: bool
    tally: Tally


class Handler:
    """Answers requests.

    ``R`` grades rows, ``P`` grades one part, ``T`` parses a row, ``G`` says which groups rows
    belong to, ``C`` calls a function.
    """

    def __init__(
        self,
        graders: Graders,
        readers: Mapping[str, ReaderCard],
        cache: Cache | None,
        control: Control,
    ) -> None:
        self._graders = graders
        self._cards = readers
        self._cache = cache
        self._control = control
        self._readers: dict[str, Reader] = {}
        specs = specs_of(graders.reward)
        self._entries = {entry.identity: (spec, entry) for spec in specs for entry in spec.entries}
        self._needs_reference = {id(spec): _reference_reader(spec) for spec in specs}
        limits = [entry.limits for spec in specs for entry in spec.entries]
        self._slice = Limits(
            _largest(each.cpu_seconds for each in limits),
            _largest(each.wall_seconds for each in limits),
            None,
        )
        self._range = widest_range(specs)

    def __call__(self, payload: bytes) -> bytes:
        """Answer one request."""
        kind, *blobs = wire.unpack(payload)
        answers = {
            b"R": self._rows,
            b"P": self._part,
            b"C": self._call,
            b"T": self._parse,
            b"G": self._members,
        }
        try:
            return answers[kind](blobs)
        except LimitError as error:
            raise MemoryError(str(error)) from None  # which the pool knows for a limit

    def close(self) -> None:
        """Close the graders: the pool has no more work."""
        self._graders.close()
        if self._cache is not None:
            self._cache.close()

    # --- one part of one trajectory -------------------------------------------------------------

    def _part(self, blobs: list[bytes]) -> bytes:
        identity, data = blobs
        spec, entry = self._entries[identity.decode()]
        runner = self._graders.of(spec)[entry.id]
        return write_record(self._direct(runner, read_trajectory(data)))

    def _direct(self, runner: Runner, trajectory: Trajectory) -> Score:
        """Grade in this process, whatever the grader asks for; the pool watches the limits."""
        entry = runner.entry
        if not entry.card.signature.slots:
            return runner.grade(trajectory)
        workers = DirectWorkers(self._control, entry.limits)
        slots = dict.fromkeys(entry.card.signature.slots, workers)
        return Runner(entry, slots, runner.grader).grade(trajectory)

    @staticmethod
    def _call(blobs: list[bytes]) -> bytes:
        """Call a function by name with plain data: `Workers.call` of a grader on a thread."""
        module, _, name = blobs[0].decode().partition(":")
        function: Any = importlib.import_module(module)
        for attribute in name.split("."):
            function = getattr(function, attribute)
        args, kwargs = wire.from_bytes(blobs[1])
        return wire.to_bytes(function(*args, **kwargs))

    # --- rows -----------------------------------------------------------------------------------

    def _parse(self, blobs: list[bytes]) -> bytes:
        context = self._context(wire.from_bytes(blobs[0]))
        try:
            trajectory = context.reader.parse(_row(blobs[1], blobs[2]), context.options)
        except RowError as error:
            return wire.pack((b"B", str(error).encode("utf-8", "replace")))
        return wire.pack((b"T", trajectory.to_json()))

    def _members(self, blobs: list[bytes]) -> bytes:
        """Return the groups that each row is a member of, for the graders that compare."""
        context = self._context(wire.from_bytes(blobs[0]))
        names: list[str] = []
        for number, data in zip(_numbers(blobs[1]), blobs[2:], strict=True):
            try:
                trajectory = context.reader.parse(RawRow(number, data), context.options)
            except RowError:
                continue
            spec = spec_for(self._graders.reward, trajectory.task)
            entries = spec.group_entries if spec is not None else ()
            names.extend(member_key(entry, trajectory) for entry in entries)
        return wire.to_bytes(names)

    def _rows(self, blobs: list[bytes]) -> bytes:
        """Grade rows: read all, grade all, write all, for each kind of work is quicker in a row."""
        context = self._context(wire.from_bytes(blobs[0]))
        numbers = _numbers(blobs[1])
        count = len(numbers)
        data, known = blobs[2 : 2 + count], blobs[2 + count :] or [b""] * count
        with self._limited(self._slice):
            works = [
                self._read(RawRow(number, line), before, context)
                for number, line, before in zip(numbers, data, known, strict=True)
            ]
        here = self._here(context.broken)
        for slice_of_works in self._slices(iter(works)):
            for work in slice_of_works:
                if work.course is not None:
                    self._graders.advance(work.course, work.trajectory, here, work.scores)
        with self._limited(self._slice):
            for work in works:
                if work.course is not None and work.course.done:
                    work.reward = work.course.reward()
            for work in works:
                _count(work, context.tally)
            replies = [self._reply(work, context) for work in works]
        tally = wire.to_bytes(context.tally.to_json())
        if all(kind == b"D" for kind, _, _ in replies):
            hashes = b"".join([identity for _, identity, _ in replies])
            return wire.pack((tally, b"whole", hashes, b"".join([body for _, _, body in replies])))
        return wire.pack((tally, b"", *itertools.chain.from_iterable(replies)))

    def _slices(self, works: Iterator[Work]) -> Iterator[Iterator[Work]]:
        """Yield the rows in slices; each slice has the limits for itself."""
        for first in works:
            with self._limited(self._slice):
                yield _until(time.perf_counter() + SLICE_SECONDS, first, works)

    @contextmanager
    def _limited(self, limits: Limits) -> Generator[None]:
        with self._control.limit(cpu_seconds=limits.cpu_seconds, wall_seconds=limits.wall_seconds):
            yield

    def _read(self, row: RawRow, known: bytes, context: RowContext) -> Work:
        """Return a row's trajectory, and the way it has to go."""
        work = Work(row, known)
        try:
            work.trajectory = trajectory = context.reader.parse(row, context.options)
        except RowError as error:
            work.error = str(error)
            return work
        course = course_of(self._graders.reward, trajectory)
        if isinstance(course, Reward):
            work.reward = course
            return work
        missing = self._needs_reference[id(course.spec)]
        if missing and trajectory.task.reference is None:
            work.error = f"there is no reference, and `{missing}` needs one"
            return work
        work.course = course
        if known:
            work.scores = reusable(known, row_digest(row.data), context.then, course.spec)
        return work

    def _reply(self, work: Work, context: RowContext) -> tuple[bytes, bytes, bytes]:
        """Return kind, hash of the id, and body: a ledger line, what is pending, or an error."""
        if work.error is not None:
            return b"B", b"", work.error.encode("utf-8", "replace")
        trajectory, reward = work.trajectory, work.reward
        digest = row_digest(work.row.data)
        identity = id_hash(trajectory.id)
        if reward is None:
            course = work.course
            assert course is not None
            standings = wire.standings_to_bytes(course.standings)
            body = (digest.encode(), trajectory.to_json(), standings, work.known)
            return b"P", identity, wire.pack(body)
        line = ledger_line(trajectory, reward, context.source, work.row.number, digest)
        if context.keep:
            return b"K", identity, wire.pack((line, trajectory.to_json()))
        return b"D", identity, line

    def _here(self, broken: Container[str]) -> GradeHere:
        """Return what grades all that can be killed, but nothing that is known to break."""

        def grade(runner: Runner, trajectory: Trajectory) -> Score | None:
            if broken and runner.entry.identity in broken:
                return None
            if runner.where == "inline":
                try:
                    return runner.grade(trajectory)
                except Escalate:
                    return self._dear(runner, trajectory)
            return self._dear(runner, trajectory) if runner.where == "process" else None

        return grade

    def _dear(self, runner: Runner, trajectory: Trajectory) -> Score:
        """Grade what is worth keeping: from the cache, or under the pool's eyes."""
        entry = runner.entry
        cache = self._cache if is_cacheable(entry) else None
        if cache is None:
            return self._in_limits(runner, trajectory)
        key = key_of(entry, (trajectory,), {})
        score = cache.get(key)
        if score is None:
            score = self._in_limits(runner, trajectory)
            cache.put(key, score)
        return score

    def _in_limits(self, runner: Runner, trajectory: Trajectory) -> Score:
        """Grade under the limits of the entry: those of the slice may be another grader's."""
        with self._limited(runner.entry.limits):
            return self._direct(runner, trajectory)

    def _context(self, fields: dict[str, Any]) -> RowContext:
        name = fields["reader"]
        if name not in self._readers:
            self._readers[name] = self._cards[name].reader()
        facts = fields.get("facts")
        options = ReadOptions(
            mapping=fields["mapping"],
            source=fields["name"],
            facts=TemplateFacts(**facts) if facts else DEFAULT_FACTS,
        )
        return RowContext(
            self._readers[name],
            options,
            fields["source"],
            fields["broken"],
            fields["then"],
            fields["keep"],
            Tally(self._range),
        )


def _until(end: float, first: Work, works: Iterator[Work]) -> Iterator[Work]:
    yield first
    for work in works:
        yield work
        if time.perf_counter() > end:
            return


def _count(work: Work, tally: Tally) -> None:
    if work.error is not None:
        tally.add_bad(work.error)
    elif work.reward is not None:
        tally.add(work.reward)
        if work.scores:
            tally.add_reused(work.reward, work.scores)


def _numbers(packed: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(packed) // 8}Q", packed)


def _row(number: bytes, data: bytes) -> RawRow:
    return RawRow(int.from_bytes(number, "little"), data)


def _largest(values: Iterator[float | None]) -> float | None:
    known = list(values)
    return None if None in known or not known else max(v for v in known if v is not None)


def most_memory(reward: RewardSpec) -> int | None:
    """Return the most memory, in MiB, that a grader of the reward file may use."""
    limits = [entry.limits.memory_mb for spec in specs_of(reward) for entry in spec.entries]
    known = [each for each in limits if each is not None]
    return max(known) if len(known) == len(limits) else None


def widest_range(specs: tuple[Spec, ...]) -> tuple[float, float]:
    """Return the range that holds every reward of the specs."""
    return min(spec.range[0] for spec in specs), max(spec.range[1] for spec in specs)


def _reference_reader(spec: Spec) -> str | None:
    """Return the grader of ``spec`` whose card lists the reference among its reads."""
    for entry in spec.entries:
        if "task.reference" in (entry.card.reads or ()):
            return entry.use
    return None

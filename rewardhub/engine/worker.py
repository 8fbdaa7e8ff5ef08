"""What runs inside a worker process: whole rows, or one part of one trajectory.

Requests and replies are frames of blobs (see `rewardhub.engine.wire`); the first says the kind.
"""

from __future__ import annotations

import hashlib
import importlib
import time
from collections.abc import Callable, Container, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, TypeVar

from rewardhub.contracts import Limits, RawRow, Reader, ReadOptions, Workers
from rewardhub.engine import wire
from rewardhub.engine.cache import Cache, is_cacheable, key_of
from rewardhub.engine.grade import Escalate, Runner
from rewardhub.engine.graders import GradeHere, Graders, course_of, spec_for, specs_of
from rewardhub.engine.groups import member_key
from rewardhub.engine.rows import reusable, row_digest
from rewardhub.engine.tally import Tally
from rewardhub.errors import LimitError, RowError
from rewardhub.host import Manifest, ReaderCard, from_manifest
from rewardhub.records import (
    SCHEMA_VERSION,
    Reward,
    Score,
    Trajectory,
    dump_json,
    read_trajectory,
    write_record,
)
from rewardhub.spec import load
from rewardhub.spec.model import RewardSpec, Spec
from rewardhub.text import DEFAULT_FACTS, TemplateFacts

P = ParamSpec("P")
T = TypeVar("T")

SLICE_SECONDS = 0.2
"""The limits of a chunk start anew at a row's end, at most this often."""


class Control(Protocol):
    """What a worker may say to its pool."""

    def limit(self, *, cpu_seconds: float | None = None, wall_seconds: float | None = None) -> Any:
        """Narrow the limits for the calls inside the context."""
        ...

    def progress(self, note: str) -> None:
        """Say what the worker is at."""
        ...


class DirectWorkers(Workers):
    """`Workers` inside a worker process: the call runs right here, under narrower limits."""

    def __init__(self, control: Control, limits: Limits) -> None:
        self._control = control
        self._limits = limits

    def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return ``function(*args, **kwargs)``; the pool kills this process over the limit."""
        limits = self._limits
        with self._control.limit(cpu_seconds=limits.cpu_seconds, wall_seconds=limits.wall_seconds):
            return function(*args, **kwargs)

    def limited(
        self, *, cpu_seconds: float | None = None, wall_seconds: float | None = None
    ) -> Workers:
        """Return the same with narrower limits."""
        mine = self._limits
        return DirectWorkers(
            self._control,
            Limits(cpu_seconds or mine.cpu_seconds, wall_seconds or mine.wall_seconds, None),
        )


def manifest_of(registry: Manifest, source: Any, cache: Cache | None) -> bytes:
    """Return what a worker needs to know: which plugins, which reward file, which cache."""
    return wire.to_bytes(
        {
            "discover": registry.discover,
            "block": registry.block,
            "loose": registry.loose,
            "modules": registry.modules,
            "reward": source,
            "cache": str(cache.path) if cache else None,
        }
    )


def serve(manifest: bytes, control: Control) -> Handler:
    """Return the handler of a worker process; called once, when the worker starts."""
    from pathlib import Path

    fields = wire.from_bytes(manifest)
    registry = from_manifest(
        Manifest(
            fields["discover"],
            tuple(fields["block"]),
            tuple(fields["loose"]),
            tuple(fields["modules"]),
        )
    )
    reward = load(fields["reward"], registry)
    cache = Cache(Path(fields["cache"])) if fields["cache"] else None
    graders = Graders(reward)
    graders.open({"inline", "process"})
    readers = {name: each.card for name, each in registry.all(ReaderCard).items()}
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
        rows = iter(blobs[1:])
        names: list[str] = []
        for number, data in zip(rows, rows, strict=True):
            try:
                trajectory = context.reader.parse(_row(number, data), context.options)
            except RowError:
                continue
            spec = spec_for(self._graders.reward, trajectory.task)
            entries = spec.group_entries if spec is not None else ()
            names.extend(member_key(entry, trajectory) for entry in entries)
        return wire.to_bytes(names)

    def _rows(self, blobs: list[bytes]) -> bytes:
        context = self._context(wire.from_bytes(blobs[0]))
        replies: list[bytes] = [b""]
        rows = iter(blobs[1:])
        for slice_of_rows in self._slices(zip(rows, rows, rows, strict=True)):
            for number, data, known in slice_of_rows:
                replies.extend(self._row(_row(number, data), known, context))
        replies[0] = wire.to_bytes(context.tally.to_json())
        return wire.pack(replies)

    def _slices(
        self, rows: Iterator[tuple[bytes, bytes, bytes]]
    ) -> Iterator[Iterator[tuple[bytes, bytes, bytes]]]:
        """Yield the rows in slices; each slice has the limits for itself."""
        for first in rows:
            with self._limited(self._slice):
                yield _until(time.perf_counter() + SLICE_SECONDS, first, rows)

    @contextmanager
    def _limited(self, limits: Limits) -> Generator[None]:
        with self._control.limit(cpu_seconds=limits.cpu_seconds, wall_seconds=limits.wall_seconds):
            yield

    def _row(self, row: RawRow, known: bytes, context: RowContext) -> tuple[bytes, bytes, bytes]:
        """Return kind, hash of the id, and body: a ledger line, what is pending, or an error."""
        try:
            trajectory = context.reader.parse(row, context.options)
        except RowError as error:
            context.tally.add_bad(str(error))
            return b"B", b"", str(error).encode("utf-8", "replace")
        course = course_of(self._graders.reward, trajectory)
        digest = row_digest(row.data)
        if isinstance(course, Reward):
            return self._done(trajectory, course, row, digest, context)
        missing = self._needs_reference[id(course.spec)]
        if missing and trajectory.task.reference is None:
            reason = f"there is no reference, and `{missing}` needs one"
            context.tally.add_bad(reason)
            return b"B", b"", reason.encode()
        scores = reusable(known, digest, context.then, course.spec) if known else None
        waiting = self._graders.advance(course, trajectory, self._here(context.broken), scores)
        if waiting or not course.done:
            body = wire.pack(
                (
                    digest.encode(),
                    trajectory.to_json(),
                    wire.standings_to_bytes(course.standings),
                    known,
                )
            )
            return b"P", id_hash(trajectory.id), body
        reward = course.reward()
        if scores:
            context.tally.add_reused(reward, scores)
        return self._done(trajectory, reward, row, digest, context)

    def _done(
        self,
        trajectory: Trajectory,
        reward: Reward,
        row: RawRow,
        digest: str,
        context: RowContext,
    ) -> tuple[bytes, bytes, bytes]:
        context.tally.add(reward)
        line = ledger_line(trajectory, reward, context.source, row.number, digest)
        if context.keep:
            return b"K", id_hash(trajectory.id), wire.pack((line, trajectory.to_json()))
        return b"D", id_hash(trajectory.id), line

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


def _until(
    end: float, first: tuple[bytes, bytes, bytes], rows: Iterator[tuple[bytes, bytes, bytes]]
) -> Iterator[tuple[bytes, bytes, bytes]]:
    yield first
    for row in rows:
        yield row
        if time.perf_counter() > end:
            return


def _row(number: bytes, data: bytes) -> RawRow:
    return RawRow(int.from_bytes(number, "little"), data)


def id_hash(identity: str) -> bytes:
    """Return 8 bytes that stand for an id when duplicates are looked for."""
    return hashlib.blake2b(identity.encode("utf-8", "replace"), digest_size=8).digest()


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


def ledger_line(
    trajectory: Trajectory, reward: Reward, source: int, row: int, digest: str
) -> bytes:
    """Return the ledger's line for one trajectory."""
    head = {
        "schema_version": SCHEMA_VERSION,
        "id": trajectory.id,
        "task": trajectory.task.id,
        "group": trajectory.group,
        "domain": trajectory.task.domain,
        "source": source,
        "row": row,
        "digest": digest,
        "status": trajectory.status,
        "steps": len(trajectory.steps),
    }
    return b'%s,"reward":%s}\n' % (dump_json(head)[:-1], write_record(reward))

"""Sandbox: where untrusted code runs. What a job is, what became of it, and whose fault it was."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import ClassVar, Literal, Self

from rewardhub.contracts.resource import Resource
from rewardhub.errors import InfrastructureError

OutcomeStatus = Literal[
    "ok", "nonzero", "timeout", "oom", "output_limit", "killed", "sandbox_error"
]
Limit = Literal["", "cpu", "wall"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preload:
    """Trusted Python that a sandbox has ready before any job starts.

    Sandboxes that fork their jobs from a warm process import it there once, so that a job need not
    pay for it; others put it into each job. It never holds secrets: every job can read it.

    Attributes:
        name: the module that ``source`` becomes; jobs import it by this name.
        source: its text; imports heavy modules, defines what jobs call. Must not start threads.
        requires: distributions that must be importable inside, such as ``pytest``.
    """

    name: str
    source: str
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One program to run in a sandbox.

    Attributes:
        command: program and arguments; empty means ``source`` is run by the sandbox's Python.
        source: Python source to run, as ``__main__``, where no command is given.
        files: path relative to the working folder -> content.
        stdin: what the program reads.
        env: added to the sandbox's own small environment; nothing of the host's leaks in.
        preload: what is ready before the job starts; only for jobs without a command.
        cpu_seconds: limit on CPU time.
        wall_seconds: limit on wall time.
        memory_mb: limit on memory, in MiB, of all its processes together where the sandbox can.
        processes: limit on processes and threads at a time.
        disk_mb: limit on what it writes, in MiB; the working folder and ``/tmp`` each.
        output_bytes: how much of stdout and of stderr is kept, each.
        max_output_bytes: past this much of both together the program is killed.
        collect: paths whose content comes back after the run; folders come back whole.
    """

    command: tuple[str, ...] = ()
    source: str = ""
    files: Mapping[str, str | bytes] = field(default_factory=dict[str, str | bytes])
    stdin: str | bytes = ""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    preload: Preload | None = None
    cpu_seconds: float = 10.0
    wall_seconds: float = 30.0
    memory_mb: int = 512
    processes: int = 64
    disk_mb: int = 64
    output_bytes: int = 64 << 10
    max_output_bytes: int = 16 << 20
    collect: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a Job. Only ``sandbox_error`` means that the sandbox itself broke.

    Attributes:
        status: ``ok`` (exit code 0), ``nonzero``, ``timeout``, ``oom``, ``output_limit``,
            ``killed`` (by a signal), or ``sandbox_error``.
        limit: which time limit a ``timeout`` reached: ``cpu``, ``wall``, or empty.
        exit_code: of the program; None if it was killed or never ran.
        stdout: what it wrote, cut at the limit.
        stderr: what it wrote, cut at the limit.
        output_total: bytes it wrote to both, kept or not.
        files: the collected files.
        seconds: wall time.
        cpu_seconds: CPU time.
        memory_mb: peak memory, in MiB.
        reason: what happened, in one sentence.
        tampered: signs that the program attacked the sandbox, in words.
    """

    status: OutcomeStatus
    limit: Limit = ""
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    output_total: int = 0
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    memory_mb: float = 0.0
    reason: str = ""
    tampered: tuple[str, ...] = ()


class ProgramEndedError(Exception):
    """The program ended, or was killed, instead of answering.

    Attributes:
        outcome: what became of it.
    """

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.reason or outcome.status)
        self.outcome = outcome


class Program(ABC):
    """A job that is running, and the private channel to it.

    Inside, the channel is the file descriptor that the environment variable
    ``REWARDHUB_CHANNEL`` names: a stream socket that carries messages, each after its length (four
    bytes, little-endian). Whatever arrives was written by untrusted code.
    """

    MAX_MESSAGE: ClassVar[int] = 1 << 20

    @abstractmethod
    def send(self, message: bytes) -> None:
        """Send one message; a program that does not read it is no error here.

        Raises:
            InfrastructureError: if the sandbox is gone.
        """

    @abstractmethod
    def receive(self) -> bytes:
        """Return the next message of the program.

        Raises:
            ProgramEndedError: if it ended without one: by itself, at a limit, or because it sent
                a message longer than ``MAX_MESSAGE`` bytes.
        """

    @abstractmethod
    def finish(self) -> Outcome:
        """Close the channel, wait until the program has ended, and return what became of it."""

    @abstractmethod
    def kill(self) -> Outcome:
        """End the program now, and return what became of it (or had become)."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()


class Sandbox(Resource):
    """Where untrusted code runs.

    A backend defines `start`; `run` and `arun` follow from it. A simple backend without channels
    defines `run` alone.
    """

    kind: ClassVar[str] = "sandbox"

    def start(self, *jobs: Job) -> tuple[Program, ...]:  # noqa: ARG002  # backends use them
        """Start ``jobs`` side by side, isolated from each other, and return them while they run.

        They share one slot: together they count as one job against the limits of the sandbox, so
        that jobs that talk to each other never wait for each other's turn. The slot is free again
        when each has been finished or killed.

        Raises:
            InfrastructureError: if no sandbox could be had at all.
        """
        raise InfrastructureError(
            f"the sandbox {type(self).__name__} runs whole programs only, and this grader talks "
            "with programs while they run: use `local` or `docker`"
        )

    def run(self, job: Job) -> Outcome:
        """Run ``job`` and return what became of it; never raises for what the program did.

        Raises:
            InfrastructureError: if no sandbox could be had at all.
        """
        (program,) = self.start(job)
        with program:
            return program.finish()

    async def arun(self, job: Job) -> Outcome:
        """Run ``job`` without blocking the loop; otherwise as `run`."""
        import asyncio

        return await asyncio.to_thread(self.run, job)

    def alone(self) -> AbstractContextManager[None]:
        """Return a context in which this thread's jobs run while no other job does."""
        return nullcontext()

    def canary(self) -> str:
        """Run a small known job; return how it was too slow or broke, or an empty string."""
        return ""

    def fairly(self, play: Callable[[], Outcome]) -> Outcome:
        """Return the outcome of ``play``, once it is known whose fault it was.

        A wall-clock limit that was reached without the CPU time to show for it (a sleep, a
        deadlock, a slow machine) is played once more, alone, and a canary job decides. A
        ``sandbox_error`` is played again; twice in a row beside a canary that passes, it is the
        program's doing, and comes back as ``killed`` with a sign of tampering. Nothing that the
        program does ends otherwise than with an Outcome.

        Args:
            play: runs the job, or starts it and talks with it; called once to three times, from
                the beginning each time.

        Raises:
            InfrastructureError: if the canary was slow or broke, too.
        """
        outcome = play()
        if outcome.status == "sandbox_error":
            outcome = play()
            if outcome.status == "sandbox_error":
                return self._blame(outcome)
        if outcome.status != "timeout" or outcome.limit != "wall":
            return outcome
        with self.alone():
            outcome = play()
            if outcome.status == "sandbox_error":
                return self._blame(outcome)
            if outcome.limit == "wall":
                self._check(outcome)
        return outcome

    def _blame(self, outcome: Outcome) -> Outcome:
        self._check(outcome)
        sign = f"the sandbox broke twice under this program alone: {outcome.reason}"
        return replace(outcome, status="killed", reason=sign, tampered=(*outcome.tampered, sign))

    def _check(self, outcome: Outcome) -> None:
        trouble = self.canary()
        if trouble:
            told = outcome.reason or outcome.status
            raise InfrastructureError(f"{told}; and a canary job beside it: {trouble}")

"""What graders share: sandboxes, judges, models, worker processes.

A grader asks for a resource by a parameter whose annotation is one of these contracts; the reward
spec binds the parameter's name to one of its ``resources``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, ParamSpec, TypeVar

from rewardhub.records import EMPTY

P = ParamSpec("P")
T = TypeVar("T")

OutcomeStatus = Literal[
    "ok", "nonzero", "timeout", "oom", "output_limit", "killed", "sandbox_error"
]


class Resource(ABC):  # noqa: B024  # each kind below says what is abstract
    """Something that graders share. ``identity`` is part of every cached Score's key."""

    kind: ClassVar[str] = "resource"

    @property
    def identity(self) -> Mapping[str, Any]:
        """JSON that names all a verdict may depend on: image digest, model, parameters."""
        return EMPTY

    def open(self) -> None:  # noqa: B027  # most resources need none
        """Get ready: called once, before the first grader that uses it."""

    def close(self) -> None:  # noqa: B027
        """Let go of everything: called once, after the last grader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One program to run in a sandbox.

    Attributes:
        command: program and arguments; empty means ``source`` is run by the sandbox's Python.
        source: Python source to run where no command is given.
        files: path relative to the working folder -> content.
        stdin: what the program reads.
        env: the whole environment; nothing of the host's leaks in.
        cpu_seconds: limit on CPU time.
        wall_seconds: limit on wall time.
        memory_mb: limit on memory, in MiB.
        output_bytes: limit on stdout and stderr together.
        collect: paths whose content comes back after the run.
    """

    command: tuple[str, ...] = ()
    source: str = ""
    files: Mapping[str, str | bytes] = field(default_factory=dict[str, str | bytes])
    stdin: str | bytes = ""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cpu_seconds: float = 10.0
    wall_seconds: float = 30.0
    memory_mb: int = 512
    output_bytes: int = 1 << 20
    collect: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a Job. Only ``sandbox_error`` means that the sandbox itself broke.

    Attributes:
        status: ``ok`` (exit code 0), ``nonzero``, ``timeout``, ``oom``, ``output_limit``,
            ``killed`` (by a signal), or ``sandbox_error``.
        exit_code: of the program; None if it was killed or never ran.
        stdout: what it wrote, cut at the limit.
        stderr: what it wrote, cut at the limit.
        files: the collected files.
        seconds: wall time.
        cpu_seconds: CPU time.
        memory_mb: peak memory, in MiB.
        reason: what happened, in one sentence.
    """

    status: OutcomeStatus
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    memory_mb: float = 0.0
    reason: str = ""


class Sandbox(Resource):
    """Where untrusted code runs."""

    kind: ClassVar[str] = "sandbox"

    @abstractmethod
    def run(self, job: Job) -> Outcome:
        """Run ``job`` and return what became of it; never raises for what the program did.

        Raises:
            InfrastructureError: if no sandbox could be had at all.
        """

    @abstractmethod
    async def arun(self, job: Job) -> Outcome:
        """Run ``job`` without blocking the loop; otherwise as `run`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a model call cost: tokens in and out, and money in US dollars."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReply:
    """A judge's answer: its text, the JSON in it (None if no schema was asked), and its usage."""

    text: str
    data: Any = None
    usage: Usage = Usage()
    finish_reason: str = "stop"
    logprobs: tuple[Mapping[str, float], ...] = ()


class Judge(Resource):
    """A language model that a grader may ask."""

    kind: ClassVar[str] = "judge"

    @abstractmethod
    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        schema: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> JudgeReply:
        """Return the judge's reply to a chat.

        Args:
            messages: chat messages with ``role`` and ``content``.
            schema: JSON Schema that the reply must satisfy.
            seed: for backends that can repeat themselves.

        Raises:
            InfrastructureError: if the endpoint gave no answer within its retries.
        """


class Model(Resource):
    """A local model that graders share: weights are loaded once, calls are batched."""

    kind: ClassVar[str] = "model"

    @abstractmethod
    def forward(self, inputs: Sequence[str], **parameters: Any) -> Sequence[Any]:
        """Return one result for each input text, in the same order.

        Raises:
            InfrastructureError: if the device is lost or out of memory.
        """


class Workers(Resource):
    """Killable worker processes, for the one dangerous call of a mostly cheap grader.

    Settle what is cheap first: the first `call` moves the whole grading into a worker process,
    where ``grade`` runs again from its start, so ``grade`` must not have changed anything before.
    """

    kind: ClassVar[str] = "workers"

    @abstractmethod
    def call(
        self,
        function: Callable[P, T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return ``function(*args, **kwargs)``, run where it can be killed.

        ``function`` is importable by name, and arguments and result are plain data. The limits
        are those of `limited`, else the grader's. Over a limit the engine, not the grader,
        decides whose fault it was.
        """

    @abstractmethod
    def limited(
        self, *, cpu_seconds: float | None = None, wall_seconds: float | None = None
    ) -> Workers:
        """Return the same workers with narrower limits for the calls made through them."""


KINDS: dict[type[Resource], str] = {
    Sandbox: "sandbox",
    Judge: "judge",
    Model: "model",
    Workers: "workers",
}

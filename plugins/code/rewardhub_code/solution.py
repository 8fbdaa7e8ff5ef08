"""The solution as a program of its own: the job that serves it, and what it replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal, TypeGuard

from rewardhub import Job, Outcome, Program, ProgramEndedError, Sandbox
from rewardhub_code.inside import plain
from rewardhub_code.preloads import preload, starter

ReplyStatus = Literal["returned", "raised", "refused", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """What a run of a solution may use; its wall time is twice its CPU time and two seconds."""

    cpu_seconds: float
    memory_mb: int

    @property
    def wall_seconds(self) -> float:
        """The limit on wall time."""
        return 2.0 * self.cpu_seconds + 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came of a call.

    Attributes:
        status: ``returned``, ``raised``, ``refused`` (it returned what is not plain), or
            ``ended`` (the program did, in this call or before it).
        value: what was returned; iterators as lists.
        args: the arguments after the call, where that was asked.
        error: names of the exception and those that it derives from, most derived first.
        reason: what happened, where nothing was returned.
        seconds: wall time, measured outside.
    """

    status: ReplyStatus
    value: Any = None
    args: tuple[Any, ...] = ()
    error: tuple[str, ...] = ()
    reason: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsRun:
    """What came of all calls, one reply for each."""

    replies: tuple[Reply, ...]
    outcome: Outcome
    tampered: tuple[str, ...] = ()


def solution_job(source: str, limits: RunLimits, env: Mapping[str, str]) -> Job:
    """Return the job that serves ``source``: it holds nothing but the solution."""
    ready = preload("plain", "channel", "clock", "serve")
    return Job(
        source=starter(ready),
        files={"solution.py": source.encode("utf-8", "replace")},
        env=env,
        preload=ready,
        cpu_seconds=limits.cpu_seconds,
        wall_seconds=limits.wall_seconds,
        memory_mb=limits.memory_mb,
    )


def call_all(
    sandbox: Sandbox,
    source: str,
    calls: Sequence[tuple[Sequence[Any], Mapping[str, Any]]],
    *,
    entry_point: str,
    limits: RunLimits,
    out: bool = False,
    env: Mapping[str, str] | None = None,
) -> CallsRun:
    """Call a solution once for each of ``calls``, all in one program, and return its replies.

    A program that ends takes the calls after it with it.

    Args:
        sandbox: where it runs.
        source: the solution.
        calls: arguments and keyword arguments, plain values.
        entry_point: the function.
        limits: for all calls together.
        out: whether the arguments come back, as the calls left them.
        env: of the program; see `environment`.

    Raises:
        InfrastructureError: if no sandbox could be had, or the machine was too slow.
        NotPlainError: if an argument is not plain.
    """
    requests = [_request(entry_point, args, kwargs, out=out) for args, kwargs in calls]
    job = solution_job(source, limits, env or {})
    played: list[CallsRun] = []

    def play() -> Outcome:
        run = _play(sandbox, job, requests)
        played.append(run)
        return run.outcome

    outcome = sandbox.fairly(play)
    last = played[-1]
    signs = tuple(dict.fromkeys((*last.tampered, *outcome.tampered)))
    return CallsRun(replies=last.replies, outcome=outcome, tampered=signs)


def _request(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], *, out: bool) -> bytes:
    return plain.dumps(
        {
            "op": "call",
            "target": None,
            "name": name,
            "args": [plain.encode(each) for each in args],
            "kwargs": {key: plain.encode(each) for key, each in kwargs.items()},
            "out": out,
        }
    )


def _play(sandbox: Sandbox, job: Job, requests: Sequence[bytes]) -> CallsRun:
    replies: list[Reply] = []
    tampered: list[str] = []
    (program,) = sandbox.start(job)
    with program:
        try:
            for request in requests:
                start = perf_counter()
                replies.append(_ask(program, request, tampered, start))
        except ProgramEndedError as error:
            reason = ended(error.outcome)
            missing = [Reply(status="ended", reason=reason)] * (len(requests) - len(replies))
            outcome = error.outcome
            replies.extend(missing)
        else:
            outcome = program.kill()
    return CallsRun(replies=tuple(replies), outcome=outcome, tampered=tuple(tampered))


def _ask(program: Program, request: bytes, tampered: list[str], start: float) -> Reply:
    program.send(request)
    data = program.receive()
    seconds = perf_counter() - start
    try:
        return read_reply(plain.loads(data), seconds)
    except plain.NotPlainError as error:
        sign = f"it gave {error} instead of a plain value"
        tampered.append(sign)
        return Reply(status="refused", reason=sign, seconds=seconds)


def read_reply(message: Any, seconds: float = 0.0, other: plain.Decode | None = None) -> Reply:
    """Return a message of the solution's side as a reply.

    Raises:
        NotPlainError: if it is none, or holds what is not plain.
    """
    if not isinstance(message, dict):
        raise plain.NotPlainError("a message that is no reply")
    if is_texts(message.get("raised")) and isinstance(message.get("message"), str):
        names = tuple(message["raised"])
        reason = f"it raised {names[0]}: {message['message']}"[:500]
        return Reply(status="raised", error=names, reason=reason, seconds=seconds)
    if isinstance(message.get("refused"), str):
        raise plain.NotPlainError(message["refused"][:500])
    if "value" not in message or not isinstance(message.get("args", []), list):
        raise plain.NotPlainError("a message that is no reply")
    hook = other or _no_object
    value = plain.decode(message["value"], hook)
    if type(value) is type(iter([])):
        value = list(value)
    args = tuple(plain.decode(each, hook) for each in message.get("args", []))
    return Reply(status="returned", value=value, args=args, seconds=seconds)


def is_texts(value: object) -> TypeGuard[list[str]]:
    """Return whether ``value`` is a list of texts, and not empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)


def handle_name(payload: object) -> str:
    """Return what kind of thing a handle is, in words.

    Raises:
        NotPlainError: if it is no handle.
    """
    if isinstance(payload, dict) and set(payload) == {"id", "kind", "classes"}:
        number, kind, classes = payload["id"], payload["kind"], payload["classes"]
        well = isinstance(classes, list) and all(
            isinstance(each, list)
            and len(each) == 2
            and type(each[0]) is int
            and isinstance(each[1], str)
            for each in classes
        )
        if type(number) is int and kind in _KINDS and well:
            of_type = f" of type {classes[0][1][:80]}" if classes else ""
            return f"{_KINDS[kind]}{of_type}"
    raise plain.NotPlainError("a broken handle")


_KINDS = {"object": "an object", "function": "a function", "class": "a class", "module": "a module"}


def _no_object(tag: str, payload: object) -> Any:
    if tag == "$handle":
        raise plain.NotPlainError(handle_name(payload))
    raise plain.NotPlainError(f"the unknown tag {tag[:80]!r}")


def ended(outcome: Outcome) -> str:
    """Return how a program ended that had more to say, in words."""
    if outcome.status in {"ok", "nonzero"}:
        return f"it ended before it answered (exit code {outcome.exit_code})"
    if outcome.status == "timeout":
        return f"it ran out of {outcome.limit or 'wall'} time" + _detail(outcome)
    if outcome.status == "oom":
        return "it ran out of memory" + _detail(outcome)
    return f"it was ended ({outcome.status})" + _detail(outcome)


def _detail(outcome: Outcome) -> str:
    return f": {outcome.reason}" if outcome.reason else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """How one test ended."""

    __test__ = False

    name: str
    passed: bool
    reason: str = ""
    seconds: float = 0.0
    memory_mb: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def as_json(self) -> dict[str, Any]:
        """Return it for the evidence."""
        told: dict[str, Any] = {"name": self.name, "passed": self.passed}
        if self.reason:
            told["reason"] = self.reason
        told["seconds"] = round(self.seconds, 6)
        if self.memory_mb is not None:
            told["memory_mb"] = self.memory_mb
        return told | dict(self.extra)

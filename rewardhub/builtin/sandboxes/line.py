"""Line: the host's end of the stream to one warden."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Protocol

from rewardhub.builtin.sandboxes.bundle import bundle
from rewardhub.builtin.sandboxes.inside import frames
from rewardhub.builtin.sandboxes.inside.payload import Payload
from rewardhub.builtin.sandboxes.inside.wishes import Setting, Wish
from rewardhub.builtin.sandboxes.verdict import outcome_of
from rewardhub.contracts import Job, Outcome, Program, ProgramEndedError
from rewardhub.errors import InfrastructureError

_READY_SECONDS = 150.0
_GRACE_SECONDS = 60.0
_BLOCK = 1 << 18


class Stream(Protocol):
    """Bytes to and from a warden; a time-out loses nothing."""

    def recv(self, size: int, /) -> bytes:
        """Return what has arrived, at most ``size`` bytes; none at the end."""
        ...

    def sendall(self, data: bytes, /) -> None:
        """Send all of ``data``."""

    def settimeout(self, seconds: float | None, /) -> None:
        """Let `recv` and `sendall` raise TimeoutError after so many seconds."""


class Carrier(Protocol):
    """What holds a warden: a process, or a container."""

    @property
    def stream(self) -> Stream:
        """The stream to it."""
        ...

    def complaint(self) -> str:
        """Return what it wrote to stderr, if anything."""
        ...

    def end(self) -> None:
        """End it now, with all that is in it."""


class Line:
    """A warden with its zygote, ready for one job at a time; used by one thread at a time.

    Args:
        carrier: holds the warden, that has been started and waits.
        setting: what holds for its jobs.

    Attributes:
        info: what the warden found out about itself.
        jobs: how many it was given.
        worn: why it is of no more use; empty while it is.

    Raises:
        InfrastructureError: if the warden can't get ready, with its reason.
    """

    def __init__(self, carrier: Carrier, setting: Setting) -> None:
        self.jobs = 0
        self.worn = ""
        self._carrier = carrier
        self._reader = frames.FrameReader()
        self._deadline = time.monotonic() + _READY_SECONDS
        try:
            self.send_raw(bundle() + frames.pack(frames.CONFIGURE, setting.to_json()))
            kind, content = self.next_frame()
        except InfrastructureError:
            self.close()
            raise
        except BaseException:
            carrier.end()
            raise
        if kind != frames.READY:
            self.close()
            raise InfrastructureError(
                f"the sandbox could not be set up: {content.decode(errors='replace')}"
            )
        self.info: Mapping[str, Any] = json.loads(content)

    def start(self, job: Job, ended: Callable[[], None]) -> LineProgram:
        """Start ``job``, and call ``ended`` once it has ended."""
        self.jobs += 1
        self._deadline = time.monotonic() + job.wall_seconds + _GRACE_SECONDS
        program = LineProgram(self, ended)
        try:
            self.send_raw(frames.pack(frames.START, *_packed(job)))
        except InfrastructureError as error:
            program.give_up(str(error))
        return program

    def send_raw(self, data: bytes) -> None:
        """Send frames; InfrastructureError if the warden is gone or hangs."""
        try:
            self._carrier.stream.settimeout(self._left())
            self._carrier.stream.sendall(data)
        except OSError as error:
            raise self._gone(error) from error

    def next_frame(self) -> tuple[int, bytes]:
        """Return the next frame; InfrastructureError if the warden is gone or hangs."""
        while (frame := self._reader.next_frame()) is None:
            try:
                self._carrier.stream.settimeout(self._left())
                data = self._carrier.stream.recv(_BLOCK)
            except OSError as error:
                raise self._gone(error) from error
            if not data:
                raise self._gone(EOFError("it closed the stream"))
            self._reader.feed(data)
        return frame

    def close(self) -> None:
        """End the warden and all that it holds."""
        self.worn = self.worn or "it was closed"
        self._carrier.end()

    def _left(self) -> float:
        return max(0.001, self._deadline - time.monotonic())

    def _gone(self, error: BaseException) -> InfrastructureError:
        told = self._carrier.complaint().strip().splitlines()
        why = f"{type(error).__name__}: {error}" + (f" ({told[-1]})" if told else "")
        self.worn = f"the warden of the sandbox is gone or hangs: {why}"
        return InfrastructureError(self.worn)


class LineProgram(Program):
    """A job on a line."""

    def __init__(self, line: Line, ended: Callable[[], None]) -> None:
        self._line = line
        self._ended = ended
        self._messages: deque[bytes] = deque()
        self._outcome: Outcome | None = None

    def send(self, message: bytes) -> None:
        """Send one message; see `Program.send`."""
        if len(message) > self.MAX_MESSAGE:
            raise ValueError(f"a message has at most {self.MAX_MESSAGE} bytes, not {len(message)}")
        if self._outcome is None:
            self._say(frames.MESSAGE, message)
        if self._outcome is not None and self._outcome.status == "sandbox_error":
            raise InfrastructureError(self._outcome.reason)

    def receive(self) -> bytes:
        """Return the next message; see `Program.receive`."""
        while not self._messages:
            if self._outcome is not None:
                raise ProgramEndedError(self._outcome)
            self._hear()
        return self._messages.popleft()

    def finish(self) -> Outcome:
        """Close the channel and wait for the end; see `Program.finish`."""
        return self._until_end(frames.CLOSE_CHANNEL)

    def kill(self) -> Outcome:
        """End the program; see `Program.kill`."""
        return self._until_end(frames.KILL)

    def give_up(self, reason: str) -> None:
        """Let the sandbox be what ended this program."""
        self._line.worn = self._line.worn or reason
        self._end(Outcome(status="sandbox_error", reason=reason))

    def _until_end(self, kind: int) -> Outcome:
        if self._outcome is None:
            self._say(kind)
        while self._outcome is None:
            self._hear()
            self._messages.clear()
        return self._outcome

    def _say(self, kind: int, *parts: bytes) -> None:
        try:
            self._line.send_raw(frames.pack(kind, *parts))
        except InfrastructureError as error:
            self.give_up(str(error))

    def _hear(self) -> None:
        """Take in one frame."""
        try:
            kind, content = self._line.next_frame()
        except InfrastructureError as error:
            self.give_up(str(error))
            return
        except BaseException:  # Ctrl-C: half a frame may be lost, so the line is
            self.give_up("it was interrupted")
            raise
        if kind == frames.MESSAGE:
            self._messages.append(content)
        elif kind == frames.OUTCOME:
            outcome, worn = outcome_of(content)
            self._line.worn = self._line.worn or worn
            self._end(outcome)
        else:
            self.give_up(f"the sandbox broke: {content.decode(errors='replace')}")

    def _end(self, outcome: Outcome) -> None:
        if self._outcome is None:
            self._outcome = outcome
            self._ended()


def _packed(job: Job) -> tuple[bytes, ...]:
    """Return a job as the content of its START frame."""
    files = {path: _as_bytes(content) for path, content in job.files.items()}
    payload = Payload(source=job.source, command=job.command, env=job.env, files=files).pack()
    stdin = _as_bytes(job.stdin)
    wish = Wish(
        cpu_seconds=job.cpu_seconds,
        wall_seconds=job.wall_seconds,
        memory_mb=job.memory_mb,
        processes=job.processes,
        disk_mb=job.disk_mb,
        output_bytes=job.output_bytes,
        max_output_bytes=job.max_output_bytes,
        payload=len(payload),
        stdin=len(stdin),
        collect=list(job.collect),
    )
    head = json.dumps(asdict(wish)).encode()
    return len(head).to_bytes(4, "little"), head, payload, stdin


def _as_bytes(content: str | bytes) -> bytes:
    """Return text as UTF-8; halves of surrogate pairs, which models write, as Python's \\ud800."""
    return content.encode(errors="backslashreplace") if isinstance(content, str) else content

"""One job as the warden sees it: its descriptors, its limits, what it wrote, how it ended."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rewardhub.builtin.sandboxes.inside import tree
from rewardhub.builtin.sandboxes.inside.cgroup import Cgroup
from rewardhub.builtin.sandboxes.inside.collect import Collected
from rewardhub.builtin.sandboxes.inside.container import ContainerGroup
from rewardhub.builtin.sandboxes.inside.frames import MAX_MESSAGE, MessageReader, TooLongError
from rewardhub.builtin.sandboxes.inside.wishes import Wish

Ending = Literal["", "wall", "cpu", "output", "memory", "message", "asked"]
"""Why the warden killed a job, if it did."""

_BLOCK = 1 << 18
_WATCH_SECONDS = 0.05
_SET_UP_SECONDS = 20.0
_DEATH_SECONDS = 20.0
_MEBIBYTE = 1 << 20


class BrokenError(Exception):
    """The zygote, or what it set up, is of no more use."""


@dataclass
class Output:
    """What arrives on stdout or stderr."""

    descriptor: int
    limit: int
    kept: bytearray = field(default_factory=bytearray)
    total: int = 0
    is_open: bool = True

    def read(self) -> int:
        """Take what is there, without waiting; return how much."""
        try:
            block = os.read(self.descriptor, _BLOCK)
        except BlockingIOError:
            return 0
        if not block:
            self.is_open = False
        self.total += len(block)
        self.kept += block[: max(0, self.limit - len(self.kept))]
        return len(block)

    def drain(self) -> None:
        """Take what is left in the pipe, whoever still holds its other end."""
        for _ in range(16):
            if not self.is_open or not self.read():
                return


class Run:
    """A job that runs.

    Args:
        wish: its limits.
        meter: the control group that bounds it, if there is one.
        base_mb: memory of the zygote, which a job shares.
        say: takes each message of the job.
    """

    def __init__(
        self,
        wish: Wish,
        meter: Cgroup | ContainerGroup | None,
        base_mb: float,
        say: Callable[[bytes], None],
    ) -> None:
        self.wish = wish
        self.ending: Ending = ""
        self.trouble = ""
        self.folder: int | None = None
        self.ended: dict[str, Any] | None = None
        self._meter = meter
        self._base_mb = base_mb
        self._say = say
        self._pid = 0
        self._ticket: int | None = None
        self._peak_mb = 0.0
        self._seconds = 0.0
        self._began: float | None = None
        self._give_up_at = time.monotonic() + _SET_UP_SECONDS
        self._look_at = float("inf")
        self._messages = MessageReader()
        self._pending = bytearray()
        self._closing = False
        out, self._their_out = os.pipe()
        err, self._their_err = os.pipe()
        self.outputs = (Output(out, wish.output_bytes), Output(err, wish.output_bytes))
        for output in self.outputs:
            os.set_blocking(output.descriptor, False)
        self.channel: socket.socket | None
        self.channel, self._their_channel = socket.socketpair()
        self.channel.setblocking(False)

    def hand_over(self, control: socket.socket, order: bytes, payload: bytes, stdin: bytes) -> None:
        """Give the zygote all that the job needs."""
        files = [_sealed(payload), _sealed(stdin)]
        theirs = [self._their_out, self._their_err, self._their_channel.fileno()]
        socket.send_fds(control, [order], [*files, *theirs])
        for descriptor in (*files, self._their_out, self._their_err):
            os.close(descriptor)
        self._their_channel.close()

    def hear(self, kind: bytes, text: bytes, descriptors: list[int]) -> None:
        """Take in what the zygote, or the job while it is set up, says."""
        if kind == b"P":
            self._ticket = descriptors[0]
            self._pid = _pid_of(self._ticket)
            if self.ending:
                self.kill(self.ending)
        elif kind == b"D":
            self.folder = descriptors[0]
        elif kind == b"S":
            (self._began,) = struct.unpack("d", text)
            self._give_up_at = self._began + self.wish.wall_seconds + _DEATH_SECONDS
            self._look_at = self._began + self._next_look(0.0)
        elif kind == b"E":
            self.trouble = text.decode(errors="replace")
        elif kind == b"W":
            ended: dict[str, Any] = json.loads(text)
            self._seconds = ended["time"] - (self._began or ended["time"])
            self.ended = ended

    def kill(self, ending: Ending) -> None:
        """End the job and all that it started, for a reason."""
        self.ending = self.ending or ending
        self._give_up_at = min(self._give_up_at, time.monotonic() + _DEATH_SECONDS)
        if self._ticket is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._ticket, signal.SIGKILL)

    def register(self, poll: select.poll, *, may_speak: bool) -> None:
        """Say what to wait for."""
        for output in self.outputs:
            if output.is_open and not self.ending:
                poll.register(output.descriptor, select.POLLIN)
        if self.channel is not None and not self.ending:
            wanted = select.POLLIN if may_speak else 0
            poll.register(self.channel, wanted | (select.POLLOUT if self._pending else 0))

    def wake_at(self) -> float:
        """Return when to look at the limits, whatever happens before."""
        if self._began is None or self.ending:
            return self._give_up_at
        return min(self._began + self.wish.wall_seconds, self._look_at)

    def look(self) -> None:
        """Hold the job to its limits.

        Raises:
            BrokenError: if it does not come to life, or does not die.
        """
        now = time.monotonic()
        if self.ended is None and now >= self._give_up_at:
            doing = "end the job" if self.ending else "set the job up"
            raise BrokenError(f"it took too long to {doing}")
        if self._began is None or self.ending:
            return
        if now >= self._began + self.wish.wall_seconds:
            self.kill("wall")
        elif now >= self._look_at:
            self._look_closely(now)

    def read_outputs(self, ready: dict[int, int]) -> None:
        """Take what it wrote, up to the limit."""
        for output in self.outputs:
            if output.descriptor in ready:
                output.read()
        if self.output_total > self.wish.max_output_bytes:
            self.kill("output")

    def talk(self, events: int) -> None:
        """Take what is on the channel, and put there what is for it."""
        if events & select.POLLOUT:
            self._write_pending()
        if self.channel is not None and events & (select.POLLIN | select.POLLHUP | select.POLLERR):
            self._hear_channel()

    def tell(self, message: bytes) -> None:
        """Send the job a message; one that it does not take is lost."""
        if self.channel is not None:
            self._pending += len(message).to_bytes(4, "little") + message
            self._write_pending()

    def close_channel(self) -> None:
        """Let the job read the end of its channel, after what is on its way."""
        self._closing = True
        self._write_pending()

    @property
    def pending(self) -> int:
        """How many bytes wait for the job to read."""
        return len(self._pending)

    @property
    def output_total(self) -> int:
        """How many bytes it wrote."""
        return sum(output.total for output in self.outputs)

    def conclude(self) -> None:
        """Take what is left once all of its processes are dead."""
        for output in self.outputs:
            output.drain()
        for _ in range(64):
            if self.channel is None or not self._hear_channel():
                break

    def outcome(self) -> tuple[dict[str, Any], list[bytes]]:
        """Return what became of the job, as JSON, and the blobs whose sizes it names."""
        if self.ended is None:
            raise BrokenError("the job has not ended")
        cpu, memory = self._usage()
        collected = self._collected()
        out, err = (bytes(output.kept) for output in self.outputs)
        told = {
            "ending": self.ending,
            "status": self.ended["status"],
            "trouble": self.trouble,
            "total": self.output_total,
            "seconds": self._seconds,
            "cpu": cpu,
            "cpu_limit": self.wish.cpu_seconds,
            "memory_mb": memory,
            "oom": self._meter.oom_kills() if self._meter else int(self.ending == "memory"),
            "bounded": self._meter is not None,
            "sizes": [len(out), len(err)],
            "files": [[path, len(content)] for path, content in collected.files.items()],
            "skipped": collected.skipped,
        }
        return told, [out, err, *collected.files.values()]

    def close(self) -> None:
        """Let go of all descriptors."""
        for output in self.outputs:
            os.close(output.descriptor)
        for descriptor in (self._ticket, self.folder):
            if descriptor is not None:
                os.close(descriptor)
        if self.channel is not None:
            self.channel.close()

    def _usage(self) -> tuple[float, float]:
        assert self.ended is not None
        cpu = float(self.ended["cpu"])
        own = max(self._peak_mb, self.ended["rss_mb"] - self._base_mb)
        if self._meter is None:
            return cpu, own
        return max(cpu, self._meter.cpu_seconds()), max(own, self._meter.peak_mb())

    def _next_look(self, used: float) -> float:
        """Return how long the CPU limit can't be reached, or memory need not be watched."""
        cores = 1 if self._meter else os.cpu_count() or 1
        wait = max(0.002, (self.wish.cpu_seconds - used) / cores)
        return wait if self._meter else min(wait, _WATCH_SECONDS)

    def _look_closely(self, now: float) -> None:
        used = self._meter.cpu_seconds() if self._meter else tree.cpu_seconds_of(self._pid)
        if used >= self.wish.cpu_seconds:
            self.kill("cpu")
            return
        if self._meter is None:
            allowed = self.wish.memory_mb + self._base_mb
            memory = tree.memory_mb_of(self._pid, enough=allowed, shared_mb=self._base_mb)
            self._peak_mb = max(self._peak_mb, memory - self._base_mb)
            if memory > allowed:
                self.kill("memory")
        self._look_at = now + self._next_look(used)

    def _hear_channel(self) -> bool:
        """Take what the job sent; return whether there may be more."""
        assert self.channel is not None
        try:
            data = self.channel.recv(_BLOCK)
            for message in self._messages.feed(data):
                self._say(message)
        except BlockingIOError:
            return False
        except TooLongError:
            self.kill("message")
            self._drop_channel()
            return False
        except ConnectionError:
            data = b""
        if not data:
            self._drop_channel()
        return bool(data)

    def _write_pending(self) -> None:
        if self.channel is None:
            return
        try:
            while self._pending:
                sent = self.channel.send(self._pending[:MAX_MESSAGE])
                del self._pending[:sent]
            if self._closing:
                self._closing = False
                self.channel.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            return
        except OSError:  # the job has closed its end
            self._pending.clear()

    def _drop_channel(self) -> None:
        if self.channel is not None:
            self.channel.close()
            self.channel = None
            self._pending.clear()

    def _collected(self) -> Collected:
        collected = Collected(self.folder if self.folder is not None else -1, self._collect_bytes())
        if self.folder is not None:
            for path in self.wish.collect:
                collected.take(path)
        return collected

    def _collect_bytes(self) -> int:
        return self.wish.disk_mb * _MEBIBYTE


def _sealed(content: bytes) -> int:
    """Return an open file in memory with ``content`` that nobody can change."""
    descriptor = os.memfd_create("job", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    _seal(descriptor)
    return descriptor


def _seal(descriptor: int) -> None:
    import fcntl

    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)


def _pid_of(ticket: int) -> int:
    """Return the number of the process that an open process descriptor is for."""
    text = Path(f"/proc/self/fdinfo/{ticket}").read_text()
    return int(text[text.index("\nPid:") :].split()[1])

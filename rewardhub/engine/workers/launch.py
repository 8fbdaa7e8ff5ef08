"""Starting and ending worker processes, seen from the pool.

Where processes can be forked, a nursery does both (see `nursery`); elsewhere each worker is a
command of its own. The pool's process is never forked, and its ``__main__`` never runs again.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import psutil

from rewardhub.engine.workers import ties, watch
from rewardhub.engine.workers.frames import Channel
from rewardhub.engine.workers.output import Output
from rewardhub.engine.workers.result import WorkerStartError

_TOKEN = "REWARDHUB_WORKER_OF"  # noqa: S105 - names the environment variable
_REQUEST_SECONDS = 20.0
_PRELOAD_SECONDS = 120.0
_BOOT = (
    "import json, sys; start = json.loads(sys.stdin.buffer.readline()); "
    "sys.path[:] = start['path']; from {module} import main; main(start)"
)


class Exit(NamedTuple):
    """How a worker ended.

    Attributes:
        status: exit status, negative for a signal; None if nobody knows.
        killed: whether it still ran and had to be killed.
        clean: whether everything it started is gone.
    """

    status: int | None
    killed: bool
    clean: bool = True

    def __str__(self) -> str:
        if self.status is None:
            return "was lost together with the process that had started it"
        if self.killed or self.status == ties.LOST:
            return "gave up its channel to the pool"
        if self.status >= 0:
            return f"exited with status {self.status}"
        with suppress(ValueError):
            return f"was killed by signal {-self.status} ({signal.Signals(-self.status).name})"
        return f"was killed by signal {-self.status}"


@dataclass(slots=True)
class Worker:
    """A running worker process.

    Attributes:
        pid: its process id.
        channel: frames to and from it.
        output: what it wrote.
        origin: the command that started it: the nursery, or the worker itself.
        token: what its descendants have in their environment, if it was started by itself.
        jobs: how many jobs it was given.
        cpu_seconds: what it and its descendants had used when last heard of.
        family: descendants that it had when it was ready: they may stay.
        memory_mb: the memory limit that it was last told.
    """

    pid: int
    channel: Channel
    output: Output
    origin: subprocess.Popen[bytes]
    token: str = ""
    jobs: int = 0
    cpu_seconds: float = 0.0
    family: frozenset[int] = frozenset()
    memory_mb: int | None = None

    def close(self) -> None:
        """Let go of the channel and the output."""
        self.channel.close()
        self.output.close()


class Launcher(Protocol):
    """Starts and ends workers. Usable from any thread."""

    def prepare(self) -> None:
        """Begin what the first start needs, without waiting for it."""
        ...

    def start(self) -> Worker:
        """Start a worker that has not been told its target yet.

        Raises:
            WorkerStartError: if no process that starts workers can be had.
            OSError: if this process or machine is out of what a worker needs.
        """
        ...

    def end(self, worker: Worker, *, grace: float) -> Exit:
        """End a worker and its descendants; killed if it does not end within ``grace`` seconds."""
        ...

    def close(self) -> None:
        """End everything that was ever started here."""
        ...


def launcher_here(preload: tuple[str, ...]) -> Launcher:
    """Return the launcher for this operating system."""
    return NurseryLauncher(preload) if hasattr(os, "fork") else DirectLauncher()


class NurseryLauncher:
    """Workers forked by a nursery: some 10 ms each. A nursery that dies is started again."""

    def __init__(self, preload: tuple[str, ...]) -> None:
        self._preload = preload
        self._path = _search_path()
        self._token = uuid.uuid4().hex
        self._lock = threading.Lock()
        self._nursery: _NurseryProcess | None = None

    def prepare(self) -> None:
        """Start the nursery; what goes wrong is told by `start`."""
        with self._lock, suppress(OSError):
            if self._nursery is None:
                self._nursery = _NurseryProcess(self._path, self._preload, self._token)

    def start(self) -> Worker:
        """Fork a worker."""
        output = Output()
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._lock:
                origin, pid = self._fork(theirs.fileno(), output.written.fileno())
        except BaseException:
            ours.close()
            output.close()
            raise
        return Worker(pid, Channel(ours), output, origin)

    def end(self, worker: Worker, *, grace: float) -> Exit:
        """End a worker and its descendants."""
        with self._lock:
            nursery = self._nursery
            if nursery is None or nursery.process is not worker.origin:
                # It was forked by a nursery that died since, and died with it.
                return Exit(None, killed=False)
            try:
                answer = nursery.ask({"end": worker.pid, "grace": grace})
            except (OSError, EOFError):
                self._lose()
                return Exit(None, killed=False)
        return Exit(answer["status"], answer["killed"], answer["clean"])

    def close(self) -> None:
        """End the nursery, which ends all that is left."""
        with self._lock:
            if self._nursery is None:
                return
            if self._nursery.close(seconds=10.0):
                self._nursery = None
            else:
                self._lose()

    def _fork(self, *descriptors: int) -> tuple[subprocess.Popen[bytes], int]:
        """Have a worker forked that gets the descriptors; return its origin and process id."""
        try:
            return self._fork_once(descriptors)
        except (OSError, EOFError):
            self._lose()
        try:
            return self._fork_once(descriptors)
        except (OSError, EOFError) as error:
            self._lose()
            raise WorkerStartError(
                f"The process that forks workers cannot be kept alive ({error}). If this machine "
                "is short of memory or processes, use fewer workers."
            ) from error

    def _fork_once(self, descriptors: tuple[int, ...]) -> tuple[subprocess.Popen[bytes], int]:
        if self._nursery is None:
            self._nursery = _NurseryProcess(self._path, self._preload, self._token)
        try:
            answer = self._nursery.ask({}, *descriptors)
        except WorkerStartError:
            self._nursery = None
            raise
        if "refused" in answer:
            raise WorkerStartError(
                f"This machine refuses another process ({answer['refused']}): use fewer workers."
            )
        return self._nursery.process, answer["pid"]

    def _lose(self) -> None:
        """Give up a nursery that died or does not answer, with everything it started."""
        nursery, self._nursery = self._nursery, None
        if nursery is not None:
            nursery.process.kill()
            nursery.close(seconds=10.0)
            watch.kill_until_none(lambda: _marked(self._token))


class _NurseryProcess:
    def __init__(self, path: list[str], preload: tuple[str, ...], token: str) -> None:
        self._requests, theirs = socket.socketpair()
        self._preload = preload
        self._ready = False
        start = {"path": path, "preload": preload}
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  # open until it is ready
        with theirs:
            number = self._output.fileno()
            try:
                self.process = _boot("nursery", start, theirs, output=number, token=token)
            except BaseException:
                self._output.close()
                self._requests.close()
                raise

    def _await(self) -> None:
        """Wait until it has imported what it must."""
        self._requests.settimeout(_PRELOAD_SECONDS)
        with self._output:
            try:
                refused = self._answer().get("refused", "")
            except (OSError, EOFError) as error:
                self._output.seek(0)
                refused = self._output.read().decode("utf-8", "replace") or f"it ended: {error}"
        if refused:
            self.process.kill()
            self.close(seconds=10.0)
            raise WorkerStartError(
                f"No worker can be started, because importing {', '.join(self._preload)} failed in "
                f"a new process: {last_line(refused)}\n{refused}"
            )
        self._requests.settimeout(_REQUEST_SECONDS)
        self._ready = True

    def ask(self, request: dict[str, Any], *descriptors: int) -> dict[str, Any]:
        if not self._ready:
            self._await()
        message = json.dumps(request).encode()
        if descriptors:
            socket.send_fds(self._requests, [message], descriptors)
        else:
            self._requests.sendall(message)
        return self._answer()

    def close(self, *, seconds: float) -> bool:
        """Hang up, and return whether the nursery ended of it in time."""
        self._requests.close()
        self._output.close()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _answer(self) -> dict[str, Any]:
        line = b""
        while not line.endswith(b"\n"):
            piece = self._requests.recv(1 << 16)
            if not piece:
                raise EOFError("the nursery ended")
            line += piece
        answer: dict[str, Any] = json.loads(line)
        return answer


class DirectLauncher:
    """Workers that are commands of their own, where processes cannot be forked."""

    def __init__(self) -> None:
        self._path = _search_path()
        self._processes = watch.this_machine()

    def prepare(self) -> None:
        """Nothing is shared between workers."""

    def start(self) -> Worker:
        """Start a worker with a new interpreter."""
        output = Output()
        ours, theirs = socket.socketpair()
        token = uuid.uuid4().hex
        start: dict[str, Any] = {"path": self._path}
        try:
            with theirs:
                number = output.written.fileno()
                process = _boot("child", start, theirs, output=number, token=token)
        except BaseException:
            ours.close()
            output.close()
            raise
        return Worker(process.pid, Channel(ours), output, process, token)

    def end(self, worker: Worker, *, grace: float) -> Exit:
        """End a worker and its descendants."""
        process = worker.origin
        try:
            process.wait(grace)
            killed = False
        except subprocess.TimeoutExpired:
            killed = True

        def family() -> list[int]:
            seen = {one.pid for one in self._processes.descendants(worker.pid)}
            if process.poll() is None:
                seen.add(worker.pid)
            return [*seen.union(_marked(worker.token))]

        clean = watch.kill_until_none(family)
        return Exit(process.poll(), killed, clean)

    def close(self) -> None:
        """Nothing is shared between workers."""


def _boot(
    module: str, start: dict[str, Any], connection: socket.socket, *, output: int, token: str
) -> subprocess.Popen[bytes]:
    """Run ``main`` of a module of this package in a new interpreter, in a session of its own.

    ``connection`` is handed over to it; descendants are told by ``token`` in their environment.
    """
    descriptors = () if sys.platform == "win32" else (connection.fileno(),)
    process = subprocess.Popen(  # noqa: S603 - this package's own code
        [sys.executable, "-P", "-u", "-c", _BOOT.format(module=f"{__package__}.{module}")],
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output,
        pass_fds=descriptors,
        env={**os.environ, _TOKEN: token},
        start_new_session=True,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )
    if sys.platform == "win32":
        handle = base64.b64encode(connection.share(process.pid)).decode()
    else:
        handle = connection.fileno()
    line = json.dumps({**start, "socket": handle, "parent": os.getpid()})
    # If it has ended already, the connection says so, too.
    assert process.stdin is not None
    with suppress(OSError), process.stdin as stdin:
        stdin.write(line.encode() + b"\n")
    return process


def _marked(token: str) -> list[int]:
    """Return the processes that have ``token`` in their environment."""
    marked: list[int] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(_TOKEN) == token and process.is_running():
                marked.append(process.pid)
    return marked


def _search_path() -> list[str]:
    """Return the places this process imports from, valid in any folder."""
    return [str(Path(entry).absolute()) for entry in sys.path]


def last_line(text: str) -> str:
    """Return the line of a traceback that says what happened."""
    return text.rstrip().rpartition("\n")[2]

"""One place of the pool: a worker process that is replaced whenever a job spoils it."""

from __future__ import annotations

import struct
import threading
import time
from contextlib import suppress
from dataclasses import replace

from rewardhub.engine.workers import ties, watch
from rewardhub.engine.workers.child import CANARY_ANSWER
from rewardhub.engine.workers.exchange import Ending, Exchange
from rewardhub.engine.workers.frames import NUMBER, READINESS, FrameError, Kind
from rewardhub.engine.workers.launch import Launcher, Worker, last_line
from rewardhub.engine.workers.result import Result, WorkerStartError
from rewardhub.engine.workers.schedule import Job

_TICK_SECONDS = 0.05
_EXIT_SECONDS = 0.2
_STOP_SECONDS = 1.0
_SETTLE_SECONDS = 0.1
_CANARY_SECONDS = 10.0
_SLOW = 5.0

_TROUBLE = (EOFError, OSError, FrameError, struct.error)


class Stopped(Exception):  # noqa: N818 - nothing went wrong
    """The pool is closing and waits no longer."""


class Reference:
    """How fast the canary was when the pool started."""

    def __init__(self) -> None:
        self.seconds: float | None = None

    def learn(self, seconds: float) -> None:
        """Keep the fastest canary of the first workers."""
        self.seconds = seconds if self.seconds is None else min(seconds, self.seconds)

    def is_slow(self, seconds: float) -> bool:
        """Return whether a canary took more than five times as long as at the start."""
        return self.seconds is not None and seconds > _SLOW * self.seconds


class Slot:
    """Runs one job at a time in a worker of its own. Only one thread may use it.

    Args:
        launcher: starts and ends the workers.
        target: "package.module:function".
        manifest: what the function is called with, in every worker.
        start_seconds: how long a worker may take until it is ready.
        stopping: set when the pool waits no longer for what is running.
        reference: what canaries are compared with; shared by the slots.
    """

    def __init__(
        self,
        launcher: Launcher,
        *,
        target: str,
        manifest: bytes,
        start_seconds: float,
        stopping: threading.Event,
        reference: Reference,
    ) -> None:
        self._launcher = launcher
        self._target = target
        self._manifest = manifest
        self._start_seconds = start_seconds
        self._stopping = stopping
        self._reference = reference
        self._processes = watch.this_machine()
        self._worker: Worker | None = None
        self._serial = 0

    def ready(self) -> Worker:
        """Return the worker, started if there is none.

        Raises:
            WorkerStartError: if it does not start.
            Stopped: if the pool stops meanwhile.
        """
        if self._worker is None:
            self._worker = self._started()
        return self._worker

    def run(self, job: Job) -> Result:
        """Run a job to its end, whatever it does. Raises as `ready`."""
        if job.alone and self._worker is not None and self._worker.jobs:
            self.stop(_STOP_SECONDS)
        worker = self.ready()
        worker.jobs += 1
        if worker.family:
            worker.cpu_seconds = self._cpu_seconds(worker)
        self._serial += 1
        exchange = Exchange(worker, self._processes, job.limits, self._serial, self._stopping)
        ending, seconds = exchange.run(job.payload), exchange.meter.seconds
        if ending.children:
            ending = self._survived(worker, ending)
        spoiled = ending.end not in ("reply", "raised")
        if spoiled:
            ending = self._end(worker, ending)
        result = Result(
            end=ending.end,
            payload=ending.payload,
            detail=ending.detail,
            progress=exchange.progress,
            seconds=seconds,
            cpu_seconds=exchange.meter.cpu_seconds,
            memory_mb=exchange.meter.memory_mb,
            stderr=worker.output.take(),
        )
        if spoiled:
            self._worker = None
            worker.close()
        return self._with_canary(result) if job.canary and ending.end == "wall" else result

    def stop(self, grace: float) -> None:
        """End the worker; its handler has ``grace`` seconds to close what it opened."""
        worker, self._worker = self._worker, None
        if worker is None:
            return
        deadline = time.monotonic() + grace
        with suppress(EOFError, OSError, FrameError):
            worker.channel.set_timeout(_TICK_SECONDS)
            worker.channel.send(Kind.STOP)
            while (left := deadline - time.monotonic()) > 0:
                worker.channel.set_timeout(left)
                worker.channel.receive()
        self._launcher.end(worker, grace=min(grace, _EXIT_SECONDS))
        worker.close()

    def _started(self) -> Worker:
        try:
            worker = self._launcher.start()
        except OSError as error:
            raise WorkerStartError(f"No worker process can be started: {error}") from error
        try:
            self._welcome(worker)
            if self._serial == 0:
                self._reference.learn(self._canary(worker))
        except BaseException as error:
            late = isinstance(error, TimeoutError)
            exit_ = self._launcher.end(worker, grace=0.0 if late else _EXIT_SECONDS)
            text = worker.output.take()
            worker.close()
            if not isinstance(error, _TROUBLE):
                raise
            what = f"took longer than {self._start_seconds:g} s" if late else exit_
            raise WorkerStartError(
                f"A worker process for `{self._target}` {what} before it was ready."
                + (f" It wrote:\n{text}" if text else "")
            ) from error
        return worker

    def _welcome(self, worker: Worker) -> None:
        """Tell a new worker its target, and wait until it is ready."""
        worker.channel.set_timeout(self._start_seconds)
        worker.channel.send(Kind.START, f"{self._target}\n".encode(), self._manifest)
        kind, body = self._receive(worker, self._start_seconds)
        if kind != Kind.READY:
            text = body.decode("utf-8", "replace").rstrip()
            raise WorkerStartError(
                f"`{self._target}` cannot be set up in a worker process: {last_line(text)}\n{text}"
            )
        worker.cpu_seconds, children = READINESS.unpack(body)
        if children:
            family = self._processes.descendants(worker.pid)
            worker.family = frozenset(process.pid for process in family)

    def _receive(self, worker: Worker, seconds: float) -> tuple[int, bytes]:
        deadline = time.monotonic() + seconds
        worker.channel.set_timeout(_TICK_SECONDS)
        while True:
            try:
                return worker.channel.receive()
            except TimeoutError:
                if self._stopping.is_set():
                    raise Stopped from None
                if time.monotonic() > deadline:
                    raise

    def _cpu_seconds(self, worker: Worker) -> float:
        own = self._processes.read(worker.pid)
        family = self._processes.descendants(worker.pid)
        return sum(process.cpu_seconds for process in (own, *family) if process is not None)

    def _survived(self, worker: Worker, ending: Ending) -> Ending:
        """Return the ending, or what is to be said about processes that the job left behind."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        while True:
            family = self._processes.descendants(worker.pid)
            left = [process for process in family if process.pid not in worker.family]
            if not left:
                return ending
            # Processes that were just killed take a moment to go.
            if time.monotonic() > deadline:
                break
            time.sleep(0.002)
        what = "1 process" if len(left) == 1 else f"{len(left)} processes"
        detail = f"left {what} behind: {watch.describe(left)}"
        if ending.detail:
            detail += f", and: {ending.detail}"
        return Ending("survivors", detail, ending.payload)

    def _end(self, worker: Worker, ending: Ending) -> Ending:
        """End a worker that is of no more use; complete what is to be said."""
        died = ending.end == "died"
        exit_ = self._launcher.end(worker, grace=_EXIT_SECONDS if died else 0.0)
        if died and exit_.status == ties.EXHAUSTED:
            ending = Ending("memory", "was refused the memory that it asked for")
        detail = ending.detail or str(exit_)
        if not exit_.clean:
            detail += "; some of its processes could not be killed"
        return ending._replace(detail=detail)

    def _with_canary(self, result: Result) -> Result:
        """Say how fast this slot is now: is the job slow, or the machine?"""
        try:
            seconds = self._canary(self.ready())
        except (WorkerStartError, Stopped, *_TROUBLE):
            self.stop(0.0)
            return replace(result, slow_machine=True)
        slow = self._reference.is_slow(seconds)
        return replace(result, canary_seconds=seconds, slow_machine=slow)

    def _canary(self, worker: Worker) -> float:
        """Return how long a small fixed computation takes in the worker."""
        begun = time.monotonic()
        worker.channel.send(Kind.CANARY)
        answer = self._receive(worker, _CANARY_SECONDS)
        if answer != (Kind.CANARY, NUMBER.pack(CANARY_ANSWER)):
            raise FrameError("the canary came back with something else")
        seconds = time.monotonic() - begun
        worker.cpu_seconds = self._cpu_seconds(worker)
        return seconds

"""A pool of worker processes that can be killed, whatever they are doing."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import Future
from types import TracebackType
from typing import Self

from rewardhub.contracts.limits import Limits
from rewardhub.engine.workers.frames import LARGEST
from rewardhub.engine.workers.launch import Launcher, launcher_here
from rewardhub.engine.workers.result import Result, WorkerStartError
from rewardhub.engine.workers.schedule import Job, Schedule
from rewardhub.engine.workers.slot import Reference, Slot, Stopped
from rewardhub.errors import UsageError

_PREFIX_BYTES = 64


class WorkerPool:
    """Processes that turn bytes into bytes, and cannot take the calling process with them.

    Each worker calls ``target`` once with ``manifest`` and a `Control`; what that returns is its
    handler, called with each job's payload. If the handler has a method ``close``, it is called
    before the worker ends in good order. A worker is replaced when a job goes over a limit, kills
    it or leaves processes behind; processes that the target itself starts may stay. Between jobs
    a worker keeps its state, and threads that a job has left go on.

    Workers start at once. What they need in order to import the target (``sys.path``) is that of
    this moment. They have no terminal: neither its input nor its Ctrl-C reaches them.

    Args:
        size: how many jobs run at the same time.
        target: "package.module:function".
        manifest: anything the function needs.
        preload: modules to import once for all workers, where processes can be forked. They must
            not start Python threads.
        start_seconds: how long a worker may take to call the target.
        launcher: starts the workers, and has been prepared to; closed with the pool.

    Raises:
        UsageError: if size or target cannot be.
    """

    def __init__(
        self,
        size: int,
        *,
        target: str,
        manifest: bytes,
        preload: tuple[str, ...] = ("rewardhub",),
        start_seconds: float = 120.0,
        launcher: Launcher | None = None,
    ) -> None:
        if size < 1:
            raise UsageError(f"A pool needs at least 1 worker, and {size} were asked for.")
        if not all(part for part in target.split(":")) or target.count(":") != 1:
            raise UsageError(
                f"`{target}` names no function for workers. Write it as `package.module:function`."
            )
        self.size = size
        self._owner = os.getpid()
        self._schedule = Schedule()
        self._stopping = threading.Event()
        self._deadline = 0.0
        self._launcher = launcher_here(preload) if launcher is None else launcher
        reference = Reference()
        self._threads = [
            threading.Thread(
                target=self._work,
                args=(
                    Slot(
                        self._launcher,
                        target=target,
                        manifest=manifest,
                        start_seconds=start_seconds,
                        stopping=self._stopping,
                        reference=reference,
                    ),
                ),
                name=f"rewardhub worker {number}",
                daemon=True,
            )
            for number in range(1, size + 1)
        ]
        for thread in self._threads:
            thread.start()

    def submit(
        self, payload: bytes, *, limits: Limits, alone: bool = False, canary: bool = False
    ) -> Future[Result]:
        """Queue a job; any thread may. Jobs start in order, lone ones first.

        Args:
            payload: what the handler is called with.
            limits: of this job. Memory includes what the worker holds from before.
            alone: run on a fresh worker, while no other job of this pool runs.
            canary: if the job goes over its wall limit, measure how fast the machine is.

        Returns:
            The future Result: whatever the job does is in it. The future raises WorkerStartError
            if there was no worker to run the job. It can be cancelled until the job starts.

        Raises:
            UsageError: if the payload has more than 256 MiB, or in a process that was forked
                from the pool's own.
        """
        if len(payload) > LARGEST - _PREFIX_BYTES:
            raise UsageError(
                f"A payload of {len(payload):,} bytes is more than a worker takes "
                f"({LARGEST:,}). Send a path instead, or split it."
            )
        if os.getpid() != self._owner:
            raise UsageError(
                "This worker pool belongs to the process that this one was forked from. "
                "Make a new one after forking."
            )
        job = Job(payload=payload, limits=limits, alone=alone, canary=canary)
        if not self._schedule.put(job):
            _refuse(job)
        return job.future

    def close(self, timeout: float = 5.0) -> None:
        """End all workers, and everything they started. Again is no error.

        Jobs that wait end as ``closed`` at once. Running ones, and then the handlers' ``close``,
        have ``timeout`` seconds altogether; after that they are killed and end as ``closed``.
        """
        if os.getpid() != self._owner:
            return
        self._deadline = time.monotonic() + timeout
        for job in self._schedule.close():
            _refuse(job)
        others = [thread for thread in self._threads if thread is not threading.current_thread()]
        for thread in others:
            thread.join(max(0.0, self._deadline - time.monotonic()))
        self._stopping.set()
        for thread in others:
            thread.join()
        self._launcher.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close() if error is None else self.close(timeout=0.0)

    def _work(self, slot: Slot) -> None:
        while True:
            trouble = _trouble_starting(slot)
            job = self._schedule.take()
            if job is None:
                break
            try:
                _run(slot, job, trouble)
            finally:
                self._schedule.done()
        slot.stop(max(0.0, self._deadline - time.monotonic()))


def _trouble_starting(slot: Slot) -> Exception | None:
    """Start the slot's worker before it is needed; what goes wrong is for the next job."""
    try:
        slot.ready()
    except Stopped:
        return None
    except Exception as error:  # noqa: BLE001 - raised by the next job's future
        return error
    return None


def _run(slot: Slot, job: Job, trouble: Exception | None) -> None:
    if not job.future.set_running_or_notify_cancel():
        return
    try:
        if trouble is not None:
            raise trouble
        result = slot.run(job)
    except Stopped:
        result = Result(end="closed", detail="the pool was closed before it ran")
    except WorkerStartError as error:
        job.future.set_exception(error)
        return
    except BaseException as error:
        slot.stop(0.0)
        job.future.set_exception(error)
        raise
    job.future.set_result(result)


def _refuse(job: Job) -> None:
    if job.future.set_running_or_notify_cancel():
        job.future.set_result(Result(end="closed", detail="the pool was closed before it ran"))

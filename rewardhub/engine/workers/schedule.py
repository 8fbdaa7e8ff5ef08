"""Which job runs next: in order, but jobs that must be alone have the pool for themselves."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field

from rewardhub.contracts.limits import Limits
from rewardhub.engine.workers.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A payload on its way through the pool. The attributes are those of `WorkerPool.submit`."""

    payload: bytes
    limits: Limits
    alone: bool
    canary: bool
    future: Future[Result] = field(default_factory=Future[Result])


class Schedule:
    """Hands out jobs to slots. A waiting lone job goes first, once nothing else runs."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._jobs: deque[Job] = deque()
        self._lone: deque[Job] = deque()
        self._running = 0
        self._taken_alone = False
        self._closed = False

    def put(self, job: Job) -> bool:
        """Queue a job; return False if the schedule is closed."""
        with self._changed:
            if self._closed:
                return False
            (self._lone if job.alone else self._jobs).append(job)
            self._changed.notify()
        return True

    def take(self) -> Job | None:
        """Return the next job, as soon as one may run; None once the schedule is closed."""
        with self._changed:
            while not self._closed:
                job = self._next()
                if job is not None:
                    self._running += 1
                    self._taken_alone = job.alone
                    return job
                self._changed.wait()
        return None

    def done(self) -> None:
        """Say that a job which was taken is over."""
        with self._changed:
            self._running -= 1
            if self._taken_alone or self._lone:
                self._taken_alone = False
                self._changed.notify_all()

    def close(self) -> list[Job]:
        """Hand out no more jobs; return those that were waiting."""
        with self._changed:
            self._closed = True
            waiting = [*self._lone, *self._jobs]
            self._lone.clear()
            self._jobs.clear()
            self._changed.notify_all()
        return waiting

    def _next(self) -> Job | None:
        if self._taken_alone:
            return None
        if self._lone:
            return None if self._running else self._lone.popleft()
        return self._jobs.popleft() if self._jobs else None

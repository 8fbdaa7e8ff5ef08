"""The nursery: imports what workers need once, forks them, and ends them with all they started.

One process for each pool. It has one thread, so forking it is safe, and it adopts every process
that outlives its worker. When the pool's process is gone, it kills all that is left and ends.
It never sees a manifest or a payload: those go from the pool to the worker directly.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import os
import select
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from contextlib import suppress
from typing import Any, NoReturn

from rewardhub.engine.workers import ties, watch
from rewardhub.engine.workers.child import serve

_PARENT_CHECK_SECONDS = 1.0


def main(start: dict[str, Any]) -> None:
    """Serve the pool at the other end of ``start["socket"]`` until it is gone.

    Args:
        start: ``socket`` (file descriptor), ``parent`` (process id of the pool) and ``preload``
            (names of modules to import before the first fork).
    """
    requests = socket.socket(fileno=start["socket"])
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    ties.adopt_orphans()
    try:
        for module in start["preload"]:
            importlib.import_module(module)
        if threading.active_count() > 1:
            names = ", ".join(thread.name for thread in threading.enumerate()[1:])
            raise RuntimeError(
                f"importing {', '.join(start['preload'])} started threads ({names}), and a process "
                "with threads cannot be forked safely: preload less"
            )
    except BaseException:  # noqa: BLE001 - raised in the pool
        _answer(requests, {"refused": traceback.format_exc()})
        return
    # Pages that the collector does not touch stay shared with all workers.
    gc.collect()
    gc.freeze()
    _answer(requests, {})
    _Nursery(requests, start["parent"]).run()


def _answer(requests: socket.socket, message: dict[str, Any]) -> None:
    requests.sendall(json.dumps(message).encode() + b"\n")


class _Nursery:
    def __init__(self, requests: socket.socket, parent: int) -> None:
        self._requests = requests
        self._parent = parent
        self._own = os.getpid()
        self._processes = watch.this_machine()
        self._workers: set[int] = set()
        self._statuses: dict[int, int] = {}

    def run(self) -> None:
        try:
            while self._serve_one():
                pass
        finally:
            # Nobody else is left to do it, so there is no giving up.
            watch.kill_until_none(lambda: self._doomed(set()), seconds=math.inf)

    def _serve_one(self) -> bool:
        """Answer one request; return False when the pool is gone."""
        if not select.select([self._requests], [], [], _PARENT_CHECK_SECONDS)[0]:
            # Another process may hold a copy of the pool's end, if the pool's process forked.
            return os.getppid() == self._parent
        message, descriptors, _, _ = socket.recv_fds(self._requests, 4096, 2)
        if not message:
            return False
        request = json.loads(message)
        if descriptors:
            try:
                answer: dict[str, Any] = {"pid": self._fork(*descriptors)}
            except OSError as error:
                answer = {"refused": str(error)}
            _answer(self._requests, answer)
        else:
            _answer(self._requests, self._end(request["end"], request["grace"]))
        return True

    def _fork(self, connection: int, output: int) -> int:
        try:
            with warnings.catch_warnings():
                # Libraries with threads of their own (OpenBLAS) prepare for fork.
                warnings.simplefilter("ignore", DeprecationWarning)
                pid = os.fork()
            if pid == 0:
                self._become_worker(connection, output)
        finally:
            os.close(connection)
            os.close(output)
        self._workers.add(pid)
        return pid

    def _become_worker(self, connection: int, output: int) -> NoReturn:
        try:
            os.setsid()
            ties.die_with(self._own)
            self._requests.close()
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.close(output)
            os.set_inheritable(connection, False)
            serve(socket.socket(fileno=connection))
        finally:
            os._exit(ties.LOST)

    def _end(self, pid: int, grace: float) -> dict[str, Any]:
        """Kill a worker that does not end within ``grace`` seconds, and all that it started."""
        if pid not in self._workers:
            return {"status": None, "killed": False, "clean": True}
        status = self._wait(pid, grace)
        killed = status is None
        if killed or sys.platform != "linux":
            # Elsewhere orphans are not adopted: the group is the last that is known of them.
            with suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
        # What the worker leaves behind becomes a child of this process, like no worker's family.
        others = self._workers - {pid}
        clean = watch.kill_until_none(lambda: self._doomed(others))
        if killed:
            status = self._wait(pid, 1.0)
        self._workers = others
        return {"status": status, "killed": killed, "clean": clean}

    def _doomed(self, workers: set[int]) -> list[int]:
        """Return every living descendant outside the families of ``workers``."""
        self._collect()
        family = self._processes.descendants(self._own, without=workers)
        return [process.pid for process in family]

    def _wait(self, pid: int, seconds: float) -> int | None:
        """Return the exit status of a worker, negative for a signal; None if it still runs."""
        deadline = time.monotonic() + seconds
        while True:
            self._collect()
            if pid in self._statuses:
                return self._statuses.pop(pid)
            if time.monotonic() > deadline:
                return None
            time.sleep(0.001)

    def _collect(self) -> None:
        """Take note of the children that have ended."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                if pid in self._workers:
                    self._statuses[pid] = os.waitstatus_to_exitcode(status)

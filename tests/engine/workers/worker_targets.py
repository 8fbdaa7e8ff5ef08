"""Targets for the pools of these tests, imported in their workers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rewardhub.engine.workers import Control, Handler


def run_source(manifest: bytes, control: Control) -> Handler:
    """Jobs are Python source; the reply is what it binds to ``reply``."""
    state: dict[str, object] = {"control": control, "manifest": manifest}

    def handler(payload: bytes) -> bytes:
        names = {**state, "state": state, "reply": b"done"}
        exec(payload.decode(), names)
        return names["reply"]  # type: ignore[return-value]

    return handler


def echo(manifest: bytes, control: Control) -> Handler:
    return lambda payload: payload


def refuse(manifest: bytes, control: Control) -> Handler:
    raise LookupError(f"no grader for {manifest.decode()}")


def exit_at_once(manifest: bytes, control: Control) -> Handler:
    os.write(1, b"leaving")
    os._exit(4)


def never_ready(manifest: bytes, control: Control) -> Handler:
    while True:
        pass


def with_companion(manifest: bytes, control: Control) -> Handler:
    """A target that keeps a process of its own for all jobs."""
    companion = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])

    def handler(payload: bytes) -> bytes:
        return f"{companion.pid} {companion.poll()}".encode()

    return handler


class Closing:
    """A handler that writes to the file named by the manifest when it is closed."""

    def __init__(self, manifest: bytes, control: Control) -> None:
        self.file = Path(manifest.decode())

    def __call__(self, payload: bytes) -> bytes:
        return payload

    def close(self) -> None:
        self.file.write_text("closed")


closing: Callable[[bytes, Control], Handler] = Closing


def with_ticket(manifest: bytes, control: Control) -> Handler:
    """A target that starts as long as a file is there, which its first job takes away."""
    ticket = Path(manifest.decode())
    if not ticket.exists():
        raise LookupError("no ticket")

    def handler(payload: bytes) -> bytes:
        ticket.unlink()
        time.sleep(600)
        return b""

    return handler


def fork_twice(manifest: bytes, control: Control) -> Handler:
    """A target that comes back in two processes."""
    os.fork()
    return lambda payload: str(os.getpid()).encode()

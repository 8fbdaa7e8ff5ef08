"""Room: the program that stays in a sandbox for one attempt, and the talk with it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from rewardhub import (
    InfrastructureError,
    Job,
    Outcome,
    Preload,
    Program,
    ProgramEndedError,
    Sandbox,
)

T = TypeVar("T")

_INSIDE = Path(__file__).parent / "inside"
_MODULE = "rewardhub_policies.environments.inside"
_ORDER = (
    *("channel", "children", "capture", "commands", "files", "functions"),
    *("interpreter", "walk", "resident"),
)
_SOURCE = '''"""Modules of rewardhub_policies, made known without its being installed."""
import sys
import types

for name in ("rewardhub_policies", "rewardhub_policies.environments", {package!r}):
    sys.modules.setdefault(name, types.ModuleType(name)).__path__ = []
for name, text in {texts!r}.items():
    module = types.ModuleType(name)
    module.__file__ = name
    sys.modules[name] = module
    setattr(sys.modules[{package!r}], name.rpartition(".")[2], module)
    exec(compile(text, name, "exec"), vars(module))
'''
_START = f"import rewardhub_room\nfrom {_MODULE} import resident\nresident.main()\n"


@cache
def _ready() -> Preload:
    texts = {f"{_MODULE}.{name}": (_INSIDE / f"{name}.py").read_text("utf-8") for name in _ORDER}
    return Preload(name="rewardhub_room", source=_SOURCE.format(package=_MODULE, texts=texts))


@cache
def source_digest() -> str:
    """Return the digest of what runs inside: it decides what tools answer."""
    return hashlib.sha256(_ready().source.encode()).hexdigest()


def job_for(**wishes: Any) -> Job:
    """Return the job that keeps a room open: its folder comes back whole."""
    return Job(source=_START, preload=_ready(), collect=(".",), **wishes)


class Room:
    """One program in a sandbox.

    Blocking calls are made in a thread of the room's own, one after the other: rooms that wait
    for a slot never keep those that have one from going on.

    Attributes:
        look_next: whether the next reply shall bring the state of the folder, too.
        outcome: what became of the program, once it has ended.
    """

    def __init__(self, sandbox: Sandbox, job: Job) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._sandbox = sandbox
        self._job = job
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="room")
        self._program: Program | None = None
        self._is_closed = self._has_ended = False
        self._seen: Any = None
        self.look_next = False
        self.outcome: Outcome | None = None

    async def ask(self, op: str, **request: Any) -> dict[str, Any]:
        """Return the program's reply; the first question starts it.

        Raises:
            InfrastructureError: if no sandbox can be had, or if the program ended instead, or said
                what is no reply.
        """
        message = json.dumps({"op": op, "look": self.look_next, **request}).encode()
        reply = await self._do(lambda: self._exchange(message))
        seen = reply.pop("look", None)
        if seen is not None:
            self._seen = seen
        self.look_next = False
        return reply

    async def look(self) -> Any:
        """Return the state of the folder: as it came with the last reply, or asked now.

        Raises:
            InfrastructureError: as `ask` does.
        """
        if self._seen is None:
            self.look_next = True
            await self.ask("nothing")
        seen, self._seen = self._seen, None
        return seen

    async def leave(self) -> Outcome:
        """End the program in peace, and return what became of it, its files with it."""
        return await self._do(lambda: self._ended(kill=False))

    async def close(self) -> None:
        """End the program, whatever it does; may be called twice."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if self._program is not None or not self._has_ended:
                await self._do(lambda: self._ended(kill=True))
        finally:
            self._thread.shutdown(wait=False)

    async def _do(self, call: Callable[[], T]) -> T:
        import asyncio

        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    def _exchange(self, message: bytes) -> dict[str, Any]:
        if self._is_closed or self._has_ended:
            raise InfrastructureError("the environment is closed")
        if self._program is None:
            (self._program,) = self._sandbox.start(self._job)
        if len(message) > Program.MAX_MESSAGE:
            return {"error": f"the call is longer than {Program.MAX_MESSAGE} bytes"}
        try:
            self._program.send(message)
            reply = _read(self._program.receive())
        except ProgramEndedError as error:
            self.outcome = error.outcome
            raise InfrastructureError(_end_of(error.outcome)) from None
        except (ValueError, RecursionError) as error:
            raise InfrastructureError(f"the sandbox's program said no JSON: {error}") from None
        if not isinstance(reply, dict):
            raise InfrastructureError("the sandbox's program gave no reply")
        return reply

    def _ended(self, *, kill: bool) -> Outcome:
        program, self._program = self._program, None
        self._has_ended = True
        if program is not None:
            self.outcome = program.kill() if kill else program.finish()
        return self.outcome or Outcome(status="killed", reason="it never ran")


def _read(message: bytes) -> Any:
    """Return the JSON in a message; halves of surrogate pairs, which no text holds, become ``?``.

    They come from names of files that are no UTF-8, and from whoever writes them on purpose.
    """
    reply = json.loads(message)
    if b"\\u" in message:
        reply = json.loads(json.dumps(reply, ensure_ascii=False).encode(errors="replace"))
    return reply


def _end_of(outcome: Outcome) -> str:
    last = outcome.stderr.strip().splitlines()[-1:]
    told = f" ({last[0][:300]})" if last else ""
    return f"the sandbox's program ended: {outcome.reason or outcome.status}{told}"

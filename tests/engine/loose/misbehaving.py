"""A plugin file whose graders do everything that a grader should not."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NoReturn

from rewardhub import DEFAULT_READS, Grader, GraderCard, Score, Trajectory, hookimpl


class StrangeError(Exception):
    def __str__(self) -> str:
        raise ValueError("not even its message works")


class Deep(BaseException):
    """What native extensions raise: no `Exception`."""


def _raise(error: BaseException) -> NoReturn:
    raise error


def _recurse() -> Any:
    return _recurse()


def _swallow_memory() -> Any:
    held = [b"x" * (1 << 26) for _ in range(128)]  # 8 GiB
    return len(held)


def _note(pid: int) -> None:
    if folder := os.environ.get("LEFT_BEHIND"):
        (Path(folder) / str(pid)).touch()


def _leave() -> NoReturn:
    _note(os.getpid())
    os._exit(0)


def _leave_a_process() -> float:
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    left = subprocess.Popen(command, start_new_session=True)
    _note(left.pid)
    left.returncode = 0  # so that Popen does not warn of it
    return 1.0


def _burn() -> float:
    """Use more CPU time than some allow, and come to an end."""
    end = time.process_time() + 0.6
    while time.process_time() < end:
        pass
    return 1.0


async def _later() -> float:
    return 1.0


HOW: dict[str, Callable[[], Any]] = {
    "raise": lambda: _raise(ValueError("this is a bug")),
    "raise-strangely": lambda: _raise(StrangeError()),
    "raise-deeply": lambda: _raise(Deep("panic")),
    "cancel": lambda: _raise(asyncio.CancelledError()),
    "stop-iteration": lambda: _raise(StopIteration(3)),
    "exit": lambda: sys.exit(0),
    "interrupt": lambda: _raise(KeyboardInterrupt()),
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "too-much": lambda: 1.5,
    "text": lambda: "1.0",
    "nothing": lambda: None,
    "coroutine": _later,
    "recursion": _recurse,
    "memory-error": lambda: _raise(MemoryError()),
    "swallow-memory": _swallow_memory,
    "burn": _burn,
    "regex": lambda: re.match(r"(a+)+$", "a" * 64 + "b"),
    "sleep": lambda: time.sleep(600),
    "leave": _leave,
    "crash": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "orphan": _leave_a_process,
}


class Misbehaves(Grader):
    """Breaks in some way, always or only at some answers or tasks; else gives 1."""

    how: str
    on: Literal["always", "answer", "task"] = "always"

    def grade(self, trajectory: Trajectory) -> Any:
        prompts = " ".join(message.text for message in trajectory.task.messages)
        told = {"always": "bad", "answer": trajectory.final_text, "task": prompts}
        return HOW[self.how]() if "bad" in told[self.on] else 1.0


class Spies(Grader):
    """Reads what its card does not list."""

    def grade(self, trajectory: Trajectory) -> float:
        return float(trajectory.metadata["success"])


class Promises(Grader):
    """Gives a value to a step that is not there."""

    def grade(self, trajectory: Trajectory) -> Score:
        from rewardhub import StepValue

        return Score.of(1.0, step_values=[StepValue(len(trajectory.steps), 1.0)])


@hookimpl
def rewardhub_graders() -> Iterator[GraderCard]:
    yield GraderCard(name="bad/inline", grader=Misbehaves)
    yield GraderCard(name="bad/contained", grader=Misbehaves, runs_in="process")
    yield GraderCard(name="bad/spies", grader=Spies)
    yield GraderCard(name="bad/declared", grader=Spies, reads=(*DEFAULT_READS, "metadata"))
    yield GraderCard(name="bad/promises", grader=Promises)

"""`Workers` inside a worker process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar

from rewardhub.contracts import Limits, Workers

P = ParamSpec("P")
T = TypeVar("T")


class Control(Protocol):
    """What a worker may say to its pool."""

    def limit(self, *, cpu_seconds: float | None = None, wall_seconds: float | None = None) -> Any:
        """Narrow the limits for the calls inside the context."""
        ...

    def progress(self, note: str) -> None:
        """Say what the worker is at."""
        ...


class DirectWorkers(Workers):
    """`Workers` inside a worker process: the call runs right here, under narrower limits."""

    def __init__(self, control: Control, limits: Limits) -> None:
        self._control = control
        self._limits = limits

    def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return ``function(*args, **kwargs)``; the pool kills this process over the limit."""
        limits = self._limits
        with self._control.limit(cpu_seconds=limits.cpu_seconds, wall_seconds=limits.wall_seconds):
            return function(*args, **kwargs)

    def limited(
        self, *, cpu_seconds: float | None = None, wall_seconds: float | None = None
    ) -> Workers:
        """Return the same with narrower limits."""
        mine = self._limits
        return DirectWorkers(
            self._control,
            Limits(cpu_seconds or mine.cpu_seconds, wall_seconds or mine.wall_seconds, None),
        )

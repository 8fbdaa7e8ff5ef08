"""Limits on one piece of graded work."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one piece of work may use; None means no limit.

    Attributes:
        cpu_seconds: CPU time of the process and its descendants.
        wall_seconds: wall time.
        memory_mb: resident memory of the process and its descendants, in MiB.
    """

    cpu_seconds: float | None = 10.0
    wall_seconds: float | None = 60.0
    memory_mb: int | None = 2048

    def __post_init__(self) -> None:
        for name in ("cpu_seconds", "wall_seconds", "memory_mb"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be above 0, and {value} is not")

"""Policy and Environment: who acts, and where."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rewardhub.records import Observation, Step, Task, ToolCall, Trajectory


class Policy(ABC):
    """The model (or script) that acts: task in, trajectories out.

    A policy sees `Task.for_policy` and nothing else of a task.
    """

    name: ClassVar[str] = ""

    @property
    @abstractmethod
    def version(self) -> str:
        """What tells two versions of this policy apart: a checkpoint, a model name."""

    @property
    def repeatable(self) -> bool:
        """Whether the same seed gives the same trajectories."""
        return False

    @abstractmethod
    async def sample(self, task: Task, n: int, seed: int) -> Sequence[Trajectory]:
        """Return ``n`` attempts at ``task``.

        Raises:
            InfrastructureError: if the backend is gone; what broke in a single attempt is a
                *broken* Trajectory instead.
        """

    def close(self) -> None:  # noqa: B027  # most policies hold nothing
        """Let go of weights and connections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What an environment answers to one step.

    Attributes:
        observations: what came back for each tool call.
        done: whether the attempt is over.
        state: JSON snapshot after the step, or None.
    """

    observations: tuple[Observation, ...] = ()
    done: bool = False
    state: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Environment(ABC):
    """Where a policy acts: `reset`, then `act` until done, then `close`."""

    @abstractmethod
    async def reset(self, task: Task) -> Turn:
        """Build the environment that ``task.environment`` describes.

        Raises:
            InfrastructureError: if it cannot be built; the trajectory is then *broken*.
        """

    @abstractmethod
    async def act(self, step: Step, calls: Sequence[ToolCall]) -> Turn:
        """Run the calls of ``step``. What a call did wrong is an observation, not an exception.

        Raises:
            InfrastructureError: if the environment died.
        """

    @abstractmethod
    async def close(self) -> None:
        """Leave nothing behind."""

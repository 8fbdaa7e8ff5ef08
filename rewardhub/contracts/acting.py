"""Policy and Environment: who acts, and where."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import ConfigDict

from rewardhub.contracts.described import Described
from rewardhub.contracts.grader import Options
from rewardhub.records import EMPTY, Observation, Step, Task, ToolCall, Trajectory


class Policy(Options, ABC):
    """The model (or script) that acts: task in, trajectories out.

    Fields are its options. A policy sees `Task.for_policy` and nothing else of a task.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What an environment answers to one step.

    Attributes:
        observations: what came back for each tool call; one without a ``call_id`` is what the
            user says.
        done: whether the attempt is over.
        state: JSON snapshot after the step, equal where nothing changed, or None.
        tools: what the policy may call, as `Task.tools` has it; only `Environment.reset` tells.
        metadata: JSON besides, kept with the trajectory.
    """

    observations: tuple[Observation, ...] = ()
    done: bool = False
    state: Any = None
    tools: tuple[Mapping[str, Any], ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Environment(Described, ABC):
    """Where a policy acts: `reset`, then `act` until done, then `close`.

    Fields are options, which ``task.environment`` sets; state is a `pydantic.PrivateAttr`. One
    instance serves one attempt. Further parameters of `reset` are resources, by annotation:
    ``async def reset(self, task: Task, sandbox: Sandbox) -> Turn``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    hidden: ClassVar[tuple[str, ...]] = ()
    """Options that no policy may see: what a simulated user knows."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """JSON that names all the environment is besides options: interpreter, image, sources."""
        return EMPTY

    @abstractmethod
    async def reset(self, task: Task, *args: Any, **kwargs: Any) -> Turn:
        """Build the environment that ``task.environment`` describes; after `close`: build it anew.

        Args:
            task: the whole of it, for the environment is trusted.
            args: resources, by parameter.
            kwargs: resources, by parameter.

        Raises:
            TaskError: if the description cannot be built by anybody.
            InfrastructureError: if it cannot be built now; the trajectory is then *broken*.
        """

    @abstractmethod
    async def act(self, step: Step, calls: Sequence[ToolCall]) -> Turn:
        """Run the calls of ``step``. What a call did wrong is an observation, not an exception.

        Raises:
            InfrastructureError: if the environment died.
        """

    async def artifacts(self) -> Mapping[str, Any]:
        """Return what the attempt leaves behind, for graders: called once, after the last step.

        Raises:
            InfrastructureError: if the environment is gone, so that nobody can tell any more.
        """
        return EMPTY

    @abstractmethod
    async def close(self) -> None:
        """Leave nothing behind; may be called at any time, and twice."""

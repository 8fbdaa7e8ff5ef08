"""ActingPolicy: a policy that takes one turn at a time."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr

from rewardhub import InfrastructureError, Policy, Step, Task, Trajectory

if TYPE_CHECKING:
    from rewardhub_policies.environments.source import Environments


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One turn of a policy.

    Attributes:
        step: what it said and called, with tokens, cost and seconds; no observations yet.
        finish: why it stopped: ``stop``, ``tool_calls``, ``length`` (its reply was cut off),
            ``context_length`` (there is no room left), or what else the backend says.
        metadata: JSON that is kept with the trajectory: the raw text, token ids, history.
    """

    step: Step
    finish: str = "stop"
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


class OutsideError(InfrastructureError):
    """Something beside the environment broke: a judge that plays the user, an endpoint.

    Whatever the policy did, it did not do that: the attempt is *broken*, and the action is not
    tried again as that of an environment that died.
    """


class ActingPolicy(Policy):
    """A policy that acts turn by turn, so that it can work in an environment.

    A subclass writes `act`; `sample` runs `rewardhub_policies.attempts.attempt` for it.
    """

    _environments: Environments | None = PrivateAttr(default=None)
    _own: Environments | None = PrivateAttr(default=None)

    @abstractmethod
    async def act(self, task: Task, steps: Sequence[Step], *, seed: int) -> Action:
        """Return the next turn.

        Args:
            task: `Task.for_policy`, with the environment's tools among its own.
            steps: what happened so far, observations included.
            seed: of this turn: it differs from turn to turn and from attempt to attempt.

        Raises:
            InfrastructureError: if the backend gave no answer, tried again as it may be.
        """

    @property
    def sampling(self) -> Mapping[str, Any]:
        """JSON that is recorded with each trajectory: temperature, and what else was asked."""
        return {}

    def act_in(self, environments: Environments) -> None:
        """Let `sample` make the environments of its tasks with ``environments``."""
        self._environments = environments

    def close(self) -> None:
        """Let go of the sandbox that `sample` took, where none was given."""
        if self._own is not None:
            self._own.close()
            self._environments = self._own = None

    async def sample(self, task: Task, n: int, seed: int) -> Sequence[Trajectory]:
        """Return ``n`` attempts at ``task``, made side by side; see `Policy.sample`.

        Raises:
            InfrastructureError: if no attempt got as far as its first step.
        """
        import asyncio

        from rewardhub_policies.attempts import attempt

        environments = self._environments
        if environments is None and task.environment is not None:
            from rewardhub_policies.environments.source import Environments

            environments = self._environments = self._own = Environments.installed()
        attempts = [
            attempt(
                self,
                task,
                environments.of(task) if environments else None,
                seed=seed_of(seed, number),
                resources=environments.resources if environments else {},
            )
            for number in range(n)
        ]
        made = await asyncio.gather(*attempts)
        if made and all(
            each.fault == "infrastructure" and not each.steps and _is_policys(each) for each in made
        ):
            raise InfrastructureError(made[0].reason)
        return [each.replace(group_size=n) for each in made]


def _is_policys(trajectory: Trajectory) -> bool:
    return bool(trajectory.metadata.get("broke") == "policy")


def seed_of(seed: int, *path: int | str) -> int:
    """Return a seed below 2**31 for one place: of an attempt, of a turn of an attempt."""
    text = "/".join(map(str, (seed, *path)))
    digest = hashlib.blake2b(text.encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") >> 1

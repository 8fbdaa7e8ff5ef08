"""Scoring in one call: for a notebook, a script, a thread or a running loop.

Each function opens an `Engine` for the call and closes it. To score again and again with one
reward, keep an engine: ``with Engine("reward.yaml") as engine: engine.score(trajectory)``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator

from rewardhub.engine.engine import Engine, RewardSource
from rewardhub.host import Registry
from rewardhub.records import Reward, Trajectory


def score(
    trajectory: Trajectory, reward: RewardSource, *, registry: Registry | None = None
) -> Reward:
    """Return the reward of one trajectory.

    Args:
        trajectory: one attempt at one task.
        reward: path of a reward file, name of a shipped spec, a mapping, or a loaded spec.
        registry: what is installed; the default discovers it.

    Raises:
        SpecError: with every mistake of the reward file. What a grader does never raises.
    """
    with Engine(reward, registry=registry) as engine:
        return engine.score(trajectory)


async def ascore(
    trajectory: Trajectory, reward: RewardSource, *, registry: Registry | None = None
) -> Reward:
    """Return the reward of one trajectory, without blocking the running loop. See `score`."""
    with Engine(reward, registry=registry) as engine:
        return await engine.ascore(trajectory)


def score_all(
    trajectories: Iterable[Trajectory],
    reward: RewardSource,
    *,
    registry: Registry | None = None,
    workers: int | None = None,
) -> Iterator[Reward]:
    """Yield the reward of each trajectory, in their order. See `score`.

    Trajectories of one group (by default: of one task) are compared with each other where a
    grader does that; then their rewards come once the group is complete.

    Args:
        trajectories: read as they are needed; they may be endless.
        reward: as for `score`.
        registry: as for `score`.
        workers: how many worker processes may run; the default is one for each core.
    """
    with Engine(reward, registry=registry, workers=workers) as engine:
        yield from engine.score_all(trajectories)


async def ascore_all(
    trajectories: Iterable[Trajectory] | AsyncIterator[Trajectory],
    reward: RewardSource,
    *,
    registry: Registry | None = None,
    workers: int | None = None,
) -> AsyncIterator[Reward]:
    """Yield the reward of each trajectory, in order, without blocking the loop. See `score_all`."""
    with Engine(reward, registry=registry, workers=workers) as engine:
        async for each in engine.ascore_all(trajectories):
            yield each

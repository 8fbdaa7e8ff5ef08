from collections import Counter

from rewardhub import Reward, Trajectory, hookimpl

FAULTS: Counter[str] = Counter()


@hookimpl
def rewardhub_scored(trajectory: Trajectory, reward: Reward) -> None:
    FAULTS[f"{trajectory.task.domain}: {reward.fault or 'scored'}"] += 1

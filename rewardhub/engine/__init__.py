"""Runs graders over trajectories: limits, retries, cache, groups, resume."""

from rewardhub.engine.cache import Cache
from rewardhub.engine.engine import Engine, RewardSource
from rewardhub.engine.folder import Input, Plan, RunFolder
from rewardhub.engine.run import Outcome, Progress, Run
from rewardhub.engine.tally import PartTally, Tally

__all__ = [
    "Cache",
    "Engine",
    "Input",
    "Outcome",
    "PartTally",
    "Plan",
    "Progress",
    "RewardSource",
    "Run",
    "RunFolder",
    "Tally",
]

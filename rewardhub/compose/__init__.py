"""Scores -> Reward: the reward arithmetic."""

from rewardhub.compose.course import Course
from rewardhub.compose.reward import compose, success_of
from rewardhub.compose.stage import Skipped, Standing

__all__ = ["Course", "Skipped", "Standing", "compose", "success_of"]

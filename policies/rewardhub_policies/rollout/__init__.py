"""Rollouts: many attempts at many tasks, kept as they come, resumed and scored."""

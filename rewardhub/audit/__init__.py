"""Attacks on what decides rewards: tasks, specs, graders."""

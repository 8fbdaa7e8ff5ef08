"""Runs of tasks with so many successes."""

from __future__ import annotations

import pytest

from rewardhub.export.curriculum import Settings, make_curriculum
from rewardhub.host import registry_of
from rewardhub.records import Reward
from rewardhub.report.scored import open_run
from rewardhub.report.shelf import Shelf
from rewardhub.testing import make_task, make_trajectory


class Runs:
    """Makes runs, and curricula of them."""

    def __init__(self, write_run):
        self._write_run = write_run

    def write(self, name, *tasks):
        """Write a run of tasks, each with its successes: True, False or None."""
        pairs = [
            (make_trajectory("x", task=task, id=f"{name}-{place}-{number}"), self.reward(success))
            for place, (task, outcomes) in enumerate(tasks)
            for number, success in enumerate(outcomes)
        ]
        return self._write_run(*pairs, name=name)

    @staticmethod
    def reward(success):
        if success is None:
            return Reward.unscored("task", "no reference")
        return Reward(float(success), success, step_rewards=(float(success),))

    @staticmethod
    def task(name, **fields):
        return make_task(**({"prompt": f"Do {name}.", "id": name, "domain": "x"} | fields))

    def read(self, *folders):
        return [open_run(folder, registry_of()) for folder in folders]

    def curriculum(self, *tasks, **settings):
        """Return the curriculum of one run."""
        return self.of(self.write("run", *tasks), **settings)

    def of(self, *folders, **settings):
        """Return the curriculum of several runs."""
        with Shelf() as shelf:
            return make_curriculum(self.read(*folders), Settings(**settings), shelf)


@pytest.fixture
def runs(write_run):
    return Runs(write_run)

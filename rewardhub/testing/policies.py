"""What every policy promises, as tests to inherit."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from rewardhub.contracts import Policy
from rewardhub.records import Message, Task, Trajectory

SECRET = "seven-silver-herons"  # noqa: S105  # what must not be seen is nobody's password
"""Stands in the reference, the checks and the metadata of the contract's tasks."""


class PolicyContract:
    """What every policy promises. Subclass it in a test file, and say what is tested::

        @pytest.fixture(scope="module")
        def policy() -> Iterator[Policy]:
            with closing(MyPolicy(...)) as policy:
                policy.open()
                yield policy


        class TestMyPolicy(PolicyContract):
            pass

    Attributes:
        attempts: how many attempts one call asks for.
    """

    attempts: int = 3

    def make_tasks(self) -> tuple[Task, Task]:
        """Return two tasks, ``first`` and ``second``, that the policy can try."""
        return contract_task("first"), contract_task("second")

    def sample(self, policy: Policy, task: Task, n: int, seed: int = 7) -> Sequence[Trajectory]:
        """Return what the policy gives, on an event loop of its own."""
        return asyncio.run(_sampled(policy, task, n, seed))

    def test_names_itself(self, policy: Policy) -> None:
        """Records say who acted: a name, and a version that does not change while it acts."""
        assert policy.name
        assert policy.version
        version = policy.version
        self.sample(policy, self.make_tasks()[0], 1)
        assert policy.version == version

    def test_gives_as_many_attempts_as_it_is_asked_for(self, policy: Policy) -> None:
        """None, one, or several."""
        task = self.make_tasks()[0]
        for n in (0, 1, self.attempts):
            assert len(self.sample(policy, task, n)) == n

    def test_gives_each_attempt_an_id_of_its_own(self, policy: Policy) -> None:
        """Equal attempts are legal, and are still two."""
        given = self.sample(policy, self.make_tasks()[0], self.attempts)
        assert len({each.id for each in given}) == self.attempts

    def test_gives_one_group_of_the_task(self, policy: Policy) -> None:
        """The attempts are compared with each other, and are at the task as it was given."""
        task = self.make_tasks()[0]
        for each in self.sample(policy, task, self.attempts):
            assert (each.group, each.group_size) == (task.id, self.attempts)
            assert (each.task.id, each.task.reference) == (task.id, task.reference)

    def test_says_who_acted(self, policy: Policy) -> None:
        """Each attempt has the name and version of a policy."""
        for each in self.sample(policy, self.make_tasks()[0], self.attempts):
            assert each.policy is not None
            assert each.policy.name
            assert each.policy.version

    def test_does_not_break_on_a_plain_task(self, policy: Policy) -> None:
        """Every attempt at a question without tools is completed, or cut off at a limit."""
        for each in self.sample(policy, self.make_tasks()[0], self.attempts):
            assert each.status in {"completed", "truncated"}, each.reason

    def test_gives_the_same_for_the_same_seed(self, policy: Policy) -> None:
        """If it says that it is repeatable; otherwise nothing is promised."""
        task = self.make_tasks()[0]
        once, again = (self.sample(policy, task, self.attempts, seed=11) for _ in range(2))
        if policy.repeatable:
            assert [_said(each) for each in once] == [_said(each) for each in again]

    def test_keeps_tasks_apart_that_are_tried_at_once(self, policy: Policy) -> None:
        """Attempts at two tasks, side by side, do not mix."""
        tasks = self.make_tasks()

        async def both() -> list[Sequence[Trajectory]]:
            return await asyncio.gather(*(_sampled(policy, task, 2, 3) for task in tasks))

        for task, given in zip(tasks, asyncio.run(both()), strict=True):
            assert {each.task.id for each in given} == {task.id}

    def test_says_nothing_that_only_graders_may_see(self, policy: Policy) -> None:
        """Reference, checks and metadata of the task are in no step and in no note."""
        for each in self.sample(policy, self.make_tasks()[0], self.attempts):
            noted = each.replace(task=Task(id="other")).to_json().decode()
            assert SECRET not in noted

    def test_is_closed_twice_without_harm(self, policy: Policy) -> None:
        """Whoever cleans up need not know who did before; it can be opened again."""
        policy.close()
        policy.close()
        policy.open()
        assert len(self.sample(policy, self.make_tasks()[0], 1)) == 1


def contract_task(identity: str) -> Task:
    """Return one of the contract's tasks."""
    return Task(
        id=identity,
        messages=(Message(role="user", content=f"Say something of the {identity} thing."),),
        reference=SECRET,
        checks={"text": SECRET},
        metadata={"answer": SECRET},
    )


async def _sampled(policy: Policy, task: Task, n: int, seed: int) -> Sequence[Trajectory]:
    return await policy.sample(task, n, seed)


def _said(trajectory: Trajectory) -> Any:
    """Return what an attempt did, without what differs from run to run: its id, the clock."""
    steps = [step.replace(seconds=None) for step in trajectory.steps]
    return [json.loads(step.to_json()) for step in steps], trajectory.status

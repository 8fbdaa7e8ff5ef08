import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import PrivateAttr

from rewardhub import Policy, PolicyInfo, Step, Task, Trajectory
from rewardhub.testing import PolicyContract


class Parrot(Policy):
    """Says the question, and how often it was asked for attempts where it is told to."""

    name = "parrot"

    fault: str = ""

    _count: Any = PrivateAttr(default_factory=itertools.count)

    @property
    def version(self) -> str:
        return str(next(self._count)) if self.fault == "version" else "1"

    @property
    def repeatable(self) -> bool:
        return True

    async def sample(self, task: Task, n: int, seed: int) -> Sequence[Trajectory]:
        given = [self._attempt(task, n) for _ in range(n)]
        return given[:1] if self.fault == "number" else given

    def _attempt(self, task: Task, n: int) -> Trajectory:
        text = {"seed": str(next(self._count)), "secret": str(task.reference)}
        fields: dict[str, Any] = {
            "task": Task(id="other") if self.fault == "task" else task,
            "steps": (Step(text=text.get(self.fault, task.prompt)),),
            "group_size": None if self.fault == "group" else n,
            "policy": None if self.fault == "policy" else PolicyInfo(name="parrot", version="1"),
        }
        if self.fault == "id":
            fields["id"] = "same"
        if self.fault == "broken":
            fields |= {"status": "broken", "fault": "grader", "reason": "a bug"}
        return Trajectory(**fields)


@pytest.fixture
def policy() -> Policy:
    return Parrot()


class TestParrot(PolicyContract):
    pass


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        ("version", "test_names_itself"),
        ("number", "test_gives_as_many_attempts_as_it_is_asked_for"),
        ("id", "test_gives_each_attempt_an_id_of_its_own"),
        ("group", "test_gives_one_group_of_the_task"),
        ("task", "test_gives_one_group_of_the_task"),
        ("policy", "test_says_who_acted"),
        ("broken", "test_does_not_break_on_a_plain_task"),
        ("seed", "test_gives_the_same_for_the_same_seed"),
        ("task", "test_keeps_tasks_apart_that_are_tried_at_once"),
        ("secret", "test_says_nothing_that_only_graders_may_see"),
    ],
)
def test_the_contract_finds_what_a_policy_does_wrong(fault: str, test: str) -> None:
    policy = Parrot(fault=fault)
    with pytest.raises(AssertionError):
        getattr(PolicyContract(), test)(policy)

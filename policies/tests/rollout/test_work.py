import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import Field, PrivateAttr
from rewardhub_policies.acting import ActingPolicy, Action
from rewardhub_policies.budget import Budget
from rewardhub_policies.rollout import work
from rewardhub_policies.rollout.attempts_file import AttemptsFile
from rewardhub_policies.rollout.work import Count, Plan, roll_out

from rewardhub import (
    InfrastructureError,
    Message,
    Policy,
    Step,
    Task,
    Trajectory,
    UsageError,
    read_trajectory,
)


def task(name: str, **fields: Any) -> Task:
    return Task(id=name, messages=(Message(role="user", content=name),), **fields)


TASKS = [task("a"), task("b"), task("c", metadata={"priority": 1})]


class Talker(ActingPolicy):
    """Says its seed; breaks as often as it is told to for each task."""

    name: ClassVar[str] = "talker"
    breaks: dict[str, int] = Field(default_factory=dict)
    lasting: bool = False
    _asked: Counter[str] = PrivateAttr(default_factory=Counter)
    _order: list[str] = PrivateAttr(default_factory=list)
    _under_way: int = PrivateAttr(default=0)
    _peak: int = PrivateAttr(default=0)

    @property
    def version(self) -> str:
        return "1"

    async def act(self, task: Task, steps: Sequence[Step], *, seed: int) -> Action:
        self._order.append(task.id)
        self._asked[task.id] += 1
        self._under_way += 1
        self._peak = max(self._peak, self._under_way)
        await asyncio.sleep(0)
        self._under_way -= 1
        if self._asked[task.id] <= self.breaks.get(task.id, 0):
            raise InfrastructureError("the endpoint is gone", passing=not self.lasting)
        return Action(step=Step(text=f"{seed}", tokens=3))


def rows(folder: Path) -> list[Trajectory]:
    lines = (folder / "trajectories.jsonl").read_bytes().splitlines()
    return [read_trajectory(line) for line in lines]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "FIRST_PAUSE", 0.0)


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Count]:
    def run(policy: Policy, tasks: Sequence[Task] = TASKS, **how: Any) -> Count:
        budget, recorded = how.pop("budget", None), how.pop("recorded", None)
        plan = Plan(**{"n": 3, "parallel": 2, **how})
        with AttemptsFile(tmp_path, {"n": plan.n}) as file:
            return asyncio.run(
                roll_out(policy, tasks, plan, file, budget=budget, recorded=recorded)
            )

    return run


def test_every_task_is_tried_n_times_with_a_seed_of_its_own(
    make: Callable[..., Count], tmp_path: Path
) -> None:
    policy = Talker()
    count = make(policy)
    made = rows(tmp_path)
    assert (count.wanted, count.made, count.missing, count.tokens) == (9, 9, 0, 27)
    assert sorted(each.id for each in made) == [f"{name}/{n}" for name in "abc" for n in range(3)]
    assert {(each.group, each.group_size) for each in made} == {(name, 3) for name in "abc"}
    assert len({each.final_text for each in made}) == 9
    assert policy._order[:3] == ["c"] * 3, "what has priority comes first"
    assert policy._peak <= 2


def test_the_same_seed_makes_the_same_attempts(tmp_path: Path) -> None:
    texts: list[dict[str, str]] = []
    for folder, parallel in (("one", 1), ("two", 5)):
        with AttemptsFile(tmp_path / folder, {}) as file:
            asyncio.run(roll_out(Talker(), TASKS, Plan(n=2, parallel=parallel), file))
        texts.append({each.id: each.final_text for each in rows(tmp_path / folder)})
    assert texts[0] == texts[1]


def test_an_attempt_that_broke_is_made_again_and_its_tries_are_kept(
    make: Callable[..., Count], tmp_path: Path
) -> None:
    count = make(Talker(breaks={"a": 1}), TASKS[:1], n=1)
    (made,) = rows(tmp_path)
    assert (made.status, count.retried) == ("completed", 1)
    assert made.metadata["tries"] == ("the policy could not be asked: the endpoint is gone",)


def test_one_that_stays_broken_is_written_as_broken(
    make: Callable[..., Count], tmp_path: Path
) -> None:
    count = make(Talker(breaks={"a": 99}), TASKS[:2], n=1, retries=1)
    ends = {each.id: (each.status, each.fault) for each in rows(tmp_path)}
    assert ends == {"a/0": ("broken", "infrastructure"), "b/0": ("completed", None)}
    assert (count.statuses["broken"], count.missing) == (1, 0)


def test_a_task_that_cannot_be_built_breaks_its_own_attempts_only(
    make: Callable[..., Count], tmp_path: Path
) -> None:
    make(Talker(), [task("x", environment={"use": "nothing"}), TASKS[0]], n=1)
    ends = {each.id: (each.status, each.fault) for each in rows(tmp_path)}
    assert ends == {"x/0": ("broken", "task"), "a/0": ("completed", None)}


def test_goes_on_where_it_was_and_cuts_a_torn_line(
    make: Callable[..., Count], tmp_path: Path
) -> None:
    make(Talker(), TASKS[:2])
    path = tmp_path / "trajectories.jsonl"
    before = {each.id: each.final_text for each in rows(tmp_path)}
    path.write_bytes(path.read_bytes()[:-20])
    policy = Talker()
    count = make(policy, TASKS[:2])
    assert (count.kept, count.made) == (5, 1)
    assert {each.id: each.final_text for each in rows(tmp_path)} == before
    assert len(policy._order) == 1


def test_a_folder_of_another_rollout_or_process_is_refused(tmp_path: Path) -> None:
    plan = {"n": 3, "seed": 0}
    with (
        AttemptsFile(tmp_path, plan),
        pytest.raises(UsageError, match="Another process rolls out"),
    ):
        AttemptsFile(tmp_path, plan)
    with pytest.raises(UsageError, match="`n` differ"):
        AttemptsFile(tmp_path, {**plan, "n": 4})


class Spender(Talker):
    """Takes ten tokens of a budget for each turn."""

    _budget: Budget | None = PrivateAttr(default=None)

    async def act(self, task: Task, steps: Sequence[Step], *, seed: int) -> Action:
        from rewardhub import Usage

        assert self._budget is not None
        async with self._budget.reserve(Usage(prompt_tokens=10)) as spend:
            spend(Usage(prompt_tokens=10))
        return await super().act(task, steps, seed=seed)


def test_nothing_begins_once_the_budget_is_used_up(
    make: Callable[..., Count], tmp_path: Path
) -> None:
    policy, budget = Spender(), Budget(max_tokens=45)
    policy._budget = budget
    count = make(policy, budget=budget)
    assert (count.made, count.missing, budget.tokens) == (4, 5, 40)
    assert count.stopped == "the budget is used up"
    assert all(each.status == "completed" for each in rows(tmp_path))


def test_no_attempt_begins_after_the_limit_on_seconds(make: Callable[..., Count]) -> None:
    count = make(Talker(), seconds=0.0)
    assert (count.made, count.stopped) == (0, "the limit of 0 seconds was reached")


class Whole(Policy):
    """Gives whole groups, and no single attempts."""

    name: ClassVar[str] = "whole"
    _asked: list[int] = PrivateAttr(default_factory=list)

    @property
    def version(self) -> str:
        return "1"

    async def sample(self, task: Task, n: int, seed: int) -> Sequence[Trajectory]:
        self._asked.append(n)
        return [Trajectory(task=task, steps=(Step(text=str(number)),)) for number in range(n)]


def test_a_policy_of_whole_groups_is_asked_once_for_each(
    make: Callable[..., Count], tmp_path: Path
) -> None:
    policy = Whole()
    make(policy)
    assert policy._asked == [3, 3, 3]
    assert {each.id: each.final_text for each in rows(tmp_path)}["b/2"] == "2"


def test_recorded_attempts_are_taken_over(make: Callable[..., Count], tmp_path: Path) -> None:
    known = Trajectory(id="old", task=TASKS[0], steps=(Step(text="before"),))
    policy = Talker()
    count = make(policy, TASKS[:1], n=2, recorded={TASKS[0].digest: [known]})
    texts = {each.id: each for each in rows(tmp_path)}
    assert texts["a/0"].final_text == "before"
    assert texts["a/0"].metadata["reused"] == "old"
    assert (len(policy._order), count.missing) == (1, 0)

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from pydantic import PrivateAttr
from rewardhub_policies.acting import ActingPolicy, Action, OutsideError, seed_of
from rewardhub_policies.attempts import attempt
from rewardhub_policies.limits import AttemptLimits, cut

from rewardhub import (
    Environment,
    InfrastructureError,
    Observation,
    Step,
    Task,
    TaskError,
    ToolCall,
    Trajectory,
    Turn,
)

CALL = ToolCall(id="c", name="do", arguments="{}", parsed={})
TASK = Task(id="t", reference="secret", checks={"shell": "secret"}, environment={"use": "x"})


class Told(ActingPolicy):
    """Says what it was given, then that it is done."""

    name: ClassVar[str] = "told"
    actions: tuple[Any, ...] = ()

    _seen: list[tuple[Task, int, int]] = PrivateAttr(default_factory=list)

    @property
    def version(self) -> str:
        return "1"

    async def act(self, task: Task, steps: Sequence[Step], *, seed: int) -> Action:
        self._seen.append((task, len(steps), seed))
        if len(steps) >= len(self.actions):
            return Action(step=Step(text="done"))
        said = self.actions[len(steps)]
        if isinstance(said, BaseException):
            raise said
        return said if isinstance(said, Action) else Action(step=said)


class Place(Environment):
    """Counts, and does at each action what it is told: raise, wait, or answer."""

    hidden: ClassVar[tuple[str, ...]] = ("secrets",)
    secrets: str = ""

    _does: dict[int, list[Any]] = PrivateAttr(default_factory=dict)
    _resets: list[Any] = PrivateAttr(default_factory=list)
    _number: int = PrivateAttr(default=0)
    _closed: int = PrivateAttr(default=0)
    _acted: list[int] = PrivateAttr(default_factory=list)
    _left: Any = PrivateAttr(default_factory=lambda: {"files": {}})

    async def reset(self, task: Task) -> Turn:
        self._number = 0
        if self._resets and isinstance(said := self._resets.pop(0), BaseException):
            raise said
        return Turn(state=0)

    async def act(self, step: Step, calls: Sequence[ToolCall]) -> Turn:
        number, self._number = self._number, self._number + 1
        self._acted.append(number)
        todo = self._does.get(number, [])
        does = todo.pop(0) if todo else "ok"
        if isinstance(does, BaseException):
            raise does
        if isinstance(does, float):
            await asyncio.sleep(does)
        seen = tuple(Observation(call_id=call.id, content=str(does)) for call in calls)
        return Turn(observations=seen, done=not calls, state=number + 1, metadata={"n": number})

    async def artifacts(self) -> Any:
        if isinstance(self._left, BaseException):
            raise self._left
        return self._left

    async def close(self) -> None:
        self._closed += 1


def place(*, does: dict[int, list[Any]] | None = None, resets: Sequence[Any] = ()) -> Place:
    made = Place()
    made._does.update(does or {})
    made._resets.extend(resets)
    return made


def play(
    policy: ActingPolicy, where: Environment | None, task: Task = TASK, **how: Any
) -> Trajectory:
    return asyncio.run(attempt(policy, task, where, **how))


def calls(count: int, **fields: Any) -> Told:
    return Told(actions=tuple(Step(tool_calls=(CALL,), **fields) for _ in range(count)))


def gone(told: str = "gone") -> InfrastructureError:
    return InfrastructureError(told)


def test_records_each_step_with_what_came_back() -> None:
    made = play(calls(2), place())
    assert (made.status, made.fault, len(made.steps)) == ("completed", None, 3)
    assert [step.state for step in made.steps] == [1, 2, 3]
    assert made.steps[0].observations == (Observation(call_id="c", content="ok"),)
    assert made.steps[2].text == "done"


def test_sums_what_the_steps_cost() -> None:
    made = play(calls(2, tokens=5, cost=0.25), place())
    assert (made.tokens, made.cost) == (10, 0.5)


def test_costs_that_nobody_knows_are_none() -> None:
    made = play(calls(1), place())
    assert (made.tokens, made.cost) == (None, None)


def test_a_task_without_an_environment_is_answered_in_one_turn() -> None:
    made = play(calls(3), None)
    assert (made.status, len(made.steps)) == ("completed", 1)


def test_the_policy_never_sees_reference_and_checks() -> None:
    policy = calls(1)
    play(policy, place())
    assert {task.reference for task, _, _ in policy._seen} == {None}
    assert all(not task.checks for task, _, _ in policy._seen)


def test_the_policy_never_sees_hidden_options() -> None:
    policy = calls(1)
    play(policy, place(), TASK.replace(environment={"use": "x", "secrets": "s", "open": 1}))
    assert [dict(task.environment or {}) for task, _, _ in policy._seen] == [
        {"use": "x", "open": 1}
    ] * 2


def test_seeds_differ_by_turn_and_are_the_same_again() -> None:
    first, second = calls(2), calls(2)
    play(first, place(), seed=3)
    play(second, place(), seed=3)
    seeds = [seed for _, _, seed in first._seen]
    assert seeds == [seed for _, _, seed in second._seen]
    assert len(set(seeds)) == 3


def test_the_limit_on_steps_truncates() -> None:
    made = play(calls(9), place(), limits=AttemptLimits(steps=2))
    assert (made.status, len(made.steps)) == ("truncated", 2)
    assert "2 steps" in made.reason


def test_the_limit_on_tokens_truncates() -> None:
    made = play(calls(9, tokens=4), place(), limits=AttemptLimits(tokens=7))
    assert (made.status, len(made.steps)) == ("truncated", 2)
    assert "7 tokens" in made.reason


def test_the_limit_on_seconds_truncates_and_keeps_the_step_that_was_cut() -> None:
    made = play(calls(2), place(does={1: [60.0]}), limits=AttemptLimits(seconds=0.2))
    assert (made.status, len(made.steps)) == ("truncated", 2)
    assert made.steps[1].observations == ()
    assert "0.2 seconds" in made.reason


def test_a_policy_that_never_answers_in_time_leaves_an_empty_step() -> None:
    class Slow(Told):
        async def act(self, task: Task, steps: Sequence[Step], *, seed: int) -> Action:
            await asyncio.sleep(60)
            raise AssertionError

    made = play(Slow(), place(), limits=AttemptLimits(seconds=0.1))
    assert (made.status, made.steps) == ("truncated", (Step(),))


def test_a_long_observation_is_cut_with_a_mark() -> None:
    made = play(calls(1), place(does={0: ["x" * 500]}), limits=AttemptLimits(output_chars=100))
    (seen,) = made.steps[0].observations
    assert "[... 400 characters left out ...]" in seen.content
    assert len(seen.content) < 150


def test_cutting_keeps_beginning_and_end() -> None:
    text = "a" * 50 + "b" * 50
    assert cut(text, 30).startswith("a" * 20 + "\n[...")
    assert cut(text, 30).endswith("]\n" + "b" * 10)
    assert cut(text, 100) == text


def test_the_task_sets_limits() -> None:
    made = play(calls(9), place(), TASK.replace(environment={"use": "x", "limits": {"steps": 1}}))
    assert (made.status, len(made.steps)) == ("truncated", 1)


def test_wrong_limits_of_a_task_are_the_tasks_fault() -> None:
    made = play(calls(1), place(), TASK.replace(environment={"use": "x", "limits": {"step": 1}}))
    assert (made.status, made.fault) == ("broken", "task")
    assert "limits" in made.reason


@pytest.mark.parametrize(
    ("finish", "status"),
    [("length", "truncated"), ("context_length", "truncated"), ("refusal", "completed")],
)
def test_a_reply_that_was_cut_off_truncates(finish: str, status: str) -> None:
    made = play(Told(actions=(Action(step=Step(text="..."), finish=finish),)), place())
    assert made.status == status


@pytest.mark.parametrize(
    ("error", "fault"),
    [(gone(), "infrastructure"), (TaskError("no"), "task"), (KeyError("k"), "grader")],
)
def test_a_reset_that_raises_is_a_broken_attempt(error: Exception, fault: str) -> None:
    where = place(resets=[error])
    made = play(calls(1), where)
    assert (made.status, made.fault, made.steps) == ("broken", fault, ())
    assert where._closed == 1


def test_a_policy_that_is_gone_is_a_broken_attempt() -> None:
    made = play(Told(actions=(Step(tool_calls=(CALL,)), gone("no endpoint"))), place())
    assert (made.status, made.fault, len(made.steps)) == ("broken", "infrastructure", 1)
    assert "no endpoint" in made.reason


def test_a_bug_of_a_policy_is_a_broken_attempt() -> None:
    made = play(Told(actions=(ZeroDivisionError("oops"),)), place())
    assert (made.status, made.fault) == ("broken", "grader")
    assert "ZeroDivisionError: oops" in made.reason


def test_a_bug_of_an_environment_is_a_broken_attempt() -> None:
    made = play(calls(2), place(does={1: [ZeroDivisionError("oops")]}))
    assert (made.status, made.fault, len(made.steps)) == ("broken", "grader", 2)


def test_an_environment_that_dies_twice_at_an_action_completes_the_attempt() -> None:
    where = place(does={1: [gone("first"), gone("second")]})
    made = play(calls(3), where)
    assert (made.status, made.fault, len(made.steps)) == ("completed", None, 2)
    (seen,) = made.steps[1].observations
    assert seen.call_id == "c"
    assert "second" in (seen.error or "")
    assert where._acted == [0, 1, 0, 1]


def test_an_environment_that_dies_once_breaks_the_attempt() -> None:
    made = play(calls(3), place(does={1: [gone("first")]}))
    assert (made.status, made.fault) == ("broken", "infrastructure")
    assert "first" in made.reason


def test_an_environment_that_dies_at_an_earlier_action_when_rebuilt_breaks_the_attempt() -> None:
    made = play(calls(3), place(does={0: ["ok", gone("earlier")], 1: [gone("first")]}))
    assert (made.status, made.fault) == ("broken", "infrastructure")
    assert "earlier" in made.reason


def test_an_environment_that_cannot_be_rebuilt_breaks_the_attempt() -> None:
    made = play(calls(3), place(does={1: [gone("first")]}, resets=["ok", gone("no node")]))
    assert (made.status, made.fault) == ("broken", "infrastructure")
    assert "no node" in made.reason


@pytest.mark.parametrize("errors", [[OutsideError("no judge")], [gone(), OutsideError("no judge")]])
def test_what_breaks_outside_of_the_environment_breaks_the_attempt(errors: list[Exception]) -> None:
    made = play(calls(3), place(does={1: list(errors)}))
    assert (made.status, made.fault, len(made.steps)) == ("broken", "infrastructure", 2)
    assert made.reason == "no judge"


def test_what_an_attempt_leaves_is_kept() -> None:
    where = place()
    where._left = {"files": {"a": "b"}}
    assert play(calls(1), where).artifacts == {"files": {"a": "b"}}


def test_what_cannot_be_collected_breaks_the_attempt() -> None:
    where = place()
    where._left = gone("disk")
    made = play(calls(1), where)
    assert (made.status, made.fault) == ("broken", "infrastructure")


def test_a_dead_environment_need_leave_nothing() -> None:
    where = place(does={0: [gone(), gone()]})
    where._left = gone("disk")
    made = play(calls(1), where)
    assert (made.status, made.artifacts) == ("completed", {})


def test_a_cancelled_attempt_closes_its_environment() -> None:
    where = place(does={0: [60.0]})

    async def cancelled() -> None:
        going = asyncio.ensure_future(attempt(calls(1), TASK, where))
        await asyncio.sleep(0.05)
        going.cancel()
        await going

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert where._closed == 1


def test_a_resource_that_is_not_given_is_the_tasks_fault() -> None:
    class Needy(Place):
        async def reset(self, task: Task, sandbox: object) -> Turn:  # type: ignore[override]
            raise AssertionError

    made = play(calls(1), Needy())
    assert (made.status, made.fault) == ("broken", "task")
    assert "needs a sandbox" in made.reason


def test_what_the_environment_opens_with_is_said_and_offered_to_the_policy() -> None:
    tool = {"type": "function", "function": {"name": "do", "parameters": {"type": "object"}}}

    class Open(Place):
        async def reset(self, task: Task) -> Turn:
            return Turn(observations=(Observation(content="hello"),), tools=(tool,))

    policy = calls(1)
    made = play(policy, Open())
    assert made.task.id == "t"
    assert [each.text for each in made.task.messages] == ["hello"]
    assert policy._seen[0][0].messages == made.task.messages
    assert policy._seen[0][0].tools == made.task.tools
    assert made.task.tools[0]["function"]["name"] == "do"


def test_the_record_says_what_is_needed_to_run_it_again() -> None:
    made = play(calls(1), place(), seed=5)
    assert made.policy is not None
    assert (made.policy.name, made.policy.version) == ("told", "1")
    assert (made.metadata["seed"], made.metadata["repeatable"]) == (5, False)
    about = made.metadata["environment"]
    assert about["initial"]["state"] == 0
    assert [turn["n"] for turn in about["turns"]] == [0, 1]
    assert made.metadata["acts"][0]["finish"] == "stop"
    assert len(about["digest"]) == 32


def test_the_digest_of_an_environment_hangs_on_its_description_and_the_files() -> None:
    def digest(task: Task) -> str:
        return str(play(calls(0), place(), task).metadata["environment"]["digest"])

    other = TASK.replace(environment={"use": "x", "secrets": "s"})
    assert digest(TASK) == digest(TASK.replace(id="u"))
    assert len({digest(each) for each in (TASK, other, TASK.replace(files={"a": "b"}))}) == 3


def test_sample_gives_a_group() -> None:
    made = asyncio.run(Told().sample(Task(id="t"), 3, seed=1))
    assert [(each.group, each.group_size) for each in made] == [("t", 3)] * 3
    assert len({each.id for each in made}) == 3
    assert len({each.metadata["seed"] for each in made}) == 3


def test_sample_raises_if_the_policy_is_gone() -> None:
    with pytest.raises(InfrastructureError, match="no endpoint"):
        asyncio.run(Told(actions=(gone("no endpoint"),)).sample(Task(id="t"), 2, seed=1))


def test_seeds_are_below_two_to_the_31() -> None:
    seeds = {seed_of(1, number) for number in range(200)}
    assert len(seeds) == 200
    assert all(0 <= seed < 2**31 for seed in seeds)

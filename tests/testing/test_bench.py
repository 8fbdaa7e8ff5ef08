"""`grade`: one grader, one trajectory, the Score that the engine would give."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest
from pydantic import BaseModel, ConfigDict, PrivateAttr

from rewardhub import (
    BatchGrader,
    Grader,
    GraderCard,
    GroupGrader,
    InfrastructureError,
    Judge,
    Sandbox,
    Score,
    StepValue,
    TaskError,
    Workers,
)
from rewardhub.errors import RecordError, UsageError
from rewardhub.testing import fake_judge, fake_sandbox, grade, make_trajectory

REPLY = make_trajectory("four words are here", prompt="Say it.", reference="4")


class Words(Grader):
    limit: int = 3

    def grade(self, trajectory):
        return len(trajectory.final_text.split()) <= self.limit


class Returns(Grader):
    what: object = None

    def grade(self, trajectory):
        return self.what


class Raises(Grader):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    error: BaseException

    def grade(self, trajectory):
        raise self.error


class Deep(Grader):
    def grade(self, trajectory):
        def fall(depth):
            return fall(depth + 1) if depth < len(trajectory.final_text) else 1.0

        return fall(0)


class Doubled(BatchGrader):
    def grade_batch(self, trajectories: Sequence):
        return [0.5 for _ in trajectories]


class Ranked(GroupGrader):
    def grade_group(self, trajectories: Sequence):
        return [1.0 / len(trajectories) for _ in trajectories]


class Asks(Grader):
    async def grade(self, trajectory, judge: Judge):
        reply = await judge.ask([{"role": "user", "content": trajectory.final_text}])
        return reply.text == "yes"


class Runs(Grader):
    def grade(self, trajectory, sandbox: Sandbox):
        from rewardhub import Job

        return sandbox.run(Job(source=trajectory.final_text)).stdout == "ok"


class Calls(Grader):
    def grade(self, trajectory, workers: Workers):
        return workers.call(len, trajectory.final_text) > 3


def test_takes_a_class_with_options():
    assert grade(Words, REPLY).value == 0.0
    assert grade(Words, REPLY, options={"limit": 4}).value == 1.0


def test_takes_a_grader():
    assert grade(Words(limit=4), REPLY).value == 1.0


def test_takes_a_card_and_signs_the_score():
    score = grade(GraderCard(name="style/words", grader=Words), REPLY)
    assert (score.grader, score.value) == ("style/words", 0.0)


@pytest.mark.parametrize(("what", "value"), [(True, 1.0), (False, 0.0), (0.25, 0.25), (1, 1.0)])
def test_makes_a_score_of_a_plain_verdict(what, value):
    assert grade(Returns(what=what), REPLY).value == value


@pytest.mark.parametrize("what", [None, "yes", 1.5, float("nan"), [1.0]])
def test_fails_a_verdict_that_is_none(what):
    score = grade(Returns(what=what), REPLY)
    assert (score.status, score.fault, score.value) == ("failed", "grader", None)


@pytest.mark.parametrize(
    ("error", "status", "fault"),
    [
        (TaskError("no tests"), "abstained", "task"),
        (InfrastructureError("gone"), "failed", "infrastructure"),
        (KeyError("x"), "failed", "grader"),
        (SystemExit(0), "failed", "grader"),
    ],
)
def test_makes_a_score_of_an_exception(error, status, fault):
    score = grade(Raises(error=error), REPLY)
    assert (score.status, score.fault, score.value) == (status, fault, None)


class DeepBatch(BatchGrader):
    def grade_batch(self, trajectories: Sequence):
        return [Deep().grade(each) for each in trajectories]


class DeepGroup(GroupGrader):
    def grade_group(self, trajectories: Sequence):
        return [Deep().grade(each) for each in trajectories]


@pytest.mark.parametrize("grader", [Deep, DeepBatch])
def test_blames_the_text_for_a_depth_that_an_empty_answer_does_not_reach(grader):
    score = grade(grader, make_trajectory("x" * 5000))
    assert (score.status, score.value) == ("graded", 0.0)


def test_fails_a_group_that_goes_too_deep():
    score = grade(DeepGroup, make_trajectory("x" * 5000))
    assert (score.status, score.fault) == ("failed", "grader")


def test_refuses_what_the_card_does_not_read():
    class Peeks(Grader):
        def grade(self, trajectory):
            return trajectory.metadata == {}

    score = grade(Peeks, REPLY)
    assert score.fault == "grader"
    assert "`metadata`, which its card does not list" in score.reason


def test_shows_the_keys_of_the_card():
    class Needs(BaseModel):
        words: int

    class Count(Grader):
        def grade(self, trajectory):
            wanted = Needs.model_validate(trajectory.task.checks["count"]).words
            return len(trajectory.final_text.split()) == wanted

    card = GraderCard(name="test/count", grader=Count, checks={"count": Needs})
    assert grade(card, make_trajectory("a b", checks={"count": {"words": 2}})).value == 1.0


def test_gives_resources_by_parameter():
    assert grade(Asks, REPLY, judge=fake_judge(["yes"])).value == 1.0
    assert grade(Runs, REPLY, sandbox=fake_sandbox("ok")).value == 1.0


def test_stands_in_for_workers():
    assert grade(Calls, REPLY).value == 1.0


def test_grades_inside_a_running_loop():
    async def inside():
        return grade(Asks, REPLY, judge=fake_judge(["yes"]))

    assert asyncio.run(inside()).value == 1.0


def test_grades_a_batch_and_a_group_of_one():
    assert grade(Doubled, REPLY).value == 0.5
    assert grade(Ranked, REPLY).value == 1.0


def test_opens_and_closes_the_grader():
    seen = []

    class Opened(Grader):
        _ready: bool = PrivateAttr(default=False)

        def open(self):
            self._ready = True
            seen.append("open")

        def close(self):
            seen.append("close")

        def grade(self, trajectory):
            return self._ready

    assert grade(Opened, REPLY).value == 1.0
    assert seen == ["open", "close"]


def test_refuses_step_values_of_steps_that_do_not_exist():
    class Past(Grader):
        def grade(self, trajectory):
            return Score.of(1.0, step_values=[StepValue(1, 1.0)])

    assert grade(Past, REPLY).fault == "grader"


@pytest.mark.parametrize(
    ("resources", "said"),
    [
        ({}, "asks for a judge as `judge`"),
        ({"judge": fake_sandbox()}, "not a FakeSandbox"),
        ({"judge": fake_judge([]), "other": fake_judge([])}, "has no resource `other`"),
    ],
)
def test_refuses_the_wrong_resources(resources, said):
    with pytest.raises(UsageError, match=said):
        grade(Asks, REPLY, **resources)


def test_refuses_wrong_options():
    with pytest.raises(RecordError, match="Did you mean `limit`"):
        grade(Words, REPLY, options={"limits": 4})


def test_refuses_options_for_a_made_grader():
    with pytest.raises(UsageError, match="give its class"):
        grade(Words(), REPLY, options={"limit": 4})


def test_refuses_a_broken_trajectory():
    with pytest.raises(UsageError, match="never graded"):
        grade(Words, make_trajectory(status="broken", fault="task", reason="gone"))


class Panel(Grader):
    async def grade(self, trajectory, judges: Mapping[str, Judge]):
        return Score.of(1, ",".join([(await judge.ask([])).text for judge in judges.values()]))


def test_gives_several_resources_as_a_mapping():
    judges = {"one": fake_judge(["yes"]), "other": fake_judge(["no"])}
    assert grade(Panel(), REPLY, judges=judges).reason == "yes,no"


def test_refuses_one_resource_where_several_are_asked_for():
    with pytest.raises(UsageError, match="asks for several as `judges`: give a mapping of judges"):
        grade(Panel(), REPLY, judges=fake_judge(["yes"]))

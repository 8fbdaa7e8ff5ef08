"""Trajectory: one attempt, and how it ended."""

import pickle

import pytest
from pydantic import ValidationError

from rewardhub.errors import RecordError
from rewardhub.records import Step, Trajectory
from rewardhub.testing import make_task, make_trajectory

TASK = make_task("x")


def test_equal_attempts_are_two_trajectories():
    assert make_trajectory("a", task=TASK).id != make_trajectory("a", task=TASK).id


def test_belongs_to_the_group_of_its_task():
    assert make_trajectory("a", task=TASK).group == TASK.id
    assert make_trajectory("a", task=TASK, group="mine").group == "mine"


def test_stays_the_same_attempt_when_replaced():
    attempt = make_trajectory("a", task=TASK)
    changed = attempt.replace(reason="because")
    assert (changed.id, changed.group) == (attempt.id, attempt.group)


def test_gives_its_last_text_and_all_its_calls():
    call = {"name": "search", "arguments": "{}"}
    attempt = make_trajectory([{"text": "a", "tool_calls": [call]}, {"tool_calls": [call]}, "c"])
    assert attempt.final_text == "c"
    assert [each.name for each in attempt.tool_calls] == ["search", "search"]


@pytest.mark.parametrize("status", ["completed", "truncated"])
def test_refuses_an_attempt_without_steps(status):
    with pytest.raises(ValidationError, match="has at least one step"):
        Trajectory(task=TASK, status=status)


@pytest.mark.parametrize("status", ["completed", "truncated"])
def test_refuses_a_fault_of_an_attempt_that_is_not_broken(status):
    with pytest.raises(ValidationError, match="only a broken trajectory has a fault"):
        Trajectory(task=TASK, steps=(Step(),), status=status, fault="task")


@pytest.mark.parametrize(
    "fields", [{}, {"fault": "task"}, {"reason": "gone"}], ids=["neither", "fault", "reason"]
)
def test_refuses_a_broken_attempt_without_fault_and_reason(fields):
    with pytest.raises(ValidationError, match="says its fault and its reason"):
        Trajectory(task=TASK, status="broken", **fields)


def test_a_broken_attempt_may_have_no_step():
    attempt = make_trajectory(status="broken", fault="infrastructure", reason="gone")
    assert attempt.final_text == ""


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "failed"},
        {"group_size": 0},
        {"seconds": -1},
        {"cost": float("nan")},
        {"nothing": 1},
        {"schema_version": 2},
    ],
)
def test_refuses_what_cannot_be(fields):
    with pytest.raises(RecordError):
        make_trajectory("a", **fields)


def test_survives_pickling():
    attempt = make_trajectory("a", artifacts={"a": [1]}, metadata={"b": None})
    assert pickle.loads(pickle.dumps(attempt)) == attempt

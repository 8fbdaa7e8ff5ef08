"""Tasks and trajectories for tests."""

import pytest

from rewardhub.errors import RecordError, UsageError
from rewardhub.records import Step
from rewardhub.testing import make_task, make_trajectory


def test_makes_one_step_of_a_text():
    trajectory = make_trajectory("four", prompt="2 + 2 = ?", reference="4")
    assert [step.text for step in trajectory.steps] == ["four"]
    assert (trajectory.task.prompt, trajectory.task.reference) == ("2 + 2 = ?", "4")


def test_makes_a_step_of_each_list_entry():
    trajectory = make_trajectory(["a", {"text": "b", "reasoning": "because"}, Step(text="c")])
    assert [step.text for step in trajectory.steps] == ["a", "b", "c"]
    assert trajectory.steps[1].reasoning == "because"


def test_puts_each_field_where_it_belongs():
    trajectory = make_trajectory(
        "x", checks={"code": {"tests": []}}, domain="code", status="truncated", tokens=7
    )
    assert (trajectory.task.domain, trajectory.status, trajectory.tokens) == (
        "code",
        "truncated",
        7,
    )
    assert trajectory.task.checks == {"code": {"tests": ()}}


def test_gives_metadata_to_the_trajectory():
    trajectory = make_trajectory("x", metadata={"seen": True})
    assert trajectory.metadata == {"seen": True}
    assert trajectory.task.metadata == {}


def test_puts_the_prompt_after_the_messages():
    task = make_task("Now!", messages=[{"role": "system", "content": "Be brief."}])
    assert [message.role for message in task.messages] == ["system", "user"]


@pytest.mark.parametrize(
    ("arguments", "raw", "parsed"),
    [
        ({"a": [1]}, '{"a": [1]}', {"a": (1,)}),
        ('{"a": 1}', '{"a": 1}', {"a": 1}),
        ("{broken", "{broken", None),
    ],
)
def test_fills_both_forms_of_arguments(arguments, raw, parsed):
    step = {"tool_calls": [{"name": "search", "arguments": arguments}]}
    (call,) = make_trajectory([step]).tool_calls
    assert (call.arguments, call.parsed) == (raw, parsed)


def test_makes_a_broken_trajectory_without_steps():
    trajectory = make_trajectory(status="broken", fault="infrastructure", reason="gone")
    assert trajectory.steps == ()


def test_refuses_a_misspelt_field():
    with pytest.raises(RecordError, match="Did you mean `reference`"):
        make_task("x", refrence="4")


def test_refuses_a_task_beside_fields_of_a_task():
    with pytest.raises(UsageError, match="`reference`, `prompt`"):
        make_trajectory("x", task=make_task("a"), reference="4", prompt="b")


def test_refuses_steps_beside_a_reply():
    with pytest.raises(RecordError, match="`steps` follows"):
        make_trajectory("x", steps=[])

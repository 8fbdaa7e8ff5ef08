"""Task, Message, Step and what they hold."""

import pickle

import pytest
from pydantic import ValidationError

from rewardhub.records import Message, Observation, PolicyInfo, Step, Task, ToolCall, read_task
from rewardhub.testing import make_task


@pytest.mark.parametrize(
    "record", [Task, Message, ToolCall, Observation, Step, PolicyInfo], ids=lambda kind: kind.kind
)
def test_refuses_an_unknown_field(record):
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        record(role="user", name="x", nothing=1)


def test_takes_its_id_from_messages_and_reference():
    task = make_task("2 + 2 = ?", reference="4")
    assert task.id == make_task("2 + 2 = ?", reference="4", split="test").id
    assert task.id != make_task("2 + 2 = ?", reference="5").id
    assert task.id != make_task("2 + 3 = ?", reference="4").id


def test_tells_tool_messages_apart_in_its_id():
    call = {"role": "assistant", "tool_calls": [{"name": "search"}]}
    other = {"role": "assistant", "tool_calls": [{"name": "delete"}]}
    assert make_task(messages=[call]).id != make_task(messages=[other]).id


def test_its_id_ignores_the_order_of_fields():
    one = make_task("x", reference={"a": 1, "b": [{"c": 2, "d": 3}]})
    other = make_task("x", reference={"b": [{"d": 3, "c": 2}], "a": 1})
    assert one.id == other.id


def test_keeps_an_id_that_is_given():
    assert make_task("x", id="mine").id == "mine"
    assert make_task("x", id="mine").replace(reference="4").id == "mine"


def test_follows_its_content_where_no_id_is_given():
    changed = make_task("x").replace(reference="4")
    assert changed.id == make_task("x", reference="4").id


def test_digests_everything_in_it():
    task = make_task("x", reference="4", checks={"a": 1, "b": 2})
    assert task.digest == make_task("x", checks={"b": 2, "a": 1}, reference="4").digest
    for change in ({"split": "test"}, {"checks": {"a": 1}}, {"metadata": {"a": None}}):
        assert task.replace(**change).digest != task.digest


def test_gives_the_same_digest_after_a_round_trip():
    task = make_task("x", checks={"a": [1, None, {"b": 2.5}]}, tools=[{"name": "t"}])
    assert read_task(task.to_json()).digest == task.digest


@pytest.mark.parametrize(
    ("roles", "prompt"),
    [
        (("system", "user", "assistant", "user"), "3"),
        (("system", "user", "assistant"), "1"),
        (("system", "developer"), "1"),
        ((), ""),
    ],
)
def test_prompt_is_the_last_user_message(roles, prompt):
    messages = [{"role": role, "content": str(number)} for number, role in enumerate(roles)]
    assert make_task(messages=messages).prompt == prompt


def test_joins_the_text_parts_of_a_message():
    content = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    assert make_task(messages=[{"role": "user", "content": content}]).prompt == "ab"


def test_shows_a_policy_neither_reference_nor_checks_nor_metadata():
    task = make_task(
        "x",
        domain="code",
        reference="secret",
        checks={"code": "secret"},
        metadata={"note": "secret"},
        tools=[{"name": "t"}],
        files={"a.txt": "shown"},
        environment={"use": "shell"},
        split="train",
    )
    shown = task.for_policy()
    assert b"secret" not in shown.to_json()
    assert (shown.reference, shown.checks, shown.metadata) == (None, {}, {})
    for name in ("id", "domain", "messages", "tools", "files", "environment", "split"):
        assert getattr(shown, name) == getattr(task, name)


def test_keeps_containers_read_only():
    task = make_task("x", checks={"a": {"b": [1, 2]}}, tools=[{"name": "t"}], files={"a": "b"})
    assert type(task.messages) is tuple
    assert type(task.tools) is tuple
    assert task.checks["a"]["b"] == (1, 2)
    for mapping in (task.checks, task.checks["a"], task.tools[0], task.files):
        with pytest.raises(TypeError, match="read-only"):
            mapping["new"] = 1


def test_refuses_a_file_that_is_no_text():
    with pytest.raises(ValidationError, match=r"the content of file `a.bin` must be text"):
        Task(files={"a.bin": 1})


@pytest.mark.parametrize("field", ["seconds", "cost", "tokens"])
@pytest.mark.parametrize("value", [-1, float("nan"), float("inf")])
def test_refuses_an_impossible_measure(field, value):
    with pytest.raises(ValidationError):
        Step(**{field: value})


def test_survives_pickling():
    task = make_task("x", checks={"a": {"b": [None]}})
    assert pickle.loads(pickle.dumps(task)) == task


def test_can_be_a_key():
    assert len({make_task("x", checks={"a": 1}), make_task("x", checks={"a": 1})}) == 1

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardhub.builtin.formats.readers import ChatReader, CompletionReader, NativeReader
from rewardhub.contracts import RawRow, Reader, ReadOptions
from rewardhub.errors import RowError, UsageError
from rewardhub.records import (
    Message,
    Observation,
    PolicyInfo,
    Step,
    Task,
    ToolCall,
    Trajectory,
)
from rewardhub.text import TemplateFacts

USER = {"role": "user", "content": "1+1?"}
ANSWER = {"role": "assistant", "content": "2"}


def parse(
    reader: type[Reader], row: dict[str, Any], facts: TemplateFacts | None = None, **mapping: str
) -> Trajectory:
    pairs = {name.replace("__", "."): column for name, column in mapping.items()}
    options = ReadOptions(mapping=pairs, source="rows.jsonl", facts=facts or TemplateFacts())
    return reader().parse(RawRow(7, json.dumps(row).encode()), options)


def test_reads_a_chat() -> None:
    trajectory = parse(ChatReader, {"id": "a", "messages": [USER, ANSWER], "reference": "2"})
    task = Task(messages=(Message(role="user", content="1+1?"),), reference="2")
    assert trajectory == Trajectory(id="a", task=task, steps=(Step(text="2"),))


def test_reads_a_prompt_and_a_completion() -> None:
    trajectory = parse(CompletionReader, {"prompt": "1+1?", "completion": "2", "reference": "2"})
    task = Task(messages=(Message(role="user", content="1+1?"),), reference="2")
    assert trajectory == Trajectory(id="rows.jsonl:7", task=task, steps=(Step(text="2"),))


def test_both_shapes_make_the_same_task() -> None:
    chat = parse(ChatReader, {"messages": [USER, ANSWER], "reference": "2"})
    pair = parse(CompletionReader, {"prompt": [USER], "completion": [ANSWER], "reference": "2"})
    assert chat == pair


def test_a_completion_may_take_several_steps() -> None:
    call = {"id": "x", "function": {"name": "add", "arguments": '{"a": 1}'}}
    result = {"role": "tool", "tool_call_id": "x", "content": "2"}
    acted = [{"role": "assistant", "tool_calls": [call]}, result, ANSWER]
    trajectory = parse(CompletionReader, {"prompt": "1+1?", "completion": acted})
    assert trajectory.steps == (
        Step(
            tool_calls=(ToolCall(id="x", name="add", arguments='{"a": 1}', parsed={"a": 1}),),
            observations=(Observation(call_id="x", content="2"),),
        ),
        Step(text="2"),
    )


def test_fills_every_field_by_its_name() -> None:
    row: dict[str, Any] = {
        "id": 1, "task_id": 2, "group": 3, "group_size": 4, "domain": "math", "split": "test",
        "tools": [{"name": "add"}], "checks": {"code": {}}, "files": {"a.py": ""},
        "environment": {"use": "shell"}, "task_metadata": {"level": 1}, "status": "truncated",
        "policy": "m-7b", "artifacts": {"patch": "-"}, "seconds": 1.5, "tokens": 9, "cost": 0.25,
        "metadata": {"seed": 0}, "reason": "cut", "prompt": "1+1?", "completion": "2",
    }  # fmt: skip
    assert parse(CompletionReader, row) == Trajectory(
        id="1",
        task=Task(
            id="2",
            domain="math",
            messages=(Message(role="user", content="1+1?"),),
            tools=({"name": "add"},),
            checks={"code": {}},
            files={"a.py": ""},
            environment={"use": "shell"},
            split="test",
            metadata={"level": 1},
        ),
        group="3",
        group_size=4,
        steps=(Step(text="2"),),
        status="truncated",
        reason="cut",
        artifacts={"patch": "-"},
        policy=PolicyInfo(name="m-7b"),
        seconds=1.5,
        tokens=9,
        cost=0.25,
        metadata={"seed": 0},
    )


def test_reads_structures_that_are_stored_as_text() -> None:
    row = {
        "messages": json.dumps([USER, ANSWER]),
        "tools": '[{"name": "add"}]',
        "checks": '{"code": {"tests": []}}',
    }
    trajectory = parse(ChatReader, row)
    assert trajectory.final_text == "2"
    assert trajectory.task.tools == ({"name": "add"},)
    assert trajectory.task.checks == {"code": {"tests": ()}}


def test_a_completion_that_looks_like_json_stays_text() -> None:
    assert parse(CompletionReader, {"completion": '["a"]'}).final_text == '["a"]'


IMAGE = {"type": "image_url", "image_url": {"url": "u"}}
SEEN = {"role": "tool", "tool_call_id": "a", "content": [IMAGE]}


@pytest.mark.parametrize(
    ("reader", "row"),
    [
        (ChatReader, {"messages": [USER, ANSWER, SEEN, ANSWER]}),
        (CompletionReader, {"completion": [ANSWER, SEEN, ANSWER]}),
    ],
)
def test_keeps_images_of_answers_and_results(reader: type[Reader], row: dict[str, Any]) -> None:
    trajectory = parse(reader, row)
    assert trajectory.metadata["media"] == (None, (IMAGE,), None)
    assert trajectory.steps[0].observations[0].content == ""


def test_keeps_other_columns_in_the_metadata() -> None:
    row = {"completion": "2", "level": 3, "source": {"url": "x"}, "empty": None}
    assert parse(CompletionReader, row).metadata == {"level": 3, "source": {"url": "x"}}


def test_the_metadata_column_wins_over_another_column() -> None:
    row = {"completion": "2", "level": 3, "metadata": {"level": "hard"}}
    assert parse(CompletionReader, row).metadata == {"level": "hard"}


def test_maps_columns_of_any_name() -> None:
    row = {"q": "1+1?", "out": {"text": "2"}, "truth": "2", "tests": ["t"], "uid": "u"}
    trajectory = parse(
        CompletionReader, row, prompt="q", completion="out.text", reference="truth", id="uid",
        checks__code="tests",
    )  # fmt: skip
    assert trajectory.id == "u"
    assert trajectory.task.prompt == "1+1?"
    assert trajectory.task.reference == "2"
    assert trajectory.task.checks == {"code": ("t",)}
    assert trajectory.final_text == "2"


def test_ids_default_to_the_place_of_the_row() -> None:
    assert parse(ChatReader, {"messages": [USER, ANSWER], "id": ""}).id == "rows.jsonl:7"
    assert parse(ChatReader, {"messages": [USER, ANSWER], "id": None}).id == "rows.jsonl:7"


def test_rows_without_a_question_are_tasks_of_their_own() -> None:
    row = {"completion": "2", "reference": "2"}
    assert parse(CompletionReader, row).task.id == "rows.jsonl:7"
    assert parse(CompletionReader, row | {"task_id": "t"}).task.id == "t"
    assert parse(ChatReader, {"messages": [ANSWER]}).group == "rows.jsonl:7"


def test_an_empty_answer_is_a_step() -> None:
    assert parse(CompletionReader, {"prompt": "1+1?", "completion": ""}).steps == (Step(),)
    silent = {"role": "assistant", "content": None}
    assert parse(ChatReader, {"messages": [USER, silent]}).steps == (Step(),)


def test_no_attempt_is_an_error_unless_the_row_says_how_it_ended() -> None:
    with pytest.raises(RowError, match="no assistant message"):
        parse(ChatReader, {"messages": [USER]})
    assert parse(ChatReader, {"messages": [USER], "status": "truncated"}).steps == (Step(),)
    broken = {"status": "broken", "fault": "infrastructure", "reason": "the node is gone"}
    assert parse(ChatReader, {"messages": [USER], **broken}).steps == ()
    assert parse(CompletionReader, {"prompt": "1+1?", **broken}).steps == ()


def test_an_answer_that_is_cut_off_is_truncated_unless_the_row_says_other() -> None:
    row = {"prompt": "1+1?", "completion": "<think>Well"}
    assert parse(CompletionReader, row).status == "truncated"
    assert parse(CompletionReader, row | {"status": "completed"}).status == "completed"
    facts = TemplateFacts(end_tokens=("<|end|>",))
    assert parse(CompletionReader, {"completion": "2<|end|>"}, facts).status == "completed"
    assert parse(CompletionReader, {"completion": "2"}, facts).status == "truncated"


@pytest.mark.parametrize(
    ("reader", "row", "reason"),
    [
        (ChatReader, {"prompt": "1+1?"}, "`messages` is missing"),
        (ChatReader, {"messages": []}, "no assistant message"),
        (ChatReader, {"messages": "no json"}, "`messages` is text, and no JSON"),
        (ChatReader, {"messages": 3}, "`messages` is a number"),
        (CompletionReader, {"prompt": "1+1?"}, "`completion` is missing"),
        (CompletionReader, {"completion": None}, "`completion` is missing"),
        (CompletionReader, {"completion": [USER]}, "begins with an assistant message, not a user"),
        (CompletionReader, {"completion": "2", "id": 1.5}, "`id` is a text or a whole number"),
        (CompletionReader, {"completion": "2", "id": True}, "`id` is a text or a whole number"),
        (CompletionReader, {"completion": "2", "checks": [1]}, "`checks` is an object, not an arr"),
        (CompletionReader, {"completion": "2", "tools": "{"}, "`tools` is text, and no JSON"),
        (CompletionReader, {"completion": "2", "tokens": "many"}, "`tokens`: Input should be"),
        (CompletionReader, {"completion": "2", "seconds": -1}, "`seconds`: Input should be"),
        (CompletionReader, {"completion": "2", "status": "done"}, "`status`: Input should be"),
        (CompletionReader, {"completion": "2", "domain": 5}, "`task.domain`: Input should be"),
        (CompletionReader, {"completion": "2", "status": "broken"}, "its fault and its reason"),
        (NativeReader, {"steps": [{"text": "2"}]}, "`task` is missing"),
        (NativeReader, {"task": {}, "steps": [], "stepz": 1}, "Did you mean `steps`"),
        (NativeReader, {"task": {}, "schema_version": 9}, "upgrade rewardhub-core"),
    ],
)  # fmt: skip
def test_says_what_is_wrong_with_a_row(
    reader: type[Reader], row: dict[str, Any], reason: str
) -> None:
    with pytest.raises(RowError, match=reason):
        parse(reader, row)


@pytest.mark.parametrize("reader", [NativeReader, ChatReader, CompletionReader])
@pytest.mark.parametrize(
    "row",
    [RawRow(1, b'{"id": '), RawRow(1, b'"\xff"'), RawRow(1, b"[]"), RawRow(1, b"", "too long")],
)
def test_every_reader_refuses_a_row_that_is_no_object(reader: type[Reader], row: RawRow) -> None:
    with pytest.raises(RowError):
        reader().parse(row, ReadOptions())


def test_native_records_have_fixed_names() -> None:
    with pytest.raises(UsageError, match="leave out `--map`"):
        NativeReader().check(ReadOptions(mapping={"reference": "answer"}))


def test_checks_the_mapping_before_the_first_row() -> None:
    with pytest.raises(UsageError, match="chat rows have no `prompt`"):
        ChatReader().check(ReadOptions(mapping={"prompt": "question"}))


def test_native_records_without_an_id_get_the_place_of_the_row() -> None:
    row = {"task": {"messages": [USER]}, "steps": [{"text": "2"}]}
    assert parse(NativeReader, row).id == "rows.jsonl:7"
    assert parse(NativeReader, row | {"id": ""}).id == "rows.jsonl:7"
    assert parse(NativeReader, row | {"id": "a"}).id == "a"


def test_reading_goes_on_past_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"completion": "a"}\nbroken\n\n{"completion": "b"}\n')
    good, bad, last = CompletionReader().read(path, ReadOptions(source="rows.jsonl"))
    assert isinstance(bad, RowError)
    assert isinstance(good, Trajectory)
    assert isinstance(last, Trajectory)
    assert (good.id, last.id) == ("rows.jsonl:1", "rows.jsonl:4")


texts = st.text(max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
objects = st.dictionaries(texts, json_values, max_size=3)
calls = st.builds(ToolCall, id=texts, name=texts, arguments=texts, parsed=json_values)
observations = st.builds(
    Observation,
    call_id=texts,
    content=texts,
    error=st.none() | texts,
    exit_code=st.none() | st.just(1),
)
steps = st.builds(
    Step,
    text=texts,
    reasoning=st.none() | texts,
    tool_calls=st.lists(calls, max_size=2),
    observations=st.lists(observations, max_size=2),
    seconds=st.none() | st.floats(0, 1e6),
    tokens=st.none() | st.integers(0, 2**40),
    state=json_values,
)
messages = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    content=texts | st.lists(objects, max_size=2),
)
tasks = st.builds(
    Task,
    domain=texts,
    messages=st.lists(messages, max_size=3),
    tools=st.lists(objects, max_size=2),
    reference=json_values,
    checks=objects,
    files=st.dictionaries(texts, texts, max_size=2),
    environment=st.none() | objects,
    metadata=objects,
)
trajectories = st.builds(
    Trajectory,
    id=st.text(min_size=1, max_size=8),
    task=tasks,
    group=texts,
    group_size=st.none() | st.integers(1, 64),
    steps=st.lists(steps, min_size=1, max_size=3),
    status=st.sampled_from(["completed", "truncated"]),
    artifacts=objects,
    policy=st.none() | st.builds(PolicyInfo, name=texts, version=texts),
    metadata=objects,
)


@given(trajectories)
@settings(max_examples=60, deadline=None)
def test_reading_what_was_written_gives_an_equal_trajectory(trajectory: Trajectory) -> None:
    assert NativeReader().parse(RawRow(1, trajectory.to_json()), ReadOptions()) == trajectory


@given(st.binary(max_size=60) | json_values.map(lambda value: json.dumps(value).encode()))
@settings(max_examples=100, deadline=None)
def test_any_bytes_are_a_trajectory_or_an_error_of_the_row(data: bytes) -> None:
    for reader in (NativeReader(), ChatReader(), CompletionReader()):
        with suppress(RowError):
            assert isinstance(reader.parse(RawRow(1, data), ReadOptions()), Trajectory)


columns = st.sampled_from(
    ["id", "messages", "prompt", "completion", "reference", "tools", "checks", "status", "x"]
)
chat_messages = st.lists(
    st.dictionaries(
        st.sampled_from(["role", "content", "tool_calls", "type", "call_id", "reasoning", "name"]),
        st.sampled_from(["user", "assistant", "tool", "function_call", "reasoning"])
        | json_values
        | st.lists(st.fixed_dictionaries({"function": objects}), max_size=2),
        max_size=4,
    ),
    max_size=4,
)


@given(st.dictionaries(columns, json_values | chat_messages, max_size=6))
@settings(max_examples=100, deadline=None)
def test_any_columns_are_a_trajectory_or_an_error_of_the_row(row: dict[str, Any]) -> None:
    for reader in (ChatReader, CompletionReader):
        with suppress(RowError):
            assert isinstance(parse(reader, row), Trajectory)

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.builtin.formats.messages import (
    as_messages,
    media_in,
    plain_chat,
    split_at_policy,
    steps_of,
    task_messages,
)
from rewardhub.errors import RowError
from rewardhub.text import DEFAULT_FACTS, TemplateFacts

Fields = dict[str, Any]


def steps(*messages: Fields) -> list[Fields]:
    return steps_of(messages, DEFAULT_FACTS)[0]


def said(**fields: Any) -> Fields:
    return {"role": "assistant", **fields}


def called(name: str, arguments: Any, call_id: str | None = "c1") -> Fields:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def test_a_text_is_one_message() -> None:
    assert as_messages("prompt", "Hi", "user") == [{"role": "user", "content": "Hi"}]


def test_a_message_is_a_list_of_one() -> None:
    assert as_messages("completion", said(content="Hi"), "assistant") == [said(content="Hi")]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (17, "`messages` is a number, neither a text nor a list of messages"),
        (["Hi"], "`messages[0]` is a text, not a message with role and content"),
        ([{"content": "Hi"}], "`messages[0].role` is None, not one of user, assistant"),
        ([said(content="Hi"), {"role": "robot"}], "`messages[1].role` is 'robot', not one of"),
        ([{"role": ["user"]}], "`messages[0].role` is ['user'], not one of"),
        ([None], "`messages[0]` is null, not a message"),
    ],
)
def test_says_which_element_is_no_message(value: Any, reason: str) -> None:
    with pytest.raises(RowError) as error:
        as_messages("messages", value, "user")
    assert reason in str(error.value)


def test_the_policy_begins_with_the_first_assistant_message() -> None:
    asked = [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
    acted = [said(content="A"), {"role": "user", "content": "V"}, said(content="B")]
    assert split_at_policy(asked + acted) == (asked, acted)
    assert split_at_policy(asked) == (asked, [])


def test_task_messages_keep_parts_names_and_calls_and_drop_other_keys() -> None:
    image = {"type": "image_url", "image_url": {"url": "x.png"}}
    messages = [
        {"role": "user", "content": [image], "name": "ann", "weight": 0},
        said(content=None, tool_calls=[called("add", "{}")]),
        {"role": "function", "name": "add", "content": "3"},
    ]
    assert task_messages(messages) == [
        {"role": "user", "content": [image], "name": "ann"},
        said(content="", tool_calls=[{"id": "c1", "name": "add", "arguments": "{}", "parsed": {}}]),
        {"role": "tool", "content": "3", "name": "add"},
    ]


def test_each_assistant_message_is_a_step_with_what_came_back() -> None:
    first, second = steps(
        said(
            content="Let me add.", tool_calls=[called("add", '{"a": 1}', "x"), called("b", "", "y")]
        ),
        {"role": "tool", "tool_call_id": "y", "content": "2"},
        {"role": "tool", "tool_call_id": "x", "content": [{"type": "text", "text": "1"}]},
        said(content="It is 3."),
    )
    assert first["text"] == "Let me add."
    assert [call["id"] for call in first["tool_calls"]] == ["x", "y"]
    assert first["observations"] == [
        {"call_id": "y", "content": "2"},
        {"call_id": "x", "content": "1"},
    ]
    assert second == {"text": "It is 3.", "reasoning": None}


def test_a_later_user_message_is_an_observation_without_a_call() -> None:
    (step,) = steps(said(content="Which one?"), {"role": "user", "content": "The red one."})
    assert step["observations"] == [{"call_id": "", "content": "The red one."}]


@pytest.mark.parametrize(
    ("arguments", "text", "parsed"),
    [
        ('{"a": [1]}', '{"a": [1]}', {"a": (1,)}),
        ('{"a": ', '{"a": ', None),
        ('{"a": NaN}', '{"a": NaN}', None),
        ('{"a": 1e999}', '{"a": 1e999}', None),
        ("", "", None),
        (None, "", None),
        ({"a": 1}, '{"a":1}', {"a": 1}),
        ("[" * 5000, "[" * 5000, None),
    ],
)
def test_arguments_are_kept_as_written_and_parsed_where_they_are_json(
    arguments: Any, text: str, parsed: Any
) -> None:
    (step,) = steps(said(tool_calls=[called("f", arguments)]))
    (call,) = step["tool_calls"]
    assert (call["arguments"], call["parsed"]) == (text, parsed)


def test_reads_calls_without_the_function_wrapper() -> None:
    (step,) = steps(said(tool_calls=[{"name": "f", "arguments": {}}]))
    assert step["tool_calls"] == [{"id": "", "name": "f", "arguments": "{}", "parsed": {}}]


def test_reads_the_older_function_call() -> None:
    (step,) = steps(
        said(content=None, function_call={"name": "f", "arguments": "{}"}),
        {"role": "function", "name": "f", "content": "done"},
    )
    assert step["tool_calls"] == [{"id": "", "name": "f", "arguments": "{}", "parsed": {}}]
    assert step["observations"] == [{"call_id": "", "content": "done"}]


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_keeps_the_reasoning_beside_the_content(key: str) -> None:
    assert steps(said(content="4", **{key: "2+2"})) == [{"text": "4", "reasoning": "2+2"}]


def test_splits_the_reasoning_off_the_content() -> None:
    assert steps(said(content="<think>2+2</think>4<|im_end|>")) == [
        {"text": "4", "reasoning": "2+2"}
    ]


def test_joins_the_text_parts_and_takes_thoughts_apart() -> None:
    parts = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "4 "},
        {"type": "output_text", "text": "apples"},
    ]
    assert steps(said(content=parts)) == [{"text": "4 apples", "reasoning": "hm"}]


def test_says_whether_the_last_step_is_cut_off() -> None:
    whole, cut = said(content="fine"), said(content="<think>never closed")
    assert steps_of([cut, whole], DEFAULT_FACTS)[1] is False
    assert steps_of([whole, cut], DEFAULT_FACTS)[1] is True
    assert steps_of([whole], TemplateFacts(end_tokens=("<|end|>",)))[1] is True


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (said(content=5), "neither a text nor a list of parts"),
        (said(content=[{"type": "tool_use", "id": "x"}]), "a part of type 'tool_use'"),
        (said(content=["Hi"]), "a part of type 'str'"),
        (said(reasoning={"a": 1}), "reasoning of an assistant message is not a text"),
        (said(tool_calls={"a": 1}), "`tool_calls` of a message is an object, not a list"),
        (said(tool_calls=[{"function": {"arguments": "{}"}}]), "a tool call has no function name"),
        (said(tool_calls=["f"]), "a tool call has no function name"),
    ],
)
def test_says_what_is_wrong_with_an_assistant_message(message: Fields, reason: str) -> None:
    with pytest.raises(RowError, match=reason):
        steps(message)


def test_a_refusal_is_the_text_of_its_step() -> None:
    assert steps(said(content=None, refusal="I cannot."))[0]["text"] == "I cannot."
    part = {"type": "refusal", "refusal": "I will not."}
    assert steps(said(content=[part]))[0]["text"] == "I will not."


def test_a_refusal_that_is_no_text_is_a_mistake() -> None:
    with pytest.raises(RowError, match="refusal of an assistant message is not a text"):
        steps(said(content=None, refusal=5))


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def test_reads_the_text_beside_images() -> None:
    seen = {"role": "tool", "tool_call_id": "x", "content": [IMAGE, {"type": "text", "text": "a"}]}
    (step,) = steps(said(content=[{"type": "text", "text": "look"}, IMAGE]), seen)
    assert (step["text"], step["observations"][0]["content"]) == ("look", "a")


def test_images_are_found_where_they_stand() -> None:
    text = {"type": "text", "text": "look"}
    messages = [said(content="hm"), said(content=[text, IMAGE]), said(content=[text])]
    assert media_in(messages) == [None, [None, IMAGE], None]
    assert media_in(messages[:1]) == []


def test_refuses_a_tool_result_that_is_no_text() -> None:
    with pytest.raises(RowError, match="content of a tool message is neither"):
        steps(said(content=""), {"role": "tool", "tool_call_id": "x", "content": {"a": 1}})


_TEXTS = st.sampled_from(["", "Hi", "  Hi\n", "<think>hm</think>Hi", "<think>hm", "Hi<|im_end|>"])
_MESSAGES = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "system", "developer", "tool"]),
        "content": _TEXTS | st.none() | st.just([{"type": "text", "text": "Hi"}]),
    },
    optional={"name": st.just("Ann")},
)


@given(st.lists(_MESSAGES, max_size=5), st.sampled_from([DEFAULT_FACTS, TemplateFacts()]))
def test_a_plain_chat_is_read_as_any_other(messages: list[Fields], facts: TemplateFacts) -> None:
    plain = plain_chat(messages, facts)
    everything = all(
        len(each) == 2 and each["role"] != "tool" and isinstance(each["content"], str)
        for each in messages
    )
    assert (plain is not None) == everything
    if plain is not None:
        asked, acted = split_at_policy(as_messages("messages", messages, "user"))
        assert plain == (task_messages(asked), *steps_of(acted, facts))
        assert media_in(acted) == []


@pytest.mark.parametrize("value", ["Hi", {"role": "user", "content": "Hi"}, [17], None])
def test_what_is_no_list_of_messages_is_no_plain_chat(value: Any) -> None:
    assert plain_chat(value, DEFAULT_FACTS) is None

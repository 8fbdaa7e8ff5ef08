"""Which call a result belongs to, and what is made of odd messages."""

from typing import Any

import pytest

from rewardhub.builtin.formats.foreign.node import Node, left_of
from rewardhub.builtin.formats.foreign.turns import Turns, add_message, tool_call
from rewardhub.errors import RowError
from rewardhub.text import DEFAULT_FACTS


def read(*messages: dict[str, Any]) -> Turns:
    turns = Turns(DEFAULT_FACTS)
    for message in messages:
        add_message(turns, Node(message, "m"))
    return turns


def calling(*ids: str) -> dict[str, Any]:
    calls = [{"id": each, "function": {"name": "look", "arguments": "{}"}} for each in ids]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def result(call_id: str | None, content: str = "seen") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def seen(turns: Turns) -> list[list[str]]:
    return [[each["call_id"] for each in step["observations"]] for step in turns.steps]


def test_a_result_joins_its_call_wherever_it_stands() -> None:
    turns = read(calling("a"), calling("b"), result("a"), result("b"))
    assert seen(turns) == [["a"], ["b"]]


def test_a_result_without_a_call_stays_on_the_step_before() -> None:
    turns = read(calling("a"), result("a"), calling("b"), result("z"))
    assert seen(turns) == [["a"], ["z"]]


def test_a_result_without_an_id_stays_on_the_step_before() -> None:
    assert seen(read(calling("a"), result(None))) == [[""]]


def test_a_call_without_a_result_has_none() -> None:
    assert seen(read(calling("a", "b"), result("b"))) == [["b"]]


def test_two_results_for_one_call_are_both_kept() -> None:
    assert seen(read(calling("a"), result("a"), result("a"))) == [["a", "a"]]


def test_a_result_before_every_turn_is_part_of_the_question() -> None:
    turns = read(result("a"), calling("b"))
    assert turns.asked == [{"role": "tool", "content": "seen", "tool_call_id": "a"}]
    assert seen(turns) == [[]]


def test_an_id_that_is_used_again_means_the_last_call() -> None:
    turns = read(calling("a"), result("a"), calling("a"), result("a"))
    assert seen(turns) == [["a"], ["a"]]


def test_arguments_that_are_no_json_are_kept_as_the_policy_wrote_them() -> None:
    assert tool_call("look", "{broken", "a") == {
        "id": "a",
        "name": "look",
        "arguments": "{broken",
        "parsed": None,
    }


def test_arguments_that_are_values_become_text() -> None:
    assert tool_call("look", {"at": 1})["arguments"] == '{"at":1}'


def test_calls_may_stand_there_as_json_texts() -> None:
    text = '{"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}'
    turns = read({"role": "assistant", "content": None, "tool_calls": [text]})
    assert turns.steps[0]["tool_calls"][0]["name"] == "look"


def test_the_older_function_call_is_a_call() -> None:
    message = {"role": "assistant", "function_call": {"name": "look", "arguments": "{}"}}
    assert read(message).steps[0]["tool_calls"][0]["name"] == "look"


def test_a_refusal_is_the_text_of_its_step() -> None:
    message = {"role": "assistant", "content": None, "refusal": "I cannot."}
    assert read(message).steps[0]["text"] == "I cannot."


def test_thinking_beside_and_inside_of_the_text_is_joined() -> None:
    message = {"role": "assistant", "content": "<think>b</think>c", "reasoning_content": "a"}
    step = read(message).steps[0]
    assert (step["text"], step["reasoning"]) == ("c", "a\n\nb")


def test_thinking_that_never_ends_cuts_the_attempt_off() -> None:
    assert read({"role": "assistant", "content": "<think>b"}).cut_off


def test_images_of_the_question_stay_in_its_message() -> None:
    parts = [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": "u"}}]
    assert read({"role": "user", "content": parts}).asked[0]["content"] == parts


def test_images_that_came_back_stay_where_they_were_in_the_row() -> None:
    image = {"type": "image_url", "image_url": {"url": "u"}}
    message = {
        "role": "tool",
        "tool_call_id": "a",
        "content": [{"type": "text", "text": "t"}, image],
    }
    turns = read(calling("a"), message)
    assert turns.steps[0]["observations"][0]["content"] == "t"
    assert left_of(message) == {"content": [None, image]}


def test_who_spoke_is_kept_where_an_observation_does_not_tell() -> None:
    system = {"role": "system", "content": "Memory was cut."}
    user = {"role": "user", "content": "Go on."}
    read(calling("a"), system, user)
    assert (left_of(system), left_of(user)) == ({"role": "system"}, None)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"role": "robot"}, "`m.role` is 'robot', not one of system"),
        ({"content": "x"}, "`m.role` is ''"),
        ({"role": "user", "content": 5}, "`m.content` is a number, not a list"),
        ({"role": "assistant", "content": 5}, "`m.content` is a number, not a text or a list"),
        ({"role": "assistant", "content": [5]}, r"`m.content\[0\]` is a number, not an object"),
        ({"role": "assistant", "tool_calls": [{}]}, r"`m.tool_calls\[0\]` is a tool call without"),
        ({"role": "assistant", "tool_calls": {}}, "`m.tool_calls` is an object, not a list"),
        ({"role": "assistant", "tool_calls": ["x"]}, r"`m.tool_calls\[0\]` is a text"),
    ],
)
def test_says_what_is_wrong_and_where(message: dict[str, Any], why: str) -> None:
    with pytest.raises(RowError, match=why):
        read(message)


def test_what_is_left_keeps_its_place_in_a_list() -> None:
    assert left_of([{}, {"a": {}}, {"b": 1}, []]) == [None, None, {"b": 1}, None]
    assert left_of({"a": [{}, {"b": None}], "c": ""}) == {"c": ""}

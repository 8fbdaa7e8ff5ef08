from typing import Any

import pytest

from rewardhub.builtin.formats.messages import as_messages, steps_of
from rewardhub.errors import RowError
from rewardhub.text import DEFAULT_FACTS

Fields = dict[str, Any]


def thinks(text: str) -> Fields:
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}


def says(text: str) -> Fields:
    parts: list[Fields] = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "id": "m", "content": parts}


def calls(call_id: str) -> Fields:
    item = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id}
    return item | {"name": "f", "arguments": "{}"}


def returns(call_id: str, output: str) -> Fields:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def steps(*items: Fields) -> list[Fields]:
    return steps_of(as_messages("completion", list(items), "assistant"), DEFAULT_FACTS)[0]


def test_a_turn_is_its_thought_its_words_and_its_calls() -> None:
    (step,) = steps(thinks("hm"), says("Let me see."), calls("a"), calls("b"))
    assert (step["reasoning"], step["text"]) == ("hm", "Let me see.")
    assert [call["id"] for call in step["tool_calls"]] == ["a", "b"]


def test_a_result_ends_the_turn() -> None:
    first, second = steps(calls("a"), calls("b"), returns("b", "2"), returns("a", "1"), says("3"))
    assert first["observations"] == [
        {"call_id": "b", "content": "2"},
        {"call_id": "a", "content": "1"},
    ]
    assert second["text"] == "3"


def test_a_new_thought_after_words_begins_a_new_turn() -> None:
    first, second = steps(says("one"), thinks("hm"), says("two"))
    assert (first["text"], second["text"], second["reasoning"]) == ("one", "two", "hm")


def test_thoughts_in_a_row_are_one_thought() -> None:
    (step,) = steps(thinks("one"), thinks("two"), says("3"))
    assert step["reasoning"] == "one\n\ntwo"


def test_users_speak_between_items() -> None:
    user = {"role": "user", "content": "Go on."}
    first, second = steps(calls("a"), user, says("Done."))
    assert first["observations"] == [{"call_id": "", "content": "Go on."}]
    assert second["text"] == "Done."


def test_refuses_an_item_of_another_type() -> None:
    items = [calls("a"), {"type": "web_search_call", "id": "w"}]
    with pytest.raises(RowError, match=r"completion\[1\].role` is None"):
        as_messages("completion", items, "assistant")

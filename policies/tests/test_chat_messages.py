import pytest
from rewardhub_policies.chat_messages import messages_of, text_of, tools_of

from rewardhub import Message, Observation, Step, Task, ToolCall

CALL = ToolCall(id="c1", name="add", arguments='{"a":  1}', parsed={"a": 1})
TASK = Task(messages=(Message(role="user", content="1 + 1?"),), tools=({"name": "add"},))


def test_gives_a_step_as_the_messages_of_its_speakers() -> None:
    step = Step(
        text="I add.",
        reasoning="Sum.",
        tool_calls=(CALL,),
        observations=(Observation(call_id="c1", content="2"), Observation(content="Go on.")),
    )
    assert messages_of(TASK, [step]) == [
        {"role": "user", "content": "1 + 1?"},
        {
            "role": "assistant",
            "content": "I add.",
            "reasoning_content": "Sum.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "add", "arguments": '{"a":  1}'},
                }
            ],
        },
        {"role": "tool", "content": "2", "tool_call_id": "c1", "name": "add"},
        {"role": "user", "content": "Go on."},
    ]


def test_gives_arguments_as_an_object_where_that_is_asked() -> None:
    said = messages_of(TASK, [Step(tool_calls=(CALL,))], arguments="object")[1]
    assert said["tool_calls"][0]["function"]["arguments"] == {"a": 1}


def test_leaves_arguments_that_are_no_json_as_they_are() -> None:
    broken = ToolCall(id="c1", name="add", arguments='{"a": ')
    said = messages_of(TASK, [Step(tool_calls=(broken,))], arguments="object")[1]
    assert said["tool_calls"][0]["function"]["arguments"] == '{"a": '


@pytest.mark.parametrize(
    ("observation", "text"),
    [
        (Observation(content="2"), "2"),
        (Observation(error="no such file"), "Error: no such file"),
        (Observation(content="half", error="killed", exit_code=137), "half\nError: killed"),
        (Observation(content="usage", exit_code=2), "usage\n[exit code 2]"),
        (Observation(content="", exit_code=0), ""),
    ],
)
def test_shows_what_came_back(observation: Observation, text: str) -> None:
    assert text_of(observation) == text


def test_wraps_a_bare_tool_and_leaves_a_wrapped_one() -> None:
    wrapped = {"type": "function", "function": {"name": "sub"}}
    task = TASK.replace(tools=({"name": "add"}, wrapped))
    assert tools_of(task) == [{"type": "function", "function": {"name": "add"}}, wrapped]

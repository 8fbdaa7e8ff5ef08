import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from rewardhub_policies.call_parsers import PARSERS
from rewardhub_policies.chat import ChatFormat, chat_of
from rewardhub_policies.chat_named import FORMATS
from rewardhub_policies.chat_words import fenced

from rewardhub import Message, Observation, Step, Task, ToolCall, UsageError, normalise

TOOL = {
    "name": "add",
    "description": "Adds.",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
}
TASK = Task(
    messages=(
        Message(role="system", content="Be brief."),
        Message(role="user", content="What is 1 + 1? ä"),
    ),
    tools=(TOOL,),
)
CALLS = (
    ToolCall(id="call00000", name="add", arguments='{"a": 1}', parsed={"a": 1}),
    ToolCall(id="call00001", name="add", arguments='{"a": 2}', parsed={"a": 2}),
)
RESULTS = (
    Observation(call_id="call00000", content="2"),
    Observation(call_id="call00001", content="3"),
)
STEPS = (Step(text="I add.", tool_calls=CALLS, observations=RESULTS), Step(text="It is 2."))
WITH_TOOLS = [name for name in FORMATS if name != "chatml"]
THINKING = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}"
    "{% if add_generation_prompt %}<assistant><think>\n{% endif %}"
)


def silent(*steps: Step) -> tuple[Step, ...]:
    return (*steps[:-1], steps[-1].replace(observations=()))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("generation_prompt", [True, False])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_renders_as_transformers_does(name: str, generation_prompt: bool, count: int) -> None:
    theirs = importlib.import_module("transformers.utils.chat_template_utils")
    chat = chat_of(name)
    messages, tools = chat.messages(TASK, STEPS[:count]), chat.tools(TASK)
    if name == "react":  # its tools stand in the messages
        plain = chat_of({"use": "react", "calls": "none"})
        messages, tools, chat = fenced(messages, tools), [], plain
    expected, _ = theirs.render_jinja_template(
        [messages],
        tools=tools or None,
        chat_template=chat.template,
        add_generation_prompt=generation_prompt,
        bos_token=chat.bos_token,
        eos_token=chat.eos_token,
    )
    assert chat.render(messages, tools, generation_prompt=generation_prompt) == expected[0]


@pytest.mark.parametrize("name", WITH_TOOLS)
def test_reads_back_the_calls_that_it_writes(name: str) -> None:
    chat = chat_of(name)
    messages, tools = chat.messages(TASK, silent(STEPS[0])), chat.tools(TASK)
    prompt = chat.render(messages[:-1], tools)
    written = chat.render(messages, tools, generation_prompt=False)
    assert written.startswith(prompt)
    turn = chat.parse(written[len(prompt) :], tools)
    assert turn.text == "I add."
    assert [(call.name, call.parsed) for call in turn.tool_calls] == [
        ("add", {"a": 1}),
        ("add", {"a": 2}),
    ]
    assert (turn.problems, turn.ended) == ((), True)


@pytest.mark.parametrize("name", WITH_TOOLS)
@pytest.mark.parametrize("ended", [True, False])
def test_adds_to_a_chat_what_rendering_it_anew_gives(name: str, ended: bool) -> None:
    chat = chat_of(name)
    tools = chat.tools(TASK)
    before, after = (chat.messages(TASK, steps) for steps in (silent(STEPS[0]), STEPS[:1]))
    prompt = chat.render(before[:-1], tools)
    whole = chat.render(before, tools, generation_prompt=False)
    delta = chat.delta(before, after, tools, ended=ended)
    end = next(token for token in chat.facts.end_tokens if whole.rstrip().endswith(token))
    said = whole[len(prompt) : whole.rindex(end) + (len(end) if ended else 0)]
    assert prompt + said + delta == chat.render(after, tools)


def test_adds_what_a_user_says() -> None:
    step = Step(text="Which?", observations=(Observation(content="The red one."),))
    chat = chat_of("hermes")
    delta = chat.delta(chat.messages(TASK, silent(step)), chat.messages(TASK, [step]))
    assert delta == "\n<|im_start|>user\nThe red one.<|im_end|>\n<|im_start|>assistant\n"


def test_refuses_a_template_that_drops_earlier_reasoning() -> None:
    template = (
        "{% set last = messages | selectattr('role', 'equalto', 'user') | list | last %}"
        "{% for m in messages %}<{{ m.role }}>"
        "{% if m.reasoning_content and messages.index(m) > messages.index(last) %}"
        "<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}<end>{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    chat = chat_of({"template": template, "end_tokens": ["<end>"]})
    thought = Step(
        text="Which?", reasoning="Red or blue.", observations=(Observation(content="Red."),)
    )
    with pytest.raises(
        UsageError, match=r"not prefix-stable: it drops earlier reasoning.*rerender"
    ):
        chat.delta(chat.messages(TASK, silent(thought)), chat.messages(TASK, [thought]))


def test_refuses_a_template_that_never_shows_reasoning() -> None:
    chat = chat_of(
        {"template": THINKING.replace("{{ m.content }}", "{{ m.content.split('</think>')[-1] }}")}
    )
    thought = Step(text="Two.", reasoning="Easy.", observations=(Observation(content="Sure?"),))
    with pytest.raises(UsageError, match="it drops the reasoning of the model's turns"):
        chat.delta(chat.messages(TASK, silent(thought)), chat.messages(TASK, [thought]))


def test_refuses_a_template_that_moves_its_tools() -> None:
    step = Step(text="Which?", observations=(Observation(content="Red."),))
    chat = chat_of("mistral")
    with pytest.raises(UsageError, match="not prefix-stable: it writes earlier messages"):
        chat.delta(chat.messages(TASK, silent(step)), chat.messages(TASK, [step]), chat.tools(TASK))


def test_refuses_a_template_whose_prompt_opens_reasoning_that_the_turn_lacks() -> None:
    chat = chat_of({"template": THINKING, "end_tokens": ["<end>"]})
    step = Step(text="Two.", observations=(Observation(content="Sure?"),))
    with pytest.raises(UsageError, match="does not begin with what its prompt ended with"):
        chat.delta(chat.messages(TASK, silent(step)), chat.messages(TASK, [step]))


def test_puts_reasoning_into_the_text_where_the_template_takes_it_from_there() -> None:
    chat = chat_of({"template": THINKING, "end_tokens": ["<end>"]})
    assert chat.habits.reasoning == "content"
    step = Step(text="Two.", reasoning="Easy.", observations=(Observation(content="Sure?"),))
    rendered = chat.render(chat.messages(TASK, [step]))
    assert "<assistant><think>\nEasy.\n</think>\n\nTwo.<end>" in rendered
    delta = chat.delta(chat.messages(TASK, silent(step)), chat.messages(TASK, [step]))
    assert delta == "<user>Sure?<end><assistant><think>\n"


def test_gives_arguments_as_text_to_a_template_that_joins_texts() -> None:
    template = (
        "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}"
        "{{ 'call ' + c.function.name + c.function.arguments }}{% endfor %}{% endfor %}"
    )
    chat = chat_of({"template": template})
    assert chat.habits.arguments == "text"
    assert 'call add{"a": 1}' in chat.render(chat.messages(TASK, STEPS))


def test_says_that_the_template_opens_reasoning() -> None:
    chat = chat_of({"template": THINKING, "end_tokens": ["<end>"]})
    assert chat.facts.opens_reasoning
    turn = chat.parse("Easy.\n</think>\n\nTwo.<end>")
    assert (turn.text, turn.reasoning) == ("Two.", "Easy.")


def test_gives_facts_that_leave_calls_in_the_text() -> None:
    chat = chat_of("mistral")
    assert "</s>" in chat.facts.end_tokens
    raw = '[TOOL_CALLS] [{"name": "f", "arguments": {}}]</s>'
    assert normalise(raw, chat.facts).text == raw.removesuffix("</s>")


@pytest.mark.parametrize("name", FORMATS)
def test_describes_itself_so_that_it_can_be_made_again(name: str) -> None:
    chat = chat_of(name)
    assert ChatFormat.of(json.loads(json.dumps(chat.described))) == chat


def test_makes_a_format_once_for_equal_descriptions() -> None:
    task = Task(environment={"chat": {"use": "hermes", "variables": {"a": [1]}}})
    described = (task.environment or {})["chat"]
    assert chat_of(described) is chat_of({"variables": {"a": [1]}, "use": "hermes"})


def test_reads_a_template_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "chat.jinja"
    path.write_text("{{ messages[0].content }}!")
    chat = chat_of({"template": str(path), "calls": "hermes"})
    assert (chat.template, chat.calls) == ("{{ messages[0].content }}!", "hermes")


@pytest.mark.parametrize(
    ("description", "told"),
    [
        ("hermess", "No chat format is called `hermess`. Did you mean `hermes`"),
        ({"use": "hermes", "calls": "hermess"}, "Did you mean `hermes`"),
        (
            {"use": "hermes", "end_token": []},
            "`end_token` is not a field here. Did you mean `end_tokens`",
        ),
        ({"calls": "hermes"}, "`template` is missing"),
        ({"template": "no/such.jinja"}, "neither Jinja2 source nor a file"),
        ({"template": "{% if %}"}, "mistake on line 1"),
        ({"use": "hermes", "reasoning_tags": ["<t>", "<t>"]}, "cannot both open and close"),
    ],
)
def test_names_what_is_wrong_with_a_description(description: Any, told: str) -> None:
    with pytest.raises(UsageError) as raised:
        chat_of(description)
    assert told in str(raised.value)


def test_tells_tools_in_words_where_the_template_shows_none() -> None:
    chat = chat_of("react")
    rendered = chat.render(chat.messages(TASK), chat.tools(TASK))
    assert json.dumps(TOOL) in rendered
    assert rendered.count("<|im_start|>system") == 1
    assert not chat_of("chatml").habits.shows_tools


@pytest.mark.parametrize("calls", [name for name in PARSERS if name != "none"])
def test_tells_how_to_call_in_the_way_that_it_reads(calls: str) -> None:
    chat = chat_of({"use": "chatml", "calls": calls})
    told = chat.render(chat.messages(TASK), chat.tools(TASK))
    example = PARSERS[calls].example
    assert example in told
    turn = chat.parse(example)
    assert [call.name for call in turn.tool_calls] == ["the name of the tool"]
    assert [call.parsed for call in turn.tool_calls] == [{"key": "value"}]
    assert turn.problems == ()


def test_finds_the_end_token_that_the_template_writes() -> None:
    template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    chat = chat_of({"template": template, "eos_token": "<|endoftext|>"})
    assert chat.facts.end_tokens == ("<|endoftext|>", "<|im_end|>")
    turn = chat.parse("Two.<|im_end|>")
    assert (turn.text, turn.ended) == ("Two.", True)


def test_takes_a_marker_of_calls_off_text_only_where_it_is_a_special_token() -> None:
    assert chat_of("hermes").parse("<think>A <tool_call>?</think>No.").reasoning == "A <tool_call>?"
    special = {"use": "hermes", "special_tokens": ["<|im_end|>", "<tool_call>"]}
    assert chat_of(special).parse("<think>A <tool_call>?</think>No.").reasoning == "A ?"
    assert "<tool_call>" not in chat_of(special).facts.special_tokens

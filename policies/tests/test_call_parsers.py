from typing import Any

import pytest
from rewardhub_policies.call_parsers import PARSERS
from rewardhub_policies.chat_parsing import ParsedTurn, parse_turn

from rewardhub import TemplateFacts

FACTS = TemplateFacts(special_tokens=("<|im_end|>", "</s>"), end_tokens=("<|im_end|>",))
BEGIN_ALL, BEGIN, SEP, END, END_ALL = (
    f"<\uff5ctool\u2581{name}\uff5c>"
    for name in (
        "calls\u2581begin", "call\u2581begin", "sep", "call\u2581end", "calls\u2581end",
    )
)  # fmt: skip
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "edit",
            "parameters": {
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "line": {"type": "integer"},
                    "tags": {"type": "array"},
                    "note": {"type": ["string", "null"]},
                },
            },
        },
    }
]


def parse(calls: str, raw: str, tools: Any = ()) -> ParsedTurn:
    return parse_turn(raw, parser=PARSERS[calls], facts=FACTS, tools=tools)


def listed(turn: ParsedTurn) -> list[tuple[str, Any]]:
    return [(call.name, call.parsed) for call in turn.tool_calls]


ONE = [("add", {"a": 1, "b": {"c": "x}"}})]
RAW = '{"a": 1, "b": {"c": "x}"}}'
WRITTEN = {
    "hermes": f'<tool_call>\n{{"name": "add", "arguments": {RAW}}}\n</tool_call>',
    "llama3": f'<|python_tag|>{{"name": "add", "parameters": {RAW}}}',
    "mistral": f'[TOOL_CALLS] [{{"name": "add", "arguments": {RAW}, "id": "abcdefghi"}}]',
    "deepseek": f"{BEGIN_ALL}{BEGIN}add{SEP}{RAW}{END}{END_ALL}",
    "react": f'```json\n{{"name": "add", "arguments": {RAW}}}\n```',
}


@pytest.mark.parametrize("calls", WRITTEN)
def test_reads_a_call_with_nested_json(calls: str) -> None:
    turn = parse(calls, f"I add.\n{WRITTEN[calls]}<|im_end|>")
    assert listed(turn) == ONE
    assert turn.tool_calls[0].arguments == RAW
    assert (turn.text, turn.problems, turn.ended) == ("I add.", (), True)


@pytest.mark.parametrize("calls", WRITTEN)
def test_reads_several_calls_in_order(calls: str) -> None:
    second = WRITTEN[calls].replace("add", "sub")
    turn = parse(calls, f"{WRITTEN[calls]}\n{second}")
    assert [name for name, _ in listed(turn)] == ["add", "sub"]
    assert [call.id for call in turn.tool_calls] == ["call00000", "call00001"]
    assert turn.text == ""


@pytest.mark.parametrize("calls", WRITTEN)
def test_keeps_unicode_in_arguments(calls: str) -> None:
    turn = parse(calls, WRITTEN[calls].replace("x}", "日本 🦩 \\u00e4"))
    assert listed(turn)[0][1]["b"]["c"] == "日本 🦩 ä"
    assert "\\u00e4" in turn.tool_calls[0].arguments


@pytest.mark.parametrize("calls", WRITTEN)
def test_keeps_broken_json_as_raw_text(calls: str) -> None:
    turn = parse(calls, WRITTEN[calls].replace('"x}"', '"x}'))
    assert len(turn.tool_calls) == 1
    assert turn.tool_calls[0].parsed is None
    assert '"x}' in turn.tool_calls[0].arguments
    assert turn.tool_calls[0].name == "add"
    assert len(turn.problems) == 1


@pytest.mark.parametrize("calls", [name for name in WRITTEN if name not in {"llama3", "mistral"}])
def test_reads_a_whole_call_that_is_never_closed(calls: str) -> None:
    text = WRITTEN[calls]
    cut = text[: text.index(RAW) + len(RAW)]
    turn = parse(calls, cut if calls == "deepseek" else cut + "}")
    assert listed(turn) == ONE
    assert "never closed" in turn.problems[0]


@pytest.mark.parametrize("calls", WRITTEN)
def test_takes_missing_arguments_for_none(calls: str) -> None:
    if calls == "deepseek":
        text = f"{BEGIN_ALL}{BEGIN}now{SEP}{{}}{END}{END_ALL}"
    elif calls == "react":
        text = '```json\n{"name": "now", "arguments": null}\n```'
    else:
        key = "parameters" if calls == "llama3" else "arguments"
        text = WRITTEN[calls].replace(f', "{key}": {RAW}', "").replace("add", "now")
    assert listed(parse(calls, text)) == [("now", {})]


def test_takes_arguments_that_are_a_text_of_json() -> None:
    turn = parse("hermes", '<tool_call>{"name": "f", "arguments": "{\\"a\\": 1}"}</tool_call>')
    assert (turn.tool_calls[0].arguments, turn.tool_calls[0].parsed) == ('{"a": 1}', {"a": 1})


def test_does_not_end_a_hermes_call_inside_of_a_text() -> None:
    turn = parse(
        "hermes", '<tool_call>{"name": "w", "arguments": {"t": "</tool_call>"}}</tool_call>'
    )
    assert listed(turn) == [("w", {"t": "</tool_call>"})]
    assert turn.text == ""


def test_does_not_take_special_tokens_out_of_arguments() -> None:
    turn = parse(
        "hermes", 'a</s>b <tool_call>{"name": "w", "arguments": {"t": "</s>"}}</tool_call>'
    )
    assert listed(turn) == [("w", {"t": "</s>"})]
    assert turn.text == "ab"


def test_keeps_a_call_without_a_name() -> None:
    turn = parse("hermes", '<tool_call>{"arguments": {}}</tool_call>')
    assert listed(turn) == [("", None)]
    assert turn.problems == ("the call has no name",)


def test_goes_on_after_a_broken_call() -> None:
    whole = WRITTEN["hermes"]
    turn = parse("hermes", f'<tool_call>{{"name": "add", "arg</tool_call>{whole}')
    assert [name for name, _ in listed(turn)] == ["add", "add"]
    assert [parsed is None for _, parsed in listed(turn)] == [True, False]


def test_ends_a_broken_call_where_the_next_one_begins() -> None:
    turn = parse("hermes", f'<tool_call>{{"name": "add", \n{WRITTEN["hermes"]}')
    assert listed(turn)[1:] == ONE


def test_reads_the_call_that_openai_nests() -> None:
    raw = '<tool_call>{"type": "function", "function": {"name": "f", "arguments": {}}}</tool_call>'
    assert listed(parse("hermes", raw)) == [("f", {})]


def coder(*parameters: str, name: str = "edit") -> str:
    return f"<tool_call>\n<function={name}>\n{''.join(parameters)}</function>\n</tool_call>"


def parameter(key: str, value: str) -> str:
    return f"<parameter={key}>\n{value}\n</parameter>\n"


def test_reads_values_of_qwen_coder_by_their_schema() -> None:
    raw = coder(parameter("path", "12"), parameter("line", "12"), parameter("tags", '["a"]'))
    turn = parse("qwen3-coder", f"Edit.\n{raw}", TOOLS)
    assert listed(turn) == [("edit", {"path": "12", "line": 12, "tags": ("a",)})]
    assert (turn.text, turn.problems) == ("Edit.", ())


def test_keeps_lines_of_a_value_of_qwen_coder() -> None:
    code = "def f():\n\n    return '</parameter> </tool_call>'\n"
    turn = parse("qwen3-coder", coder(parameter("path", code)), TOOLS)
    assert listed(turn) == [("edit", {"path": code})]


def test_reads_null_only_where_the_schema_of_qwen_coder_allows_it() -> None:
    raw = coder(parameter("path", "null"), parameter("note", "null"))
    assert listed(parse("qwen3-coder", raw, TOOLS)) == [("edit", {"path": "null", "note": None})]


def test_keeps_a_value_of_qwen_coder_that_does_not_fit_as_text() -> None:
    turn = parse("qwen3-coder", coder(parameter("line", "twelve")), TOOLS)
    assert listed(turn) == [("edit", {"line": "twelve"})]


def test_keeps_a_call_of_qwen_coder_that_is_cut_off_as_raw_text() -> None:
    raw = coder(parameter("path", "a.py"), parameter("line", "12"))
    turn = parse("qwen3-coder", raw[: raw.index("12") + 1], TOOLS)
    assert listed(turn) == [("edit", None)]
    assert "<parameter=line>\n1" in turn.tool_calls[0].arguments
    assert turn.problems == ("<parameter=...> is never closed",)


def test_reads_several_calls_of_qwen_coder() -> None:
    raw = coder(parameter("path", "a")) + "\n" + coder(parameter("path", "b"))
    assert listed(parse("qwen3-coder", raw, TOOLS)) == [
        ("edit", {"path": "a"}),
        ("edit", {"path": "b"}),
    ]


def test_tells_of_a_block_of_qwen_coder_without_a_function() -> None:
    turn = parse("qwen3-coder", '<tool_call>{"name": "edit"}</tool_call>', TOOLS)
    assert listed(turn) == [("", None)]
    assert turn.problems == ("<tool_call> without <function=...>",)


def test_reads_bare_json_of_llama() -> None:
    turn = parse(
        "llama3", '\n{"name": "f", "parameters": {"a": 1}}; {"name": "g", "parameters": {}}'
    )
    assert listed(turn) == [("f", {"a": 1}), ("g", {})]
    assert turn.text == ""


def test_takes_json_of_llama_with_words_after_it_for_text() -> None:
    raw = '{"name": "f", "parameters": {}} is how you call it.'
    assert parse("llama3", raw).tool_calls == ()
    assert parse("llama3", raw).text == raw


def test_takes_other_json_of_llama_for_the_answer() -> None:
    assert parse("llama3", '{"answer": 42}').tool_calls == ()


def test_reads_the_named_calls_of_newer_mistrals() -> None:
    raw = '[TOOL_CALLS]f[ARGS]{"a": 1}[TOOL_CALLS]g[CALL_ID]abcdefghi[ARGS]{"b": 2}'
    assert listed(parse("mistral", raw)) == [("f", {"a": 1}), ("g", {"b": 2})]


def test_reads_a_list_of_several_mistral_calls() -> None:
    raw = '[TOOL_CALLS] [{"name": "f", "arguments": {}}, {"name": "g", "arguments": {"x": [1]}}]'
    assert listed(parse("mistral", raw)) == [("f", {}), ("g", {"x": (1,)})]


def test_reads_the_fenced_calls_of_older_deepseeks() -> None:
    raw = f"{BEGIN_ALL}{BEGIN}function{SEP}add\n```json\n{RAW}\n```{END}{END_ALL}"
    assert listed(parse("deepseek", raw)) == ONE


def test_tells_of_a_deepseek_call_without_a_name() -> None:
    turn = parse("deepseek", f"{BEGIN_ALL}{BEGIN}{RAW}{END}{END_ALL}")
    assert listed(turn) == [("", None)]
    assert turn.problems == ("no name",)


@pytest.mark.parametrize(
    "block",
    [
        '```json\n{"answer": 42}\n```',
        '```python\n{"name": "f", "arguments": {}}\n```',
        "```\nx\n```",
    ],
)
def test_takes_other_fenced_blocks_for_text(block: str) -> None:
    turn = parse("react", f"See:\n{block}\n{WRITTEN['react']}")
    assert listed(turn) == ONE
    assert turn.text == f"See:\n{block}"


def test_does_not_take_a_fenced_call_out_of_another_block() -> None:
    raw = f"````markdown\n{WRITTEN['react']}\n````"
    assert parse("react", raw).tool_calls == ()


def test_reads_nothing_where_no_calls_are_written() -> None:
    raw = "\n".join(WRITTEN.values())
    assert parse("none", raw).tool_calls == ()
    assert parse("none", raw).text == raw


def test_does_not_make_whole_arguments_out_of_a_broken_call() -> None:
    raw = '{"name": "add", "arguments": {"a": 1},}'
    call = parse("hermes", f"<tool_call>{raw}</tool_call>").tool_calls[0]
    assert (call.name, call.arguments, call.parsed) == ("add", raw, None)


def test_keeps_an_attempt_at_a_call_that_is_not_json_at_all() -> None:
    turn = parse("hermes", "<tool_call>add(a=1)</tool_call>")
    assert (turn.tool_calls[0].arguments, turn.text) == ("add(a=1)", "")


@pytest.mark.parametrize("raw", ["`<tool_call>` is the tag.", "Write <tool_call> first."])
def test_takes_a_word_about_the_tag_for_text(raw: str) -> None:
    turn = parse("hermes", raw)
    assert (turn.tool_calls, turn.text) == ((), raw)


@pytest.mark.parametrize("listed", ["[]", '[1, {"name": "f", "arguments": {}}]', '["f"]'])
def test_tells_of_a_mistral_list_that_is_none_of_calls(listed: str) -> None:
    turn = parse("mistral", f"[TOOL_CALLS] {listed}")
    assert [call.parsed for call in turn.tool_calls] == [None]
    assert turn.problems == ("this is no list of calls",)


@pytest.mark.parametrize("code", ["print(1)", 'search.call(query="x")'])
def test_tells_of_llama_code_that_is_no_json(code: str) -> None:
    turn = parse("llama3", f"<|python_tag|>{code}<|im_end|>")
    assert (turn.tool_calls[0].arguments, turn.tool_calls[0].parsed) == (code, None)

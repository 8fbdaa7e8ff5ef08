import random
from typing import Any

import pytest
from rewardhub_policies.call_parsers import PARSERS
from rewardhub_policies.chat_parsing import ParsedTurn, parse_turn

from rewardhub import TemplateFacts, normalise

CALL = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'


def parse(raw: str, calls: str = "hermes", **facts: Any) -> ParsedTurn:
    given = {"special_tokens": ("<|im_end|>",), "end_tokens": ("<|im_end|>",), **facts}
    return parse_turn(raw, parser=PARSERS[calls], facts=TemplateFacts(**given))


def names(turn: ParsedTurn) -> list[str]:
    return [call.name for call in turn.tool_calls]


def test_tells_text_reasoning_and_calls_apart() -> None:
    turn = parse(f"<think>\nFirst f.\n</think>\n\nI call f.\n{CALL}\n<|im_end|>")
    assert (turn.text, turn.reasoning, names(turn)) == ("I call f.", "First f.", ["f"])


def test_does_not_make_a_call_that_is_only_thought_of() -> None:
    turn = parse(f"<think>Perhaps {CALL}?</think>No.")
    assert (turn.text, names(turn)) == ("No.", [])
    assert turn.reasoning == f"Perhaps {CALL}?"


def test_does_not_make_a_call_in_reasoning_that_the_template_opened() -> None:
    turn = parse(f"Perhaps {CALL}?</think>{CALL}", opens_reasoning=True)
    assert names(turn) == ["f"]
    assert turn.reasoning == f"Perhaps {CALL}?"


def test_takes_all_before_a_closing_tag_for_reasoning_though_nobody_opened_it() -> None:
    turn = parse(f"Perhaps {CALL}?</think>No.")
    assert (turn.text, names(turn)) == ("No.", [])
    assert turn.reasoning == f"Perhaps {CALL}?"


def test_does_not_make_a_call_in_reasoning_that_is_cut_off() -> None:
    turn = parse(f"<think>Perhaps {CALL}")
    assert (names(turn), turn.text, turn.cut_off) == ([], "", True)


def test_does_not_make_a_call_in_later_reasoning() -> None:
    turn = parse(f"{CALL}\n<think>Or {CALL}</think>\nDone.")
    assert len(turn.tool_calls) == 1
    assert (turn.text, turn.reasoning) == ("Done.", f"Or {CALL}")


def test_takes_a_tag_in_an_argument_for_text() -> None:
    call = CALL.replace("1", '"</think><think>"')
    turn = parse(f"<think>Hm.</think>{call}Done.")
    assert (turn.text, turn.reasoning, names(turn)) == ("Done.", "Hm.", ["f"])


@pytest.mark.parametrize("fence", ["```", "~~~", "`````", "```xml", "   ```"])
def test_does_not_make_a_call_in_a_code_fence(fence: str) -> None:
    closing = fence.removesuffix("xml")
    turn = parse(f"One writes:\n{fence}\n{CALL}\n{closing}\nlike this.")
    assert names(turn) == []
    assert CALL in turn.text


def test_makes_the_call_after_a_code_fence() -> None:
    turn = parse(f"```python\nprint(1)\n```\n{CALL}")
    assert names(turn) == ["f"]
    assert turn.text == "```python\nprint(1)\n```"


def test_does_not_close_a_fence_by_a_shorter_or_another_one() -> None:
    turn = parse(f"````\n```\n~~~\n{CALL}\n````\n")
    assert names(turn) == []


def test_hides_nothing_behind_a_fence_that_is_never_closed() -> None:
    assert names(parse(f"```python\nprint(1)\n{CALL}")) == ["f"]


def test_does_not_take_a_fence_in_an_argument_for_one() -> None:
    call = CALL.replace("1", '"\\n```\\n"')
    assert names(parse(f"{call}\n{CALL}\n```\n")) == ["f", "f"]


def test_ends_at_the_end_token() -> None:
    turn = parse(f"Yes.<|im_end|>\n<|im_start|>user\n{CALL}")
    assert (turn.text, names(turn), turn.ended) == ("Yes.", [], True)


@pytest.mark.parametrize("before", ["<think>", "```\n"])
def test_ends_at_the_end_token_inside_of_anything(before: str) -> None:
    turn = parse(f"{before}Yes.<|im_end|></think>\n```\n{CALL}")
    assert (names(turn), turn.ended) == ([], True)


def test_keeps_an_end_token_that_an_argument_spells() -> None:
    turn = parse(CALL.replace("1", '"<|im_end|>"') + "<|im_end|>")
    assert turn.tool_calls[0].parsed == {"a": "<|im_end|>"}
    assert turn.ended


@pytest.mark.parametrize("cut", [CALL[:20], CALL[:30], CALL[:-14]])
def test_ends_a_call_that_is_cut_off_at_the_end_token(cut: str) -> None:
    turn = parse(f"{cut}<|im_end|>\n{CALL}")
    assert len(turn.tool_calls) == 1
    assert "<|im_end|>" not in turn.tool_calls[0].arguments
    assert turn.ended


def test_tells_that_no_end_token_came() -> None:
    assert not parse("Yes").ended


def test_numbers_calls_on() -> None:
    turn = parse_turn(CALL + CALL, parser=PARSERS["hermes"], facts=TemplateFacts(), first_call=12)
    assert [call.id for call in turn.tool_calls] == ["call00012", "call00013"]


TEXTS = (
    "",
    " plain \n text ",
    "<think>a</think>b",
    "a</think>b<think>c</think>d",
    "<think>never closed",
    "</think>",
    "a<|im_end|>b",
    "```\ncode\n```",
)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("calls", PARSERS)
def test_agrees_with_normalise_on_text_without_calls(text: str, calls: str) -> None:
    facts = TemplateFacts(special_tokens=(), end_tokens=("<|im_end|>",))
    turn, plain = parse(text, calls), normalise(text, facts)
    assert (turn.text, turn.reasoning) == (plain.text, plain.reasoning)


PIECES = (
    "<tool_call>", "</tool_call>", "<function=f>", "<parameter=k>", "</parameter>", "</function>",
    "[TOOL_CALLS]", "[ARGS]", "<|python_tag|>", "<\uff5ctool\u2581calls\u2581begin\uff5c>",
    "<\uff5ctool\u2581call\u2581begin\uff5c>", "<\uff5ctool\u2581sep\uff5c>",
    "<\uff5ctool\u2581call\u2581end\uff5c>", "<think>", "</think>", "<|im_end|>", "```",
    "\n```json\n",
    '{"name": "f", "arguments": {', "}}", '"', "\\", "{", "}", "[", "]", ":", ",", "\n", " ", ";",
    "function", "x", "1e999", "NaN", "\\ud800", "\ud800", "é",
)  # fmt: skip


@pytest.mark.parametrize("calls", PARSERS)
def test_never_raises_and_never_calls_what_no_record_holds(calls: str) -> None:
    draw = random.Random(calls)
    for _ in range(2000):
        raw = "".join(draw.choices(PIECES, k=draw.randrange(1, 25)))
        turn = parse(raw, calls, opens_reasoning=draw.random() < 0.2)
        for call in turn.tool_calls:
            call.to_json()


@pytest.mark.parametrize("calls", [name for name in PARSERS if name != "none"])
@pytest.mark.parametrize(
    "piece",
    [
        "<tool_call>",
        "<function=f>",
        "[TOOL_CALLS]",
        "<think>",
        "</think>",
        "```\n",
        '<tool_call>{"a',
        '<tool_call>{"a<|im_end|>',
        '<tool_call>{"a": [',
        '<tool_call>{\\"</tool_call>',
        "<tool_call><function=f><parameter=k></tool_call>",
        "<function=f><parameter=k>x</parameter>",
        "[TOOL_CALLS]f{",
        "[TOOL_CALLS] [{",
        '\n```json\n{"name": "',
        "\n```\n{",
        "\n````````\n~~~",
        '</think>{"name": "f", "parameters": {}}x',
        "<\uff5ctool\u2581call\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>",
        '<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>{"',
    ],
)
def test_reads_hostile_text_in_linear_time(calls: str, piece: str) -> None:
    raw = piece * (200_000 // len(piece))
    # A quadratic reader does not come back before the time limit of a test.
    parse(raw, calls)

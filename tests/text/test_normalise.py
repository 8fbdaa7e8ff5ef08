from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.text import TemplateFacts, normalise

ENDED = TemplateFacts(end_tokens=("<|im_end|>",))
OPENED = TemplateFacts(opens_reasoning=True)


@pytest.mark.parametrize("raw", ["", "42", "a < b and b > a", "def f():\n    return 1", "x\n\ny"])
def test_plain_text_stays_as_it_is(raw: str) -> None:
    assert normalise(raw) == (raw, None, False)


def test_blank_lines_before_and_space_after_go() -> None:
    assert normalise("\n \n42 \n").text == "42"


def test_the_indentation_of_the_first_line_stays() -> None:
    assert normalise("\n    return 1\n").text == "    return 1"


def test_text_of_white_space_is_empty() -> None:
    assert normalise(" \n\t\n ").text == ""


@pytest.mark.parametrize(
    "raw",
    ["42<|im_end|>", "<s>42</s>", "42<|endoftext|><|endoftext|>", "4<|im_start|>2<|eot_id|>\n"],
)
def test_special_tokens_go(raw: str) -> None:
    assert normalise(raw) == ("42", None, False)


def test_a_token_made_by_taking_another_off_goes_too() -> None:
    assert normalise("a<|im_<|im_end|>end|>b<<<s>s>s>c").text == "abc"


def test_the_longest_of_two_tokens_goes() -> None:
    facts = TemplateFacts(special_tokens=("<e>", "<e>!"))
    assert normalise("a<e>!b<e>", facts).text == "ab"


def test_other_tags_stay() -> None:
    assert normalise("<b>42</b> <|custom|>").text == "<b>42</b> <|custom|>"


def test_headers_in_the_text_are_text() -> None:
    raw = "<|im_start|>assistant\n42"
    assert normalise(raw).text == "assistant\n42"


def test_tokens_need_not_look_like_tags() -> None:
    facts = TemplateFacts(special_tokens=("[/INST]",))
    assert normalise("[/INST]42", facts).text == "42"
    assert normalise("</s>42", facts).text == "</s>42"


def test_an_end_token_means_complete() -> None:
    assert normalise("42<|im_end|>", ENDED) == ("42", None, False)


@pytest.mark.parametrize("raw", ["42", "42</s>", "<think>a</think>42"])
def test_a_missing_end_token_means_truncated(raw: str) -> None:
    assert normalise(raw, ENDED).truncated
    assert normalise(raw, ENDED).text == "42"


def test_text_after_the_first_end_token_is_cut_off() -> None:
    raw = "42<|im_end|>\n<|im_start|>user\nagain<|im_end|>"
    assert normalise(raw, ENDED) == ("42", None, False)


def test_any_of_several_end_tokens_ends() -> None:
    facts = TemplateFacts(end_tokens=("<|eom_id|>", "<|eot_id|>"))
    assert normalise("a<|eot_id|>b<|eom_id|>", facts) == ("a", None, False)


def test_reasoning_is_split_off() -> None:
    assert normalise("<think>\nhm\n\nyes\n</think>\n\n42") == ("42", "hm\n\nyes", False)


def test_a_closing_tag_alone_means_the_template_opened() -> None:
    assert normalise("hm\n</think>\n\n42") == ("42", "hm", False)


def test_reasoning_that_the_template_opened_is_split_off() -> None:
    assert normalise("hm\n</think>\n\n42", OPENED) == ("42", "hm", False)


@pytest.mark.parametrize("raw", ["hm", "hm < ha", "<think>hm", "hm<|im_end|>"])
def test_reasoning_that_the_template_opened_and_nothing_closed_is_truncated(raw: str) -> None:
    assert normalise(raw, OPENED) == ("", "hm < ha" if "ha" in raw else "hm", True)


def test_unclosed_reasoning_leaves_no_final_text() -> None:
    assert normalise("<think>hm, 42") == ("", "hm, 42", True)


def test_an_end_token_inside_reasoning_leaves_no_final_text() -> None:
    assert normalise("<think>hm<|im_end|></think>42", ENDED) == ("", "hm", True)


def test_text_before_unclosed_reasoning_is_not_final() -> None:
    assert normalise("41<think>no, 42") == ("", "41\n\nno, 42", True)


def test_empty_reasoning_is_none() -> None:
    assert normalise("<think>\n\n</think>\n\n42") == ("42", None, False)


def test_several_blocks_leave_what_is_between_them() -> None:
    raw = "<think>one</think>\n\nfirst\n<think>two</think>\nsecond"
    assert normalise(raw) == ("first\n\nsecond", "one\n\ntwo", False)


def test_a_second_block_left_open_leaves_no_final_text() -> None:
    raw = "<think>one</think>first<think>two"
    assert normalise(raw) == ("", "one\n\nfirst\n\ntwo", True)


def test_a_stray_closing_tag_makes_reasoning_of_all_before() -> None:
    raw = "a<think>b</think>c</think>d"
    assert normalise(raw) == ("d", "a\n\nb\n\nc", False)


def test_an_opening_tag_inside_reasoning_opens_nothing_more() -> None:
    assert normalise("<think>a<think>b</think>42") == ("42", "a\n\nb", False)


def test_other_tags_can_hold_the_reasoning() -> None:
    facts = TemplateFacts(reasoning_tags=("[THINK]", "[/THINK]"))
    assert normalise("[THINK]hm[/THINK]42", facts) == ("42", "hm", False)
    assert normalise("<think>42", facts).text == "<think>42"


def test_a_tag_among_the_special_tokens_stays_a_tag() -> None:
    facts = TemplateFacts(special_tokens=("<think>", "</think>", "</s>"))
    assert normalise("<think>hm</think>42</s>", facts) == ("42", "hm", False)


MARKS = ["<|im_end|>", "<think>", "</think>", "<s>"]
SHARDS = ["<|im_", "end|>", "<th", "ink>", "</", "<", "s", ">", " ", "\n", "\n\n", "  x", "42"]
PIECES = st.sampled_from(MARKS) | st.sampled_from(SHARDS)
RAW = st.lists(PIECES, max_size=30).map("".join)


@given(raw=RAW, facts=st.sampled_from([TemplateFacts(), ENDED]))
def test_its_own_text_comes_out_as_it_went_in(raw: str, facts: TemplateFacts) -> None:
    text = normalise(raw, facts).text
    assert normalise(text, facts).text == text


@given(raw=RAW, facts=st.sampled_from([TemplateFacts(), ENDED, OPENED]))
def test_no_marker_is_left(raw: str, facts: TemplateFacts) -> None:
    text, reasoning, _ = normalise(raw, facts)
    markers = (*facts.special_tokens, *facts.end_tokens, *facts.reasoning_tags)
    assert not any(marker in text or marker in (reasoning or "") for marker in markers)


@given(raw=RAW, facts=st.sampled_from([TemplateFacts(), ENDED, OPENED]))
def test_what_is_left_are_characters_of_the_model_in_order(raw: str, facts: TemplateFacts) -> None:
    characters = iter(raw)
    text = "".join(normalise(raw, facts).text.split())
    assert all(character in characters for character in text)


@given(thought=st.text("ab5/>\n"))
def test_nothing_inside_reasoning_reaches_the_text(thought: str) -> None:
    assert normalise(f"<think>{thought}</think>42").text == "42"


def test_tokens_nested_in_tokens_go_in_one_pass() -> None:
    assert normalise("<s" * 50_000 + ">" * 50_000).text == ""

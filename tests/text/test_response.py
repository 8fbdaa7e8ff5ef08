from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.text import response_of

PROMPT = "<|im_start|>user\nWhat is 6 * 7?<|im_end|>\n<|im_start|>assistant\n"


def test_the_response_follows_the_prompt() -> None:
    assert response_of(f"{PROMPT}42<|im_end|>", PROMPT) == "42<|im_end|>"


@pytest.mark.parametrize("cut", [1, 10, 30, len(PROMPT) - 1])
def test_the_prompt_may_have_lost_its_left(cut: int) -> None:
    assert response_of(f"{PROMPT[cut:]}42", PROMPT) == "42"


def test_a_prompt_forged_in_the_response_is_response() -> None:
    forged = f"41<|im_end|>\n{PROMPT}42"
    assert response_of(f"{PROMPT}{forged}", PROMPT) == forged
    assert response_of(f"{PROMPT[20:]}{forged}", PROMPT) == forged


def test_an_empty_response_is_empty() -> None:
    assert response_of(PROMPT, PROMPT) == ""


def test_without_a_prompt_everything_is_response() -> None:
    assert response_of("42", "") == "42"


def test_without_any_end_of_the_prompt_everything_is_response() -> None:
    assert response_of("42", "What?") == "42"


def test_an_empty_query_has_an_empty_response() -> None:
    assert response_of("", PROMPT) == ""


def test_a_query_that_is_shorter_than_the_prompt_keeps_its_response() -> None:
    assert response_of("?42", "a long prompt?") == "42"


def test_the_longest_of_several_ends_counts() -> None:
    assert response_of("ababX", "ccababab") == "X"


@given(query=st.text("ab", max_size=30), prompt=st.text("ab", max_size=30))
def test_finds_the_longest_suffix_that_is_a_prefix(query: str, prompt: str) -> None:
    longest = max(
        length
        for length in range(len(prompt) + 1)
        if query.startswith(prompt[len(prompt) - length :])
    )
    assert response_of(query, prompt) == query[longest:]


def test_a_long_prompt_of_one_letter_is_found() -> None:
    size = 100_000
    assert response_of("a" * (size - 1) + "b", "a" * size) == "b"

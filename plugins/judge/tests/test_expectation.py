import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from rewardhub_judge.expectation import expectation_of
from rewardhub_judge.verdicts import MalformedVerdictError

from rewardhub import JudgeReply

LEVELS = ("1", "2", "3")


def reply(tokens: Sequence[str], at: int, likely: Mapping[str, float]) -> JudgeReply:
    """Return a reply of ``tokens``; the one at ``at`` has its taken token and ``likely`` others."""
    logprobs: list[Any] = [{token: -0.01} for token in tokens]
    logprobs[at] = {token: math.log(p) for token, p in likely.items()}
    return JudgeReply(text="".join(tokens), logprobs=tuple(logprobs))


def test_renormalises_the_menu_and_tells_the_mass_outside() -> None:
    tokens = ['{"', "reason", '": "', "ok", '", "', "verdict", '": ', "3", "}"]
    got = expectation_of(reply(tokens, 7, {"3": 0.6, "2": 0.2, " 3": 0.1}), LEVELS)
    assert got.probabilities == pytest.approx((0.0, 0.25, 0.75))
    assert got.outside == pytest.approx(0.2)
    assert got.mean((0.0, 0.5, 1.0)) == pytest.approx(0.875)


def test_no_digit_in_the_reason_is_taken_for_the_verdict() -> None:
    tokens = ['{"reason": "', "verdict", '\\": ', "1", " of ", "3", '", "verdict": ', "2", "}"]
    got = expectation_of(reply(tokens, 7, {"2": 0.9, "1": 0.1}), LEVELS)
    assert got.probabilities == pytest.approx((0.1, 0.9, 0.0))


def test_reads_a_value_in_the_middle_of_a_token() -> None:
    tokens = ['{"reason": "x", "verdict":', ' "agr', 'ees"}']
    got = expectation_of(
        reply(tokens, 1, {' "agr': 0.5, ' "contra': 0.25, ' "': 0.1, "agr": 0.05}),
        ("agrees", "contradicts"),
    )
    assert got.probabilities == pytest.approx((2 / 3, 1 / 3))
    assert got.outside == pytest.approx(0.25)


def test_a_longer_number_is_not_its_first_digit() -> None:
    tokens = ['{"reason": "x", "verdict": ', "1", "}"]
    got = expectation_of(reply(tokens, 1, {"1": 0.5, "10": 0.3, "1.5": 0.1, "1}": 0.1}), LEVELS)
    assert got.probabilities == pytest.approx((1.0, 0.0, 0.0))
    assert got.outside == pytest.approx(0.4)


def test_characters_that_tokens_cut_in_two_do_not_matter_before_the_verdict() -> None:
    tokens = ['{"reason": "\U0001f600", ', '"verdict": ', "true", "}"]
    cut = ({"\ufffd": -0.1}, {"\ufffd": -0.1}, {'"verdict": ': -0.1}, {"true": 0.0}, {"}": 0.0})
    got = expectation_of(JudgeReply(text="".join(tokens), logprobs=cut), ("false", "true"))
    assert got.probabilities == (0.0, 1.0)


def test_reads_inside_of_a_fence() -> None:
    tokens = ["```json\n", '{"reason": "x", "verdict": ', "2", "}", "\n```"]
    assert expectation_of(reply(tokens, 2, {"2": 1.0}), LEVELS).probabilities == (0.0, 1.0, 0.0)


@pytest.mark.parametrize(
    "tokens",
    [
        ['{"reason": "x", "verdict": ', "2", "]"],
        ['{"reason": "x", "verdict": ', "2"],
        ["}"],
    ],
)
def test_tokens_of_another_text_are_refused(tokens: list[str]) -> None:
    logprobs = tuple({token: -0.1} for token in tokens)
    other = JudgeReply(text='{"reason": "x", "verdict": 2}', logprobs=logprobs)
    with pytest.raises(MalformedVerdictError, match="do not cover"):
        expectation_of(other, LEVELS)


def test_a_menu_without_any_mass_is_refused() -> None:
    tokens = ['{"reason": "x", "verdict": ', "2", "}"]
    with pytest.raises(MalformedVerdictError, match="do not cover"):
        expectation_of(reply(tokens, 1, {"2": 0.0001}), ("7", "8"))

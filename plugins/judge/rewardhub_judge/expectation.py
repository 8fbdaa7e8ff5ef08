"""The expectation over a verdict's menu, from the log-probabilities of the token it begins with."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rewardhub import JudgeReply
from rewardhub_judge.verdicts import MalformedVerdictError

__all__ = ["LOGPROBS", "Expectation", "expectation_of"]

LOGPROBS = 20
"""How many likely tokens are asked for: as many as OpenAI and vLLM give."""

_KEY = "verdict"
_SPACE = re.compile(r"[ \t\n\r]*")
_NOT_COVERED = "the log-probabilities do not cover the tokens of the verdict"


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a judge thought of a menu.

    Attributes:
        probabilities: one for each value of the menu, in order; they sum to 1.
        outside: the probability of everything that is not on the menu.
    """

    probabilities: tuple[float, ...]
    outside: float

    def mean(self, values: Sequence[float]) -> float:
        """Return the expected value."""
        return sum(p * v for p, v in zip(self.probabilities, values, strict=True))


def expectation_of(reply: JudgeReply, menu: Sequence[str]) -> Expectation:
    """Return how probable each value of ``menu`` was where the reply says its verdict.

    The reply is one JSON object whose last key is ``verdict``. The place of its value is found by
    reading the JSON, and the token at that place by laying the tokens of the reply along its end:
    no digit is searched for. As G-Eval (Liu et al. 2023, arXiv 2303.16634) weights scores, the
    probabilities of the menu are then renormalised.

    Args:
        reply: with log-probabilities.
        menu: the values as JSON writes them, without quotes; no two begin alike.

    Raises:
        MalformedVerdictError: if the tokens cannot be laid along the text.
    """
    token, before = _token_at(reply, _place_of_verdict(reply.text))
    inside = [0.0] * len(menu)
    for candidate, logprob in reply.logprobs[token].items():
        said = candidate.removeprefix(before)
        if not candidate.startswith(before) or not said:
            continue
        for index, value in enumerate(menu):
            if _begins(said, value):
                inside[index] += math.exp(logprob)
    total = sum(inside)
    if not 0.0 < total < math.inf:
        raise MalformedVerdictError(_NOT_COVERED)
    return Expectation(tuple(each / total for each in inside), max(0.0, 1.0 - total))


def _begins(said: str, value: str) -> bool:
    """Whether a token that says ``said`` is the beginning of ``value``, or all of it and more."""
    if value.startswith(said):
        return True
    rest = said.removeprefix(value)
    return said.startswith(value) and not rest[:1].isalnum() and rest[:1] not in {"_", "."}


def _place_of_verdict(text: str) -> int:
    """Return where the value of the key ``verdict`` begins, after its quote."""
    decoder = json.JSONDecoder()
    index = text.index("{") + 1
    while True:
        key, index = decoder.raw_decode(text, _after_space(text, index))
        value = _after_space(text, _after_space(text, index) + 1)
        if key == _KEY:
            return value + (text[value] == '"')
        _, index = decoder.raw_decode(text, value)
        index = _after_space(text, index) + 1


def _after_space(text: str, index: int) -> int:
    match = _SPACE.match(text, index)
    assert match is not None
    return match.end()


def _token_at(reply: JudgeReply, start: int) -> tuple[int, str]:
    """Return the index of the token that holds the character at ``start``, and its part before.

    The tokens that were taken are laid from the end of the text back, for what follows the verdict
    is the judge's JSON alone, while the reason before it may quote characters that tokens cut in
    two.
    """
    end = len(reply.text)
    for index in range(len(reply.logprobs) - 1, -1, -1):
        token = next(iter(reply.logprobs[index]), "")
        begin = end - len(token)
        if not reply.text.endswith(token, 0, end):
            break
        if token and begin <= start:
            return index, reply.text[begin:start]
        end = begin
    raise MalformedVerdictError(_NOT_COVERED)

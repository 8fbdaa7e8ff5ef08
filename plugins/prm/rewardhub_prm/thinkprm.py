r"""ThinkPRM: a model that writes a check of each step, then says whether the solution is correct.

Source: the model cards of launch/ThinkPRM-1.5B and -14B, mukhal/ThinkPRM (``utils/helper.py``,
``prm/thinkprm_api.py``), and Khalifa et al. 2025, "Process Reward Models That Think".

The model writes ``\boxed{correct}`` or ``\boxed{incorrect}`` after its check of each step: the mean
of the samples that say one is the step's value. The value of the whole is the mean over samples of
P(yes) against P(no) after "Is the solution correct?".
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rewardhub import Generated, Lease, Score, TextGenerator
from rewardhub_prm.carriers import PLACES, Solution, Valued, no_number, too_long
from rewardhub_prm.encoding import Given, Own, Part, TextEncoder
from rewardhub_prm.presets import Aggregation, Split

_HEAD = "You are given a math problem and a proposed step-by-step solution:\n\n[Math Problem]\n\n"
_TAIL = (
    "\n\nReview and critique each step in the proposed solution to determine whether each step is "
    "correct. If the solution is incomplete, only verify the provided steps."
)
_BEGIN = "\nLet's verify step by step:"
_QUESTION = "Is the solution correct?"
_CHOICES = ("yes", "no")
_LABEL = re.compile(r"\A(?:#+\s*)?(?:\*\*)?step\s+[0-9]+\s*[:.](?:\*\*)?\s*", re.IGNORECASE)
_VERDICT = re.compile(r"\\boxed\{\s*(?:\\text\{\s*)?(correct|incorrect)\b", re.IGNORECASE)
_RESERVE = 32
"""Tokens kept for the question at the end."""
_ALL = 1 << 24
"""More log probabilities than there are tokens: the choices may be anywhere among them."""


class Thinking(BaseModel):
    """How a generative reward model thinks."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    samples: int = Field(default=1, ge=1, le=64)
    """How many checks it writes of each solution; their mean counts."""
    temperature: float = Field(default=0.0, ge=0.0, allow_inf_nan=False)
    """0 takes the likeliest token; several samples need more."""
    max_new_tokens: int = Field(default=4096, ge=1)
    """How long one check may be. One that is cut off is decided on what there is."""

    @model_validator(mode="after")
    def _differ(self) -> Thinking:
        if self.samples > 1 and self.temperature == 0.0:
            raise ValueError("several samples at temperature 0 are one: say a `temperature`")
        return self


@dataclass(frozen=True, slots=True)
class _Check:
    """One check of a solution."""

    verdicts: tuple[float, ...]
    yes: float
    text: str
    whole: bool


class ThinkPrm:
    """Carrier of a generative reward model."""

    def __init__(
        self, lease: Lease[TextGenerator], thinking: Thinking, limit: int | None = None
    ) -> None:
        self.aggregate: Aggregation | None = None
        self.split: Split = "steps"
        self._lease = lease
        self._thinking = thinking
        self._model = lease.model
        self._text = TextEncoder(self._model.tokenizer)
        context = self._model.context_length
        self._limit = context if limit is None else min(limit, context)
        why = "which the preset `thinkprm` reads as an answer"
        self._choices = [self._text.token(choice, why) for choice in _CHOICES]

    async def values(self, solutions: Sequence[Solution]) -> list[Valued | Score]:
        """Return what the model says of each, asked all at once."""
        return list(await asyncio.gather(*map(self._value, solutions)))

    def close(self) -> None:
        """Give the model back."""
        self._lease.release()

    async def _value(self, solution: Solution) -> Valued | Score:
        prompt = self.prompt(solution)
        room = self._limit - _RESERVE
        if len(prompt) >= room:
            bare = len(self.prompt(Solution(solution.problem, ())))
            return too_long(len(prompt), bare, room)
        samples = range(self._thinking.samples)
        checks = await asyncio.gather(*(self._check(prompt, solution, i) for i in samples))
        if not all(math.isfinite(check.yes) for check in checks):
            return no_number("the whole solution")
        yes = math.fsum(check.yes for check in checks) / len(checks)
        return Valued(
            tuple(_mean(checks, step) for step in range(len(solution.steps))),
            round(yes, PLACES),
            _evidence(checks),
        )

    def prompt(self, solution: Solution) -> tuple[int, ...]:
        """Return the tokens that the model writes on from."""
        lines: list[Part] = [Own(_HEAD), Given(solution.problem), Own("\n\n[Solution]\n\n")]
        for index, step in enumerate(solution.steps):
            lines += [*([Own("\n")] if index else []), Own(f"Step {index + 1}: ")]
            lines.append(Given(_LABEL.sub("", step)))
        chat = self._text.chat([("user", [*lines, Own(_TAIL)])], reply=True)
        return self._text.encode([*chat, Own(_BEGIN)]).ids

    async def _check(self, prompt: tuple[int, ...], solution: Solution, sample: int) -> _Check:
        thinking = self._thinking
        written = await self._model.generate(
            prompt,
            max_new_tokens=min(thinking.max_new_tokens, self._limit - _RESERVE - len(prompt)),
            temperature=thinking.temperature,
            seed=_seed(prompt, sample),
            stop=(_QUESTION, "</think>", f"Step {len(solution.steps) + 1}:"),
        )
        question = self._text.encode([Own(f"\n{_QUESTION} ")]).ids
        asked = (*prompt, *self._kept(written), *question)
        answer = await self._model.generate(asked, max_new_tokens=1, logprobs=_ALL)
        found = [float(word.lower() == "correct") for word in _VERDICT.findall(written.text)]
        return _Check(
            verdicts=tuple(found[: len(solution.steps)]),
            yes=_share_of_first(answer.logprobs[0], self._choices),
            text=written.text,
            whole=written.finish_reason == "stop",
        )

    def _kept(self, written: Generated) -> tuple[int, ...]:
        """Return the tokens of a check, without the end token or the stop text."""
        tokens = written.token_ids
        ends = self._model.tokenizer.all_special_ids
        while tokens and tokens[-1] in ends:
            tokens = tokens[:-1]
        text = self._model.tokenizer.decode(
            tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return tokens if text == written.text else self._text.encode([Given(written.text)]).ids


def _share_of_first(logprobs: Mapping[int, float], choices: Sequence[int]) -> float:
    """Return the first choice's share of the probability that the choices have together."""
    logs = [logprobs[choice] for choice in choices]
    shares = [math.exp(log - max(logs)) for log in logs]
    return shares[0] / math.fsum(shares)


def _mean(checks: Sequence[_Check], step: int) -> float | None:
    said = [check.verdicts[step] for check in checks if step < len(check.verdicts)]
    return round(math.fsum(said) / len(said), PLACES) if said else None


def _evidence(checks: Sequence[_Check]) -> dict[str, Any]:
    return {
        "checks": [
            {"yes": round(check.yes, 6), "whole": check.whole, "text": check.text}
            for check in checks
        ]
    }


def _seed(prompt: Sequence[int], sample: int) -> int:
    """Return a seed that hangs on what is asked alone: siblings with equal texts get one check."""
    said = f"{sample}:{','.join(map(str, prompt))}".encode()
    return int.from_bytes(hashlib.sha256(said).digest()[:8]) >> 1

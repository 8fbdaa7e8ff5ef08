"""What a text generator is asked for, and what it gives."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """What a model wrote.

    Attributes:
        token_ids: as they were drawn, the end token among them if one ended it.
        text: the tokens without special ones; cut before the stop text that ended it.
        finish_reason: ``stop`` at an end token or a stop text; ``length`` where the model was cut
            off by ``max_new_tokens`` or the end of its context.
        logprobs: for each token: token id -> natural log probability under the model itself
            (temperature 1), the drawn token first, then the likeliest; empty if none were asked.
    """

    token_ids: tuple[int, ...]
    text: str
    finish_reason: Literal["stop", "length"]
    logprobs: tuple[Mapping[int, float], ...] = ()


@dataclass(slots=True, kw_only=True, eq=False)
class Request:
    """One prompt on its way through the model; ``done`` gets the answer."""

    prompt_ids: tuple[int, ...]
    max_new_tokens: int
    temperature: float
    top_p: float
    seed: int
    logprobs: int
    stop: tuple[str, ...]
    done: Future[Generated] = field(default_factory=Future["Generated"])

    @property
    def tokens(self) -> int:
        """How many tokens it may come to hold."""
        return len(self.prompt_ids) + self.max_new_tokens


@dataclass(slots=True, eq=False)
class Writing:
    """A request while the model writes: what there is so far, and whether that is all."""

    request: Request
    token_ids: list[int] = field(default_factory=list[int])
    logprobs: list[Mapping[int, float]] = field(default_factory=list[Mapping[int, float]])
    ended: bool = False

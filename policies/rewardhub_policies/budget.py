"""What a rollout may spend, and asking again what could not be answered."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from rewardhub import InfrastructureError, Usage

T = TypeVar("T")

LONGEST_PAUSE = 30.0
"""Seconds: no pause grows beyond, unless the endpoint asks for more."""


class Budget:
    """Tokens and money that policies may spend; never more, for it is set aside before a request.

    A request whose upper bound no longer fits waits while others may give back what they did not
    use. When nobody can, the budget is used up. It belongs to one event loop.

    Args:
        max_tokens: of prompts and answers together; None: any number.
        max_cost: US dollars; None: any sum.

    Attributes:
        tokens: spent so far.
        cost: spent so far.
        used_up: whether a request was refused.
    """

    def __init__(self, *, max_tokens: int | None = None, max_cost: float | None = None) -> None:
        self.max_tokens = max_tokens
        self.max_cost = max_cost
        self.tokens = 0
        self.cost = 0.0
        self.used_up = False
        self._held: list[Usage] = []
        self._given_back = asyncio.Event()

    @asynccontextmanager
    async def reserve(self, at_most: Usage | None) -> AsyncGenerator[Callable[[Usage], None]]:
        """Set ``at_most`` aside; yield what takes the usage of the reply instead.

        Without a reply nothing is spent. A request without a bound (None) waits until no other is
        on its way, and runs if anything is left.

        Raises:
            InfrastructureError: if the budget is used up; trying again does not help.
        """
        held = at_most or Usage()
        while not self._fits(at_most):
            if not self._held:
                self.used_up = True
                raise InfrastructureError(self._used_up(), passing=False)
            self._given_back.clear()
            await self._given_back.wait()
        self._held.append(held)
        try:
            yield self._spend
        finally:
            self._held.remove(held)
            self._given_back.set()

    def _fits(self, more: Usage | None) -> bool:
        tokens = self.tokens + sum(map(_tokens, self._held))
        cost = self.cost + sum(each.cost for each in self._held)
        if more is None:
            return not self._held and not (_over(tokens + 1, self.max_tokens) or self._is_broke())
        is_over = _over(tokens + _tokens(more), self.max_tokens)
        return not is_over and not _over(cost + more.cost, self.max_cost)

    def _is_broke(self) -> bool:
        return self.max_cost is not None and self.cost >= self.max_cost

    def _spend(self, usage: Usage) -> None:
        self.tokens += _tokens(usage)
        self.cost += usage.cost

    def _used_up(self) -> str:
        limits: list[str] = []
        if self.max_tokens is not None:
            limits.append(f"{self.tokens} of {self.max_tokens} tokens")
        if self.max_cost is not None:
            limits.append(f"{self.cost:.4f} of {self.max_cost:.4f} US dollars")
        return (
            f"The budget of the rollout does not allow another request: spent {', '.join(limits)}."
        )


def _tokens(usage: Usage) -> int:
    return usage.prompt_tokens + usage.completion_tokens


def _over(value: float, limit: float | None) -> bool:
    return limit is not None and value > limit


async def with_retries(ask: Callable[[], Awaitable[T]], *, retries: int, seed: int) -> T:
    """Return what ``ask`` returns, asked again after faults that may pass.

    Pauses double from half a second, with a share of chance that follows from the seed; where the
    endpoint says when to come back, that is the least.

    Raises:
        InfrastructureError: the last one; it is marked as not passing, for it was tried again here.
    """
    chance = random.Random(seed)  # noqa: S311  # spreads requests in time, nothing secret
    for number in range(retries + 1):
        try:
            return await ask()
        except InfrastructureError as error:
            if not error.passing:
                raise
            if number == retries:
                tried = f"{error} (asked {retries + 1} times)"
                raise InfrastructureError(tried, passing=False) from error
            pause = min(0.5 * 2**number, LONGEST_PAUSE) * (0.5 + chance.random() / 2)
            await asyncio.sleep(max(pause, error.retry_after or 0.0))
    raise AssertionError("unreachable")

"""What the engine puts around every judge: kept verdicts, one request for each question, limits.

``ask`` goes through these in order: the cache of verdicts; equal questions that are under way; the
judge's limits and budgets; and tries again where an endpoint broke. So a backend makes one request
for each call and knows nothing of all this.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewardhub.contracts import Judge, JudgeReply, Usage, waiting
from rewardhub.engine.judging_cache import Question, Verdicts
from rewardhub.engine.metering import Meter
from rewardhub.errors import InfrastructureError
from rewardhub.spec.model import ResourceEntry

DEADLINE = 120.0
"""How many seconds one call may take, where the spec does not say."""

RETRIES = 4
"""How often a call is made again, where the spec does not say."""

FIRST_PAUSE = 0.5
"""The pause before the second try, in seconds; each further one is twice as long."""

LONGEST_PAUSE = 30.0

PATIENCE = 600.0
"""The longest pause that an endpoint may ask for, in seconds; a longer one ends the tries."""


@dataclass(slots=True)
class _Flight:
    """A question under way, and how many wait for its reply."""

    task: asyncio.Task[JudgeReply]
    waiters: int = 0


class Judging(Judge):
    """A judge with all that the engine puts around it; it looks like the judge itself.

    Args:
        entry: the judge and its limits.
        verdicts: what was replied before; None: nothing is kept.
        cache_only: make no request, and do not even open the judge.

    Attributes:
        meter: counts the requests and what they used.
    """

    def __init__(
        self, entry: ResourceEntry, verdicts: Verdicts | None, *, cache_only: bool = False
    ) -> None:
        assert isinstance(entry.resource, Judge)
        self.meter = Meter(entry)
        self._entry = entry
        self._inner = entry.resource
        self._verdicts = verdicts
        self._cache_only = cache_only
        self._flights: dict[str, _Flight] = {}
        self._deadline = DEADLINE if entry.deadline is None else entry.deadline
        self._retries = RETRIES if entry.retries is None else entry.retries
        self._bounded = any((entry.max_tokens, entry.max_cost, entry.max_tokens_per_minute))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The judge's."""
        return self._inner.identity

    def at_most(
        self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None
    ) -> Usage | None:
        """Return the judge's upper bound."""
        return self._inner.at_most(messages, schema=schema)

    def open(self) -> None:
        """Open the judge, unless nothing may be asked of it."""
        if not self._cache_only:
            self._inner.open()

    def close(self) -> None:
        """Close the judge."""
        if not self._cache_only:
            self._inner.close()

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        schema: Mapping[str, Any] | None = None,
        seed: int | None = None,
        logprobs: int = 0,
    ) -> JudgeReply:
        """Return the reply to a chat: a kept one, one that is on its way, or a new one.

        Raises:
            InfrastructureError: if there is none to be had: it does not pass by asking again.
        """
        question = Question(messages=messages, schema=schema, seed=seed, logprobs=logprobs)
        key = question.key(self._inner.identity)
        kept = self._kept(key)
        if kept is not None:
            return kept
        if self._cache_only:
            raise InfrastructureError(
                f"the reply of `{self._entry.name}` is not in the verdict cache, and only that may "
                "be asked: run once without `--judge-cache-only`",
                passing=False,
            )
        return await self._together(key, question)

    def _kept(self, key: str) -> JudgeReply | None:
        return None if self._verdicts is None else self._verdicts.get(key)

    # --- equal questions ------------------------------------------------------------------------

    async def _together(self, key: str, question: Question) -> JudgeReply:
        """Return the reply to a question; those who ask the same meanwhile share it.

        The first one to ask is the one who pays.
        """
        flight = self._flights.get(key)
        joined = flight is not None and flight.task.get_loop() is asyncio.get_running_loop()
        if flight is None or not joined:
            flight = _Flight(asyncio.create_task(self._answer(key, question)))
            self._flights[key] = flight
            flight.task.add_done_callback(lambda task: self._landed(key, task))
        flight.waiters += 1
        try:
            if not joined:
                return await asyncio.shield(flight.task)
            with waiting():  # for somebody else's request
                return replace(await asyncio.shield(flight.task), cached=True)
        except InfrastructureError as error:
            raise _copy(error) from None
        finally:
            flight.waiters -= 1
            if not flight.waiters:
                flight.task.cancel()

    def _landed(self, key: str, task: asyncio.Task[JudgeReply]) -> None:
        flight = self._flights.get(key)
        if flight is not None and flight.task is task:
            del self._flights[key]
        if not task.cancelled():
            task.exception()  # told to those who wait, if anybody still does

    # --- requests -------------------------------------------------------------------------------

    async def _answer(self, key: str, question: Question) -> JudgeReply:
        """Return the reply to a question, asked again while what broke may pass."""
        tries = 0
        while True:
            try:
                return await self._request(key, question)
            except InfrastructureError as error:
                tries += 1
                pause = self._pause(error, key, tries)
                if pause is None:
                    raise _final(error, tries) from error
            with waiting():
                await asyncio.sleep(pause)

    def _pause(self, error: InfrastructureError, key: str, tries: int) -> float | None:
        """Return the seconds before the next try; None: there is none."""
        asked = error.retry_after or 0.0
        if not error.passing or tries > self._retries or asked > PATIENCE:
            return None
        # Seeded from the question: repeatable, and still no two questions come back at once.
        jitter = random.Random(f"{key} {tries}").uniform(0.5, 1.5)  # noqa: S311
        return asked + min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (tries - 1)) * jitter

    async def _request(self, key: str, question: Question) -> JudgeReply:
        bound = self._bound(question)
        turn = await self.meter.atake(bound)
        used = Usage()
        try:
            kept = self._kept(key)  # another process may have asked while this one waited
            if kept is not None:
                turn.give_back()
                return kept
            used = bound  # of a request that is given up, nobody knows what it used
            reply = await self._in_time(question)
            used = reply.usage
        except InfrastructureError as error:
            used = bound if isinstance(error, _TooLateError) else Usage()
            raise
        finally:
            turn.end(used)
        if self._verdicts is not None:
            self._verdicts.put(key, reply)
        return reply

    def _bound(self, question: Question) -> Usage:
        if not self._bounded:
            return Usage()
        bound = self._inner.at_most(question.messages, schema=question.schema)
        if bound is None:
            raise InfrastructureError(
                f"`{self._entry.name}` cannot tell how much this question uses at most, so its "
                "budgets of tokens and money cannot be held",
                passing=False,
            )
        return bound

    async def _in_time(self, question: Question) -> JudgeReply:
        limit = asyncio.timeout(self._deadline)
        try:
            async with limit:
                return await self._inner.ask(
                    question.messages,
                    schema=question.schema,
                    seed=question.seed,
                    logprobs=question.logprobs,
                )
        except TimeoutError:
            if not limit.expired():
                raise
            problem = f"`{self._entry.name}` did not answer within {self._deadline:g} s"
            raise _TooLateError(problem) from None


class _TooLateError(InfrastructureError):
    """A call that was given up at its deadline."""


def _final(error: InfrastructureError, tries: int) -> InfrastructureError:
    """Return the error of the last try: asking again is done here, and nowhere else."""
    problem = str(error) if tries == 1 else f"{error} (tried {tries} times)"
    return InfrastructureError(problem, retry_after=error.retry_after, passing=False)


def _copy(error: InfrastructureError) -> InfrastructureError:
    """Return an equal error: each of those who wait raises its own."""
    return InfrastructureError(str(error), retry_after=error.retry_after, passing=error.passing)

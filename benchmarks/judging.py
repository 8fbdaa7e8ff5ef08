"""What the engine costs around a judge: kept verdicts a second, and the price of one call.

The judge of both answers at once, in this process, so that what is measured is the engine: the key
of the question, the cache, single flight, the queue, the budgets. Questions are of 2 KB, as a task
and an answer are.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from measure import Result, in_turns, is_quick

from rewardhub import Judge, JudgeReply, Usage
from rewardhub.engine.judging import Judging
from rewardhub.engine.judging_cache import Verdicts
from rewardhub.spec.model import ResourceEntry

SCHEMA = {"type": "object", "properties": {"reason": {"type": "string"}, "score": {"enum": [0, 1]}}}
VERDICT = '{"reason": "' + "It follows from what was asked. " * 8 + '", "score": 1}'
USED = Usage(prompt_tokens=500, completion_tokens=60, cost=0.001)


class Instant(Judge):
    """Answers at once."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Its name."""
        return {"judge": "instant", "model": "none", "temperature": 0.0}

    def at_most(
        self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None
    ) -> Usage:
        """Return what every answer uses."""
        del messages, schema
        return USED

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        schema: Mapping[str, Any] | None = None,
        seed: int | None = None,
        logprobs: int = 0,
    ) -> JudgeReply:
        """Return the same verdict."""
        del messages, schema, seed, logprobs
        return JudgeReply(text=VERDICT, data={"score": 1}, usage=USED)


def chats(count: int) -> list[list[dict[str, str]]]:
    """Return ``count`` questions of 2 KB."""
    return [
        [
            {"role": "system", "content": "You are a careful judge. " * 20},
            {"role": "user", "content": f"Attempt {number}: " + "The answer is so and so. " * 60},
        ]
        for number in range(count)
    ]


async def ask_all(judge: Judge, questions: Sequence[list[dict[str, str]]], at_once: int) -> None:
    """Ask every question, so many at a time."""
    for start in range(0, len(questions), at_once):
        part = questions[start : start + at_once]
        await asyncio.gather(*(judge.ask(chat, schema=SCHEMA) for chat in part))


def main() -> None:
    """Print both figures."""
    count = 500 if is_quick(__doc__) else 10_000
    questions = chats(count)
    limits = {"max_concurrency": 64, "max_calls": 10**9, "max_tokens": 10**12, "max_cost": 1e9}
    entry = ResourceEntry(name="judge", use="instant", resource=Instant(), **limits)  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory() as folder:
        verdicts = Verdicts(Path(folder) / "verdicts.sqlite")
        kept = Judging(entry, verdicts)
        asyncio.run(ask_all(kept, questions, 500))
        if kept.meter.calls != count:
            raise SystemExit(f"{kept.meter.calls} requests for {count} questions")
        turn = iter(range(10**9))

        def from_cache() -> None:
            asyncio.run(ask_all(kept, questions, 500))

        def anew() -> None:
            # Another number of log probabilities makes other questions, which are kept, too.
            number = next(turn) + 1

            async def ask_anew() -> None:
                for start in range(0, count, 500):
                    part = questions[start : start + 500]
                    await asyncio.gather(*(kept.ask(chat, seed=number) for chat in part))

            asyncio.run(ask_anew())

        pair = in_turns(from_cache, anew, rounds=3)
        if kept.meter.calls != count * 5:
            raise SystemExit("a kept verdict was asked again, or a new question was not")
        verdicts.close()
    Result(
        name="Kept verdicts a second, one process",
        value=count / pair.first,
        unit="/s",
        target=10_000,
        at_least=True,
        detail=f"{count:,} questions of 2 KB from SQLite, {pair.first / count * 1e6:.0f} us each",
    ).print()
    Result(
        name="Price of one judge call beside the endpoint's, with limits, budgets and cache",
        value=pair.second / count * 1e3,
        unit="ms",
        target=1,
        at_least=False,
        detail=f"{count:,} new questions, 500 at once, 64 let in, each kept in SQLite",
    ).print()


if __name__ == "__main__":
    main()

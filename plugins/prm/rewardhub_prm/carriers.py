"""Carriers: what takes solutions to a reward model, and brings the values of their steps back."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rewardhub import Lease, Score
from rewardhub_prm.encoding import Encoded, TextEncoder
from rewardhub_prm.network import TokenModel
from rewardhub_prm.presets import Aggregation, Preset, Split, probability
from rewardhub_prm.windows import TooLong, Window, windows

PLACES = 4
"""Decimals of a value: what lies behind them moves with the batch."""


@dataclass(frozen=True, slots=True)
class Solution:
    """What a reward model is asked about: a problem, and the steps of one attempt at it."""

    problem: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Valued:
    """What a reward model says.

    Attributes:
        steps: a value in [0, 1] for each step; None where it says nothing of it.
        value: of the whole, where the model gives one; None: it follows from the steps.
        evidence: what backs it.
    """

    steps: tuple[float | None, ...]
    value: float | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Carrier(Protocol):
    """Takes solutions to a reward model.

    Attributes:
        aggregate: what makes one value of the steps' values; None where the model gives one.
        split: what a step is.
    """

    @property
    def aggregate(self) -> Aggregation | None: ...  # noqa: D102

    @property
    def split(self) -> Split: ...  # noqa: D102

    async def values(self, solutions: Sequence[Solution]) -> list[Valued | Score]:
        """Return what the model says of each, in order; a Score where it cannot be asked.

        Raises:
            InfrastructureError: if the model could not be reached, or its device broke.
        """
        ...

    def close(self) -> None:
        """Let go of the model."""
        ...


class Source(Protocol):
    """Where rows of tokens get their values: a model in this process, or a server."""

    async def shares(self, rows: Sequence[Encoded]) -> list[list[float]]:
        """Return, for each row, the share of the good class at each of its positions."""
        ...

    def close(self) -> None:
        """Let go of what serves it."""
        ...


class LocalSource:
    """A model in this process, shared by all that read it."""

    def __init__(self, lease: Lease[TokenModel], positive: int, batch_tokens: int | None) -> None:
        self._lease = lease
        self._positive = positive
        self._batch_tokens = batch_tokens

    async def shares(self, rows: Sequence[Encoded]) -> list[list[float]]:
        """Return the shares, read in a thread, so that the loop goes on."""
        model = self._lease.model
        logits = await asyncio.to_thread(model.read, rows, batch_tokens=self._batch_tokens)
        return [[probability(at, self._positive) for at in row] for row in logits]

    def close(self) -> None:
        """Give the model back."""
        self._lease.release()


class TokenCarrier:
    """Asks a model that gives its values at tokens.

    Args:
        preset: how it is asked.
        text: encodes for it.
        source: where rows get their values.
        limit: how many tokens a row may have.
        cut: whether a longer solution is read in windows; otherwise it is a graded 0.
    """

    def __init__(
        self, preset: Preset, text: TextEncoder, source: Source, *, limit: int, cut: bool
    ) -> None:
        self.aggregate: Aggregation | None = preset.aggregate
        self.split: Split = preset.split
        self._preset = preset
        self._text = text
        self._source = source
        self._limit = limit
        self._cut = cut

    async def values(self, solutions: Sequence[Solution]) -> list[Valued | Score]:
        """Return the values at each step, in order; what is too long is not asked."""
        plans = [self._plan(solution) for solution in solutions]
        rows = [window.row for plan in plans if isinstance(plan, list) for window in plan]
        shares = iter(await self._source.shares(rows))
        return [
            self._valued(plan, [next(shares) for _ in plan]) if isinstance(plan, list) else plan
            for plan in plans
        ]

    def close(self) -> None:
        """Let go of the model."""
        self._source.close()

    def _plan(self, solution: Solution) -> list[Window] | Score:
        plan = windows(
            self._preset,
            self._text,
            solution.problem,
            solution.steps,
            limit=self._limit,
            cut=self._cut,
        )
        if not isinstance(plan, TooLong):
            return plan
        bare = len(self._preset.encode(self._text, solution.problem, [""]))
        return too_long(plan.tokens, bare, self._limit, step=plan.step)

    def _valued(self, plan: Sequence[Window], shares: Sequence[Sequence[float]]) -> Valued | Score:
        values = [share for window in shares for share in window]
        broken = next((i for i, value in enumerate(values) if not math.isfinite(value)), None)
        if broken is not None:
            return no_number(f"step {broken}")
        evidence = {} if len(plan) == 1 else {"windows": [list(each.steps) for each in plan]}
        return Valued(tuple(round(value, PLACES) for value in values), evidence=evidence)


def too_long(tokens: int, bare: int, limit: int, *, step: int | None = None) -> Score:
    """Return the Score of what does not fit into a model.

    Args:
        tokens: how many it has: the whole, or the problem and ``step``.
        bare: how many the task has alone.
        limit: how many the model reads.
        step: which step alone is too long.
    """
    if bare >= limit:
        return Score.abstain(
            f"the task alone has {bare} tokens, and the reward model reads {limit}",
            evidence={"tokens": bare, "limit": limit},
        )
    what = "the solution has" if step is None else f"the task and step {step} alone have"
    return Score.of(
        0,
        f"too long: {what} {tokens} tokens, and the reward model reads {limit}",
        evidence={"tokens": tokens, "limit": limit},
    )


def no_number(where: str) -> Score:
    """Return the Score where a model gives NaN or an infinity."""
    return Score.fail(
        f"the reward model gave no finite number for {where}: its weights are damaged, or too "
        "large for its dtype",
        fault="grader",
    )

"""Batches for batch graders: rows are gathered for a moment and graded in one call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from rewardhub.engine.grade import Runner, score_of_error
from rewardhub.errors import LimitError
from rewardhub.records import Score, Trajectory

Run = Callable[[Runner, Sequence[Trajectory]], Awaitable[list[Score]]]


class Batcher:
    """Gathers the trajectories of one batch grader. Lives on the engine's loop."""

    def __init__(self, runner: Runner, run: Run) -> None:
        self._runner = runner
        self._run = run
        self._waiting: list[tuple[Trajectory, asyncio.Future[Score]]] = []
        self._tokens = 0
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def grade(self, trajectory: Trajectory) -> Score:
        """Return the Score of one trajectory, graded together with its neighbours.

        Raises:
            LimitError: if it breaks a limit by itself.
        """
        card = self._runner.entry.card
        tokens = sum(len(step.text) for step in trajectory.steps) // 4
        if card.max_tokens is not None and self._tokens + tokens > card.max_tokens:
            self._flush()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Score] = loop.create_future()
        self._waiting.append((trajectory, future))
        self._tokens += tokens
        if len(self._waiting) >= card.max_rows:
            self._flush()
        elif self._timer is None:
            self._timer = loop.call_later(card.max_wait, self._flush)
        return await future

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        batch, self._waiting, self._tokens = self._waiting, [], 0
        if batch:
            task = asyncio.get_running_loop().create_task(self._grade(batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _grade(self, batch: list[tuple[Trajectory, asyncio.Future[Score]]]) -> None:
        try:
            scores = await grade_split(self._runner, [each for each, _ in batch], self._run)
        except BaseException as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        for (_, future), score in zip(batch, scores, strict=True):
            if future.done():
                continue
            if isinstance(score, LimitError):
                future.set_exception(score)
            else:
                future.set_result(score)


async def grade_split(
    runner: Runner, trajectories: Sequence[Trajectory], run: Run
) -> list[Score | LimitError]:
    """Return what becomes of each trajectory: its Score, or the limit that it breaks by itself.

    A batch that raises is halved until the row at fault stands alone.
    """
    try:
        return list(await run(runner, trajectories))
    except Exception as error:  # noqa: BLE001  # it becomes a Score, or a limit
        if len(trajectories) == 1:
            return [score_or_limit(error, runner)]
    middle = len(trajectories) // 2
    first = await grade_split(runner, trajectories[:middle], run)
    return first + await grade_split(runner, trajectories[middle:], run)


def score_or_limit(error: Exception, runner: Runner) -> Score | LimitError:
    """Return the Score that an exception of a grader becomes, or the limit that it stands for."""
    try:
        return score_of_error(error, runner.entry, 0.0)
    except LimitError as limit:
        return limit

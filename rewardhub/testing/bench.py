"""One grader on the bench: graded in this process, and judged as the engine would."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar

from rewardhub.contracts import AnyGrader, Options, Resource, Several, Workers
from rewardhub.engine.batching import grade_split
from rewardhub.engine.faults import LimitRule
from rewardhub.engine.grade import Runner, score_of_error
from rewardhub.errors import LimitError, UsageError
from rewardhub.host import GraderCard, PluginSource, Registered
from rewardhub.records import EMPTY, Score, Trajectory
from rewardhub.records.base import build
from rewardhub.spec.model import Entry
from rewardhub.testing.fakes import CallingWorkers

T = TypeVar("T")


class Bench:
    """A grader with its options, open for grading: ``with Bench(card) as bench``.

    What the engine spreads over loops, threads and processes happens here and now; a view shows
    what the card ``reads``, and an exception becomes the same Score. Limits are not kept, so only
    the kinds of death that Python itself reports (memory, recursion) are settled by a control.
    """

    def __init__(self, card: GraderCard, grader: AnyGrader) -> None:
        self._entry = Entry(
            id=card.name.rpartition("/")[2].replace("-", "_"),
            use=card.name,
            registered=Registered(card, PluginSource("testing")),
            grader=grader,
        )
        self._limits = LimitRule()
        self._loop: asyncio.Runner | None = None

    def __enter__(self) -> Self:
        self._entry.grader.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._loop is not None:
            _outside_of_loops(self._loop.close)
        self._entry.grader.close()

    def runner(self, resources: Mapping[str, Resource | Mapping[str, Resource]] = EMPTY) -> Runner:
        """Return what grades, with ``resources`` by parameter; workers need not be given.

        A parameter that takes several resources is given a mapping of them by name.

        Raises:
            UsageError: if a resource is missing, or nobody asks for it.
        """
        signature = self._entry.card.signature
        slots = signature.slots
        name = self._entry.use
        stand_ins = {slot: CallingWorkers() for slot, kind in slots.items() if kind is Workers}
        bound: dict[str, Resource] = {**stand_ins}
        for slot, given in resources.items():
            bound[slot] = given if isinstance(given, Resource) else Several(given)
        for slot, kind in slots.items():
            if slot not in bound:
                raise UsageError(
                    f"`{name}` asks for a {kind.kind} as `{slot}`: give it by that name."
                )
            if slot in signature.several:
                _check_several(name, slot, kind, bound[slot])
            elif not isinstance(bound[slot], kind):
                wrong = type(bound[slot]).__name__
                raise UsageError(f"`{name}` asks for a {kind.kind} as `{slot}`, not a {wrong}.")
        unasked = next((slot for slot in bound if slot not in slots), None)
        if unasked is not None:
            asked = ", ".join(f"`{slot}`" for slot in slots) or "none"
            raise UsageError(f"`{name}` has no resource `{unasked}`; it asks for {asked}.")
        return Runner(self._entry, bound)

    def grade(self, runner: Runner, trajectories: Sequence[Trajectory]) -> list[Score]:
        """Return one Score for each trajectory; for group graders they are one group."""
        signature = self._entry.card.signature
        if not signature.is_async and signature.shape == "grade":
            return [self._grade_plainly(runner, each) for each in trajectories]
        return self.finish(lambda: self.agrade(runner, trajectories))

    async def agrade(self, runner: Runner, trajectories: Sequence[Trajectory]) -> list[Score]:
        """Like `grade`, on the running loop."""
        shape = self._entry.card.signature.shape
        if shape == "grade_group":
            return await self._grade_group(runner, trajectories)
        if shape == "grade":
            return [await self._by_rule(runner, each) for each in trajectories]
        scores = await grade_split(runner, trajectories, _grade_many)
        return [
            await self._by_rule(runner, trajectory) if isinstance(score, LimitError) else score
            for trajectory, score in zip(trajectories, scores, strict=True)
        ]

    async def _by_rule(self, runner: Runner, trajectory: Trajectory) -> Score:
        return await self._limits.grade(self._entry, trajectory, _attempt(runner))

    def _grade_plainly(self, runner: Runner, trajectory: Trajectory) -> Score:
        try:
            return runner.grade(trajectory)
        except LimitError:
            return self.finish(lambda: self._by_rule(runner, trajectory))

    async def _grade_group(self, runner: Runner, trajectories: Sequence[Trajectory]) -> list[Score]:
        try:
            return await _grade_many(runner, trajectories)
        except Exception as error:  # noqa: BLE001  # all that a grader may raise
            return [self._score_of(error)] * len(trajectories)

    def _score_of(self, error: Exception) -> Score:
        try:
            return score_of_error(error, self._entry, 0.0)
        except LimitError as limit:  # one group is no proof of whose fault a limit is
            return score_of_error(RuntimeError(f"the group {limit}"), self._entry, 0.0)

    def finish(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what ``make()`` gives, on the bench's one loop: clients are bound to a loop."""
        if self._loop is None:
            self._loop = asyncio.Runner()
        loop = self._loop
        return _outside_of_loops(lambda: loop.run(make()))


def _check_several(name: str, slot: str, kind: type[Resource], given: Resource) -> None:
    if isinstance(given, Several) and all(isinstance(each, kind) for each in given.values()):
        return
    raise UsageError(f"`{name}` asks for several as `{slot}`: give a mapping of {kind.kind}s.")


def _outside_of_loops(call: Callable[[], T]) -> T:
    """Return ``call()``; from a thread where a loop is running here, which allows no other."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return call()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(call).result()


def _attempt(runner: Runner) -> Any:
    async def attempt(trajectory: Trajectory, *, alone: bool) -> Score:
        del alone
        signature = runner.entry.card.signature
        if signature.shape == "grade":
            return (
                await runner.agrade(trajectory) if signature.is_async else runner.grade(trajectory)
            )
        (score,) = await grade_split(runner, [trajectory], _grade_many)
        if isinstance(score, LimitError):
            raise score
        return score

    return attempt


async def _grade_many(runner: Runner, trajectories: Sequence[Trajectory]) -> list[Score]:
    if runner.entry.card.signature.is_async:
        return await runner.agrade_many(trajectories)
    return runner.grade_many(trajectories)


def grade(
    grader: GraderCard | AnyGrader | type[AnyGrader],
    trajectory: Trajectory,
    *,
    options: Mapping[str, Any] = EMPTY,
    **resources: Resource | Mapping[str, Resource],
) -> Score:
    """Return the Score that ``grader`` gives ``trajectory``.

    The trajectory is seen through a view of the card's ``reads``, a bool or a number becomes a
    Score, and an exception becomes the Score that the engine makes of it: it is never raised.

    Args:
        grader: a card, a grader, or its class. Without a card the default ``reads`` hold.
        trajectory: what is graded.
        options: options for a card or a class.
        resources: by the grader's parameters; a mapping of them for one that takes several.
            `Workers` need not be given: calls are made here.

    Raises:
        UsageError: if a resource is missing, or the trajectory is broken, which no grader sees.
        RecordError: if the options are wrong.
    """
    if trajectory.status == "broken":
        raise UsageError("A broken trajectory is never graded: its Reward has no value.")
    with Bench(*_card_and_grader(grader, options)) as bench:
        return bench.grade(bench.runner(resources), [trajectory])[0]


def _card_and_grader(
    grader: GraderCard | AnyGrader | type[AnyGrader], options: Mapping[str, Any]
) -> tuple[GraderCard, AnyGrader]:
    if isinstance(grader, Options):
        if options:
            raise UsageError("The grader is made, so its options are set: give its class instead.")
        return _card_of(type(grader)), grader
    card = grader if isinstance(grader, GraderCard) else _card_of(grader)
    return card, build(card.grader, options)


def _card_of(grader: type[AnyGrader]) -> GraderCard:
    words = re.sub(r"(?<!^)(?=[A-Z])", "-", grader.__name__.lstrip("_")).lower()
    name = re.sub(r"[^a-z0-9]+", "-", words).strip("-") or "grader"
    return GraderCard(name=f"test/{name}", grader=grader)

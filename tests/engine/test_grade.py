"""One grader, one trajectory: whatever happens becomes a Score."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from rewardhub.contracts import BatchGrader, Grader, Job, Sandbox, Workers
from rewardhub.engine.grade import Escalate, Runner, where_of
from rewardhub.errors import InfrastructureError, LimitError, RecordError, TaskError
from rewardhub.host import GraderCard
from rewardhub.records import Score, StepValue, Trajectory
from rewardhub.spec.model import Entry
from rewardhub.testing import make_trajectory

Tell = Callable[[Any], None]
Grade = Callable[[type[Grader]], Score]
RunnerOf = Callable[[Any], Runner]


class Says(Grader):
    """Returns or raises what the test has put into ``SAYS``."""

    def grade(self, trajectory: Trajectory) -> Any:
        return _said()


class SaysLater(Grader):
    async def grade(self, trajectory: Trajectory) -> Any:
        await asyncio.sleep(0)
        return _said()


class SaysMany(BatchGrader):
    def grade_batch(self, trajectories: Sequence[Trajectory]) -> Any:
        return _said()


class Asks(Grader):
    """Sends its work to a worker, and catches all exceptions."""

    def grade(self, trajectory: Trajectory, workers: Workers) -> float:
        try:
            return workers.limited(cpu_seconds=1).call(float, "1")
        except Exception:  # noqa: BLE001
            return 0.0


class Runs(Grader):
    def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> float:
        return float(sandbox.run(Job()).status == "ok")


SAYS: list[Any] = []


def _said() -> Any:
    (said,) = SAYS
    if isinstance(said, BaseException):
        raise said
    return said


@pytest.fixture
def says() -> Callable[[Any], None]:
    """Return a function that tells the graders what to return or raise."""

    def tell(what: Any) -> None:
        SAYS[:] = [what]

    return tell


@pytest.fixture
def runner_of(entry_of: Callable[..., Entry]) -> RunnerOf:
    return lambda grader: Runner(entry_of(GraderCard(name="test/part", grader=grader)))


@pytest.fixture
def grade(runner_of: RunnerOf) -> Callable[[type[Grader]], Score]:
    """Return a function: the Score of one trajectory, by a grader of either kind."""

    def score(grader: type[Grader]) -> Score:
        runner = runner_of(grader)
        if runner.where == "loop":
            return asyncio.run(runner.agrade(make_trajectory("x")))
        return runner.grade(make_trajectory("x"))

    return score


BOTH = pytest.mark.parametrize("grader", [Says, SaysLater])


@BOTH
@pytest.mark.parametrize(("verdict", "value"), [(True, 1.0), (False, 0.0), (0.25, 0.25), (1, 1.0)])
def test_a_number_becomes_a_graded_score(
    verdict: Any, value: float, grader: type[Grader], says: Tell, grade: Grade
) -> None:
    says(verdict)
    score = grade(grader)
    assert (score.status, score.value, score.grader) == ("graded", value, "test/part")
    assert score.seconds > 0


@BOTH
def test_a_score_is_signed(grader: type[Grader], says: Tell, grade: Grade) -> None:
    says(Score.of(0.5, "half", metrics={"words": 3}, evidence={"why": "so"}, cost=0.5))
    score = grade(grader)
    assert (score.value, score.reason, score.cost) == (0.5, "half", 0.5)
    assert (dict(score.metrics), dict(score.evidence)) == ({"words": 3.0}, {"why": "so"})
    assert score.grader == "test/part"


@BOTH
@pytest.mark.parametrize(
    ("error", "status", "fault"),
    [
        (TaskError("no tests"), "abstained", "task"),
        (InfrastructureError("the endpoint is down"), "failed", "infrastructure"),
        (RecordError("no such record"), "failed", "grader"),
        (ValueError("a bug"), "failed", "grader"),
        (TimeoutError(), "failed", "grader"),
        (SystemExit(1), "failed", "grader"),
        (asyncio.CancelledError(), "failed", "grader"),
    ],
)
def test_an_exception_becomes_the_score_that_it_means(
    error: BaseException,
    status: str,
    fault: str,
    grader: type[Grader],
    says: Tell,
    grade: Grade,
) -> None:
    says(error)
    score = grade(grader)
    assert (score.status, score.fault, score.value) == (status, fault, None)
    assert str(error) in score.reason


@BOTH
@pytest.mark.parametrize(
    "error", [MemoryError(), RecursionError(), LimitError("cpu", "used more than 1 s of CPU time")]
)
def test_a_limit_is_left_to_the_engine(
    error: Exception, grader: type[Grader], says: Tell, grade: Grade
) -> None:
    says(error)
    with pytest.raises(LimitError):
        grade(grader)


def test_ctrl_c_is_no_verdict(says: Tell, grade: Grade) -> None:
    says(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        grade(Says)


def test_a_cancelled_grading_is_cancelled(runner_of: RunnerOf) -> None:
    class Waits(Grader):
        async def grade(self, trajectory: Trajectory) -> float:
            await asyncio.sleep(600)
            return 1.0

    async def cancel() -> None:
        task = asyncio.create_task(runner_of(Waits).agrade(make_trajectory("x")))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())


@pytest.mark.parametrize(
    ("value", "says_what"),
    [
        (StepValue(1, 1.0), "step 1, and there are 1 steps"),
        (StepValue(0, 1.0, 0, 2), "ends at 2, past its 1 characters"),
        (StepValue(0, 1.0, 0, 1, "reasoning"), "ends at 1, past its 0 characters"),
    ],
)
def test_a_value_for_a_place_that_is_not_there_fails(
    value: StepValue, says_what: str, says: Tell, grade: Grade
) -> None:
    says(Score.of(1.0, step_values=[value]))
    score = grade(Says)
    assert (score.status, score.fault) == ("failed", "grader")
    assert says_what in score.reason


# --- many at once ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdicts", "says_what"),
    [
        ([1.0], "1 verdicts for 2"),
        ([1.0] * 3, "3 verdicts for 2"),
        (1.0, "float"),
        ("ab", "str"),
        (None, "NoneType"),
    ],
)
def test_a_batch_has_one_verdict_for_each(
    verdicts: Any, says_what: str, says: Tell, runner_of: RunnerOf
) -> None:
    says(verdicts)
    with pytest.raises(RecordError, match=says_what):
        runner_of(SaysMany).grade_many([make_trajectory("x"), make_trajectory("y")])


def test_a_wrong_verdict_in_a_batch_is_that_rows_alone(says: Tell, runner_of: RunnerOf) -> None:
    says([1.0, float("nan"), Score.abstain("no reference")])
    trajectories = [make_trajectory(text) for text in "xyz"]
    scores = runner_of(SaysMany).grade_many(trajectories)
    assert [score.status for score in scores] == ["graded", "failed", "abstained"]


@pytest.mark.parametrize("error", [SystemExit(1), StopIteration(), asyncio.CancelledError()])
def test_a_batch_never_ends_the_thread_that_it_runs_in(
    error: BaseException, says: Tell, runner_of: RunnerOf
) -> None:
    says(error)
    with pytest.raises(RuntimeError, match=type(error).__name__):
        runner_of(SaysMany).grade_many([make_trajectory("x")])


# --- where it runs --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grader", "card", "where"),
    [
        (Says, {}, "inline"),
        (Says, {"runs_in": "process"}, "process"),
        (SaysLater, {}, "loop"),
        (SaysMany, {}, "thread"),
        (Asks, {}, "inline"),
        (Runs, {}, "thread"),
    ],
)
def test_the_signature_says_where_a_grader_runs(
    grader: Any, card: dict[str, Any], where: str
) -> None:
    assert where_of(GraderCard(name="test/part", grader=grader, **card)) == where


def test_the_first_call_of_workers_moves_the_grading(runner_of: RunnerOf) -> None:
    with pytest.raises(Escalate):
        runner_of(Asks).grade(make_trajectory("x"))

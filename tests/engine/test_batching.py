"""Batches: gathered for a moment, split until the row at fault stands alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from rewardhub.contracts import BatchGrader
from rewardhub.engine import Engine
from rewardhub.engine.batching import grade_split
from rewardhub.engine.grade import Runner
from rewardhub.errors import LimitError
from rewardhub.host import GraderCard, registry_of
from rewardhub.records import Reward, Score, Trajectory
from rewardhub.spec.model import Entry
from rewardhub.testing import make_trajectory

SpecOf = Callable[..., dict[str, Any]]

BATCHES: list[list[str]] = []


class Batches(BatchGrader):
    """Notes each call; breaks in some way if an answer says so."""

    def grade_batch(self, trajectories: Sequence[Trajectory]) -> Any:
        texts = [each.final_text for each in trajectories]
        BATCHES.append(texts)
        if "raise" in texts:
            raise ValueError("a bug")
        if "exit" in texts:
            raise SystemExit(0)
        if "deep" in texts:
            raise RecursionError
        if "timeout" in texts:
            raise TimeoutError("the endpoint")
        return [1.0 for _ in texts][: None if "short" not in texts else -1]


class BatchesLater(Batches):
    async def grade_batch(self, trajectories: Sequence[Trajectory]) -> Any:
        await asyncio.sleep(0)
        return super().grade_batch(trajectories)


@pytest.fixture(params=[Batches, BatchesLater])
def score_all(request: pytest.FixtureRequest, spec_of: SpecOf) -> Callable[..., Any]:
    """Return a function: the Scores of some texts, in batches of at most four rows."""
    BATCHES.clear()

    def score(*texts: str, **card: Any) -> list[Score]:
        sizes: dict[str, Any] = {"max_rows": 4, "max_wait": 0.05, **card}
        registry = registry_of(GraderCard(name="test/batch", grader=request.param, **sizes))
        with Engine(spec_of({"use": "test/batch"}), registry=registry) as engine:
            rewards = engine.score_all(make_trajectory(text) for text in texts)
            return [_score(reward) for reward in rewards]

    return score


def _score(reward: Reward) -> Score:
    score = reward.part("batch").score
    assert score is not None
    return score


def _values(scores: list[Score]) -> list[float | None]:
    return [score.value for score in scores]


def test_grades_as_many_rows_at_once_as_the_card_says(score_all: Callable[..., Any]) -> None:
    assert _values(score_all(*"abcdefgh", max_wait=600.0)) == [1.0] * 8
    assert sorted(map(len, BATCHES)) == [4, 4]
    assert [text for batch in BATCHES for text in batch] == list("abcdefgh")


def test_does_not_wait_for_ever_for_more_rows(score_all: Callable[..., Any]) -> None:
    assert _values(score_all("a", max_wait=0.01)) == [1.0]
    assert BATCHES == [["a"]]


def test_grades_as_many_tokens_at_once_as_the_card_says(score_all: Callable[..., Any]) -> None:
    texts = ["x" * 40] * 6  # ten tokens each
    assert _values(score_all(*texts, max_rows=6, max_tokens=25)) == [1.0] * 6
    assert max(map(len, BATCHES)) == 2


def test_a_row_over_the_limit_of_tokens_is_graded_by_itself(
    score_all: Callable[..., Any],
) -> None:
    assert _values(score_all("x" * 400, "y", max_tokens=25)) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("word", "says"), [("raise", "ValueError: a bug"), ("exit", "SystemExit"),
                       ("timeout", "TimeoutError: the endpoint"), ("short", "0 verdicts for 1")],
)  # fmt: skip
def test_the_row_at_fault_stands_alone(word: str, says: str, score_all: Callable[..., Any]) -> None:
    scores = score_all("a", "b", word, "d")
    assert _values(scores) == [1.0, 1.0, None, 1.0]
    assert (scores[2].status, scores[2].fault) == ("failed", "grader")
    assert says in scores[2].reason
    assert [word] in BATCHES


def test_an_answer_that_breaks_a_limit_is_judged_by_its_control(
    score_all: Callable[..., Any],
) -> None:
    scores = score_all("a", "deep", "c", "d")
    assert _values(scores) == [1.0, 0.0, 1.0, 1.0]
    assert "could not be processed" in scores[1].reason


def test_rows_arrive_after_conditions(spec_of: SpecOf) -> None:
    BATCHES.clear()
    registry = registry_of(
        GraderCard(name="test/first", grader=Batches, max_wait=0.01),
        GraderCard(name="test/batch", grader=Batches, max_wait=0.01),
    )
    spec = spec_of({"use": "test/first"}, {"use": "test/batch", "when": "first == 1"})
    with Engine(spec, registry=registry) as engine:
        engine.score(make_trajectory("raise"))
    assert BATCHES == [["raise"]]


def test_a_batch_is_halved_until_the_row_stands_alone(entry_of: Callable[..., Entry]) -> None:
    runner = Runner(entry_of(GraderCard(name="test/batch", grader=Batches)))
    sizes: list[int] = []

    async def run(_runner: Runner, trajectories: Sequence[Trajectory]) -> list[Score]:
        sizes.append(len(trajectories))
        return runner.grade_many(trajectories)

    texts = ["a", "b", "c", "deep", "e", "f", "g", "raise"]
    results = asyncio.run(grade_split(runner, [make_trajectory(text) for text in texts], run))
    assert sizes == [8, 4, 2, 2, 1, 1, 4, 2, 2, 1, 1]
    assert isinstance(results[3], LimitError)
    assert isinstance(results[7], Score)
    assert results[7].status == "failed"
    assert [getattr(each, "value", None) for each in results] == [1, 1, 1, None, 1, 1, 1, None]

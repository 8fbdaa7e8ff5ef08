"""What is tried again, and whose fault a limit is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from rewardhub.contracts import Grader, Verdict
from rewardhub.engine import faults
from rewardhub.engine.faults import LimitRule, SlowMachineError, with_retries
from rewardhub.errors import LimitError
from rewardhub.host import GraderCard
from rewardhub.records import Score, Trajectory
from rewardhub.spec.model import Entry
from rewardhub.testing import make_trajectory

CPU = LimitError("cpu", "used more than 2 s of CPU time")
SLOW = SlowMachineError("wall", "took longer than 2 s")
FULL = Score.of(1.0)
DOWN = Score.fail("the endpoint is down", fault="infrastructure", cost=0.25)


class Plain(Grader):
    def grade(self, trajectory: Trajectory) -> Verdict:
        return 1.0


@pytest.fixture(scope="module")
def entry(entry_of: Callable[..., Entry]) -> Entry:
    return entry_of(GraderCard(name="test/plain", grader=Plain))


class Scripted:
    """Stands for grading: what comes of the text, of its control, and of an empty task."""

    def __init__(self, text: Any, control: Any = FULL, empty: Any = FULL) -> None:
        self.outcomes: Mapping[str, list[Any]] = {
            "text": list(text) if isinstance(text, list) else [text, text],
            "control": [control],
            "empty": [empty],
        }
        self.asked: list[tuple[str, bool]] = []

    async def __call__(self, trajectory: Trajectory, *, alone: bool) -> Score:
        kind = "text"
        if trajectory.id == "control":
            kind = "empty" if trajectory.task.id == "empty" else "control"
            assert trajectory.final_text == ""
        self.asked.append((kind, alone))
        outcome = self.outcomes[kind].pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        assert isinstance(outcome, Score)
        return outcome


@pytest.fixture
def judge(entry: Entry) -> Callable[[Scripted], Score]:
    """Return a function: what a new rule makes of a scripted grading."""

    def decide(attempt: Scripted) -> Score:
        trajectory = make_trajectory("a text", prompt="what?")
        return asyncio.run(LimitRule().grade(entry, trajectory, attempt))

    return decide


# --- the control rule -----------------------------------------------------------------------------


def test_a_grading_within_its_limits_is_what_it_is(judge: Callable[[Scripted], Score]) -> None:
    attempt = Scripted([FULL])
    assert judge(attempt) is FULL
    assert attempt.asked == [("text", False)]


def test_a_limit_that_does_not_come_back_alone_is_forgotten(
    judge: Callable[[Scripted], Score],
) -> None:
    attempt = Scripted([CPU, FULL])
    assert judge(attempt) is FULL
    assert attempt.asked == [("text", False), ("text", True)]


def test_a_text_that_breaks_limits_which_its_control_keeps_is_graded_zero(
    judge: Callable[[Scripted], Score],
) -> None:
    attempt = Scripted(CPU)
    score = judge(attempt)
    assert (score.status, score.value, score.grader) == ("graded", 0.0, "test/plain")
    assert score.reason == "the answer could not be processed: it used more than 2 s of CPU time"
    assert score.evidence["tries"] == ("used more than 2 s of CPU time",) * 2
    assert attempt.asked == [("text", False), ("text", True), ("control", True)]


def test_a_control_that_cannot_be_graded_has_kept_its_limits(
    judge: Callable[[Scripted], Score],
) -> None:
    assert judge(Scripted(CPU, control=Score.abstain("no reference"))).value == 0.0


def test_a_task_whose_control_breaks_limits_abstains(judge: Callable[[Scripted], Score]) -> None:
    attempt = Scripted(CPU, control=CPU)
    score = judge(attempt)
    assert (score.status, score.fault) == ("abstained", "task")
    assert "with an empty answer" in score.reason
    assert attempt.asked[-1] == ("empty", True)


def test_a_grader_that_breaks_on_an_empty_task_has_failed(
    judge: Callable[[Scripted], Score],
) -> None:
    score = judge(Scripted(CPU, control=CPU, empty=CPU))
    assert (score.status, score.fault) == ("failed", "grader")
    assert "on an empty task, too, it used more than 2 s of CPU time" in score.reason


def test_a_slow_machine_is_nobodys_verdict(judge: Callable[[Scripted], Score]) -> None:
    attempt = Scripted([CPU, SLOW])
    score = judge(attempt)
    assert (score.status, score.fault) == ("failed", "infrastructure")
    assert "too slow to tell" in score.reason
    assert len(attempt.asked) == 2


def test_a_slow_machine_says_nothing_of_the_control(entry: Entry) -> None:
    rule = LimitRule()
    trajectory = make_trajectory("a text")
    first = asyncio.run(rule.grade(entry, trajectory, Scripted(CPU, control=SLOW)))
    assert first.fault == "infrastructure"
    again = asyncio.run(rule.grade(entry, trajectory, Scripted(CPU)))
    assert again.value == 0.0
    assert not rule.broken


def test_the_control_of_a_task_is_run_once(entry: Entry) -> None:
    rule = LimitRule()
    task = make_trajectory("x", prompt="what?").task
    for text in ("one", "two"):
        attempt = Scripted(CPU)
        asyncio.run(rule.grade(entry, make_trajectory(text, task=task), attempt))
    assert attempt.asked == [("text", False), ("text", True)]
    other = Scripted(CPU)
    asyncio.run(rule.grade(entry, make_trajectory("one", prompt="another"), other))
    assert other.asked[-1] == ("control", True)


def test_a_grader_that_breaks_on_an_empty_task_is_not_run_again(entry: Entry) -> None:
    rule = LimitRule()
    asyncio.run(rule.grade(entry, make_trajectory("x"), Scripted(CPU, control=CPU, empty=CPU)))
    attempt = Scripted(CPU)
    score = asyncio.run(rule.grade(entry, make_trajectory("y"), attempt))
    assert (score.status, score.fault, attempt.asked) == ("failed", "grader", [])
    assert rule.broken == {entry.identity: "used more than 2 s of CPU time"}


def test_names_of_processes_that_differ_from_run_to_run_are_left_out(
    judge: Callable[[Scripted], Score],
) -> None:
    left = LimitError("survivors", "left 1 process behind: sleep 600 (pid 4711)")
    assert judge(Scripted(left)).reason.endswith("it left 1 process behind")


# --- trying again ---------------------------------------------------------------------------------


class Pauses(list[float]):
    """Notes the pauses, and takes none."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


def _results(*tries: list[Score]) -> Callable[[], Awaitable[list[Score]]]:
    left = list(tries)

    async def grade() -> list[Score]:
        return left.pop(0)

    return grade


@pytest.mark.parametrize(
    "score",
    [
        FULL,
        Score.of(0.0),
        Score.abstain("why"),
        Score.fail("bug", fault="grader"),
        Score.fail("wrong key", fault="infrastructure", evidence={"passing": False}),
    ],
)
def test_only_infrastructure_that_may_come_back_is_tried_again(score: Score) -> None:
    pauses = Pauses()
    assert asyncio.run(with_retries(_results([score]), pauses)) == [score]
    assert pauses == []


def test_what_comes_back_is_tried_again_with_the_pauses_of_the_table() -> None:
    pauses = Pauses()
    (score,) = asyncio.run(with_retries(_results([DOWN], [DOWN], [FULL]), pauses))
    assert score.value == 1.0
    assert pauses == list(faults.RETRIES["infrastructure"].pauses[:2])


def test_tries_and_what_they_cost_are_in_the_evidence() -> None:
    (score,) = asyncio.run(with_retries(_results([DOWN], [FULL]), Pauses()))
    assert score.evidence["tries"] == (
        {"reason": "the endpoint is down", "seconds": 0.0, "cost": 0.25},
    )


def test_what_never_comes_back_has_failed_after_the_last_try() -> None:
    pauses = Pauses()
    (score,) = asyncio.run(with_retries(_results(*[[DOWN]] * 4), pauses))
    assert (score.status, score.fault) == ("failed", "infrastructure")
    assert len(score.evidence["tries"]) == len(pauses) == 3


def test_a_group_is_tried_again_as_a_whole() -> None:
    first, second = asyncio.run(with_retries(_results([FULL, DOWN], [FULL, FULL]), Pauses()))
    assert (first.value, second.value) == (1.0, 1.0)
    assert second.evidence["tries"][0]["reason"] == "the endpoint is down"

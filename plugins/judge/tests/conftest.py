"""What the tests of the graders share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest
from rewardhub_judge.graders import grader_cards

from rewardhub import GraderCard, JudgeReply, Score, Trajectory
from rewardhub.testing import FakeJudge, fake_judge, grade, make_trajectory
from rewardhub.testing.bench import Bench

Given = str | Mapping[str, Any] | JudgeReply | Exception
Graded = Callable[..., tuple[Score, FakeJudge]]
Compared = Callable[..., tuple[list[Score], FakeJudge]]


@pytest.fixture(scope="session")
def cards() -> dict[str, GraderCard]:
    return {card.name: card for card in grader_cards()}


@pytest.fixture
def graded(cards: dict[str, GraderCard]) -> Graded:
    """Return a function that grades one answer, and gives the Score and the judge."""

    def run(
        name: str, answer: str | Trajectory, replies: Iterable[Given], **options: Any
    ) -> tuple[Score, FakeJudge]:
        judge = fake_judge(replies)
        trajectory = (
            make_trajectory(answer, prompt="What is 2 + 2?", reference="4")
            if isinstance(answer, str)
            else answer
        )
        return grade(cards[name], trajectory, options=options, judge=judge), judge

    return run


@pytest.fixture
def compared(cards: dict[str, GraderCard]) -> Compared:
    """Return a function that grades a group of answers, and gives the Scores and the judge."""

    def run(
        name: str, answers: Iterable[str], replies: Iterable[Given], **options: Any
    ) -> tuple[list[Score], FakeJudge]:
        judge = fake_judge(replies)
        members = [make_trajectory(answer, prompt="Say something.") for answer in answers]
        card = cards[name]
        with Bench(card, card.grader.model_validate(options)) as bench:
            return bench.grade(bench.runner({"judge": judge}), members), judge

    return run

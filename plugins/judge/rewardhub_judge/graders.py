"""The cards of the pack's graders."""

from __future__ import annotations

from collections.abc import Iterator

from rewardhub import GraderCard
from rewardhub_judge.criteria import Criteria
from rewardhub_judge.pairwise import Pairwise
from rewardhub_judge.panel import Panel
from rewardhub_judge.rank import Rank
from rewardhub_judge.reference import Reference
from rewardhub_judge.steps import Steps, Turns

__all__ = ["grader_cards"]

_ANSWER = ("final_text", "task.messages")
# A check that an option can stand in for is a path that the grader reads, not one of the card's
# `checks`: those must be on every task.
_CRITERIA = "task.checks.judge"


def grader_cards() -> Iterator[GraderCard]:
    """Yield the cards.

    A model answers, so no grader is deterministic and no Score is kept: replies are, instead.
    """
    yield GraderCard(
        name="judge/criteria", grader=Criteria, reads=(*_ANSWER, _CRITERIA), deterministic=False
    )
    yield GraderCard(
        name="judge/reference",
        grader=Reference,
        reads=(*_ANSWER, "task.reference"),
        deterministic=False,
    )
    yield GraderCard(
        name="judge/steps",
        grader=Steps,
        reads=("steps.text", "steps.reasoning", "task.messages"),
        gives=("steps",),
        deterministic=False,
    )
    yield GraderCard(
        name="judge/turns",
        grader=Turns,
        reads=("steps.text", "steps.tool_calls", "steps.observations", "task.messages"),
        gives=("steps",),
        deterministic=False,
    )
    yield GraderCard(name="judge/pairwise", grader=Pairwise, reads=_ANSWER, deterministic=False)
    yield GraderCard(name="judge/rank", grader=Rank, reads=_ANSWER, deterministic=False)
    yield GraderCard(
        name="judge/panel",
        grader=Panel,
        reads=(*_ANSWER, _CRITERIA, "task.reference"),
        deterministic=False,
    )

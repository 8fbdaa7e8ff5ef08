"""Long attempts cost a fixed amount a step: counted in calls, not in seconds."""

import sys
from typing import Any

import pytest
import rewardhub_agent

from rewardhub import GraderCard, Trajectory
from rewardhub.testing import grade, make_trajectory, registry_of

REGISTRY = registry_of(rewardhub_agent)
CARDS = [REGISTRY.grader(card.name).card for card in rewardhub_agent.rewardhub_graders()]
TOOLS = [
    {"name": name, "parameters": {"properties": {"page": {"type": "integer"}}}}
    for name in ("read", "write", "finish")
]
CHECKS: dict[str, Any] = {
    "tool_calls": {"accepted": [{"read": {"page": [n]}} for n in range(3)]},
    "goal_state": {"expected": {"pages": 1}},
    "outputs": {"told": ["done"], "not_told": ["41"]},
    "progress": {"milestones": [{"call": {"read": {"page": [-7]}}}, {"state": {"/pages": -1}}]},
    "stops": {"done": [{"call": "finish"}]},
    "asks": {"needed": ["name"], "before": ["finish"]},
    "call_order": {"before": [["read", "finish"]]},
}


def step(number: int, last: bool) -> dict[str, Any]:
    """Every fifth call fails, every seventh repeats the first, every third step only talks."""
    if number % 3 == 2 and not last:
        return {"text": f"So far I have read {number} pages. Which name?"}
    page = 0 if number % 7 == 0 else number
    content = "Error: no such page" if number % 5 == 0 else f"page {page}"
    name = "finish" if last else "read" if number % 2 else "write"
    return {
        "tool_calls": [{"id": "a", "name": name, "arguments": {"page": page}}],
        "observations": [{"call_id": "a", "content": content}],
        "state": {"pages": number // 2},
    }


def attempt(steps: int) -> Trajectory:
    made = [step(number, number == steps - 1) for number in range(steps)]
    return make_trajectory(made, tools=TOOLS, checks=CHECKS, metadata={"success": True})


SHORT, LONG = attempt(420), attempt(4200)  # multiples of all the periods


def calls_made(card: GraderCard, trajectory: Trajectory) -> int:
    """Return how many calls of functions, Python's and C's, one grading makes."""
    count = 0

    def tick(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(tick)
    try:
        score = grade(card, trajectory)
    finally:
        sys.setprofile(None)
    assert score.status == "graded", score.reason
    return count


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_ten_times_the_steps_make_at_most_ten_times_the_calls(card: GraderCard) -> None:
    calls_made(card, SHORT)  # fills what is kept between attempts
    assert calls_made(card, LONG) <= 10.2 * calls_made(card, SHORT)


def test_ten_thousand_steps_are_graded() -> None:
    card = REGISTRY.grader("agent/no-loops").card
    score = grade(card, attempt(10_000))
    assert score.status == "graded"
    assert score.metrics["faults"] > 100

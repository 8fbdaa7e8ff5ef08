"""Whatever an attempt looks like, it is graded or its task is at fault; nothing crashes."""

from typing import Any

import rewardhub_agent
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardhub.testing import grade, make_trajectory, registry_of

REGISTRY = registry_of(rewardhub_agent)
CARDS = [REGISTRY.grader(card.name).card for card in rewardhub_agent.rewardhub_graders()]
TOOLS = [
    {"name": "find", "parameters": {"properties": {"name": {"type": "string"}}}},
    {"name": "pay.now", "parameters": {"properties": {"sum": {"type": "number"}}}},
]
CHECKS: dict[str, Any] = {
    "tool_calls": {"accepted": [{"find": {"name": ["Ada", ""]}}, {"pay.now": {"sum": [1]}}]},
    "goal_state": {"expected": {"n": [1, {"a": None}]}},
    "outputs": {"told": ["10", ["Ada", "Bo"]], "not_told": ["11"]},
    "progress": {"milestones": [{"call": "find"}, {"said": "10"}, {"state": {"/n/0": 1}}]},
    "stops": {"done": [{"result": "ok"}]},
    "asks": {"needed": ["name"], "given": ["date"]},
    "call_order": {"before": [["find", "pay.now"]]},
}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["name", "sum", "n", "a"]) | st.text(max_size=3), inner),
    max_leaves=6,
)  # fmt: skip
IDS = st.sampled_from(["", "a", "b"])
TEXTS = st.sampled_from(
    ["", "ok", "Error: no", '{"error": 1}', "[1]", "10", "Which name?", '{"success": false}']
) | st.text(max_size=20)
CALLS = st.fixed_dictionaries(
    {
        "id": IDS,
        "name": st.sampled_from(["find", "pay.now", "pay_now", "fly"]) | st.text(max_size=4),
        "arguments": st.sampled_from(["", "{", "null", '{"name": 1}']) | JSON,
    }
)
RESULTS = st.fixed_dictionaries(
    {"call_id": IDS, "content": TEXTS, "error": st.none() | TEXTS, "exit_code": st.none() | IDS}
).map(lambda each: {**each, "exit_code": None if each["exit_code"] in {None, ""} else 1})
STEPS = st.fixed_dictionaries(
    {
        "text": TEXTS,
        "tool_calls": st.lists(CALLS, max_size=3),
        "observations": st.lists(RESULTS, max_size=3),
        "state": st.none() | JSON,
    }
)


@settings(max_examples=40, deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=5), st.sampled_from(["completed", "truncated"]))
def test_any_attempt_is_graded_or_its_task_is_at_fault(
    steps: list[dict[str, Any]], status: str
) -> None:
    trajectory = make_trajectory(steps, status=status, tools=TOOLS, checks=CHECKS)
    for card in CARDS:
        score = grade(card, trajectory)
        assert score.status in {"graded", "abstained"}, (card.name, score.reason)
        assert {each.step for each in score.step_values} <= set(range(len(steps)))


@settings(max_examples=40, deadline=None)
@given(STEPS, st.dictionaries(st.sampled_from(sorted(CHECKS)), JSON), st.lists(JSON, max_size=2))
def test_any_check_is_read_or_refused(
    step: dict[str, Any], checks: dict[str, Any], tools: list[Any]
) -> None:
    listed = [each for each in tools if isinstance(each, dict)]
    trajectory = make_trajectory([step], tools=listed, checks=checks)
    for card in CARDS:
        score = grade(card, trajectory)
        assert score.status in {"graded", "abstained"}, (card.name, score.reason)

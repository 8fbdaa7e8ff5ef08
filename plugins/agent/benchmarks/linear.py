# ruff: noqa: D103, T201  # a script: its output is its documentation
"""What a step costs in an attempt of 10,000 steps, beside one of 1,000: 1.0 is linear.

Run from the repository root: ``python plugins/agent/benchmarks/linear.py``. Records are made
before the clock starts, which counts processor time. Each figure is the best of seven runs, taken
in turn, without the garbage collector, which looks at all that is alive, the records included.
Group graders are left out: they do nothing to a step but by the graders here.
"""

import gc
import time
from typing import Any

import rewardhub_agent

from rewardhub import GraderCard, Trajectory
from rewardhub.testing import grade, make_trajectory

SHORT, LONG = 1_000, 10_000
TOOLS = [
    {
        "name": name,
        "parameters": {
            "type": "object",
            "properties": {"page": {"type": "integer"}},
            "required": ["page"],
        },
    }
    for name in ("read", "write", "finish")
]
CHECKS: dict[str, Any] = {
    "tool_calls": {"accepted": [{"read": {"page": [n]}} for n in range(3)]},
    "goal_state": {"expected": {"pages": 1}},
    "outputs": {"told": ["done", "42"], "not_told": ["41"]},
    "progress": {"milestones": [{"call": {"read": {"page": [7]}}}, {"state": {"/pages": -1}}]},
    "stops": {"done": [{"call": "finish"}]},
    "asks": {"needed": ["name"], "before": ["finish"]},
    "call_order": {"before": [["read", "finish"], ["write", "finish"]]},
}


def step(number: int, last: bool) -> dict[str, Any]:
    """Every fifth call fails, every seventh repeats the first, every third step only talks."""
    if number % 3 == 2:
        return {"text": f"So far I have read {number} pages. Which name?"}
    page = 0 if number % 7 == 0 else number
    name = "finish" if last else "read" if number % 2 else "write"
    content = "Error: no such page" if number % 5 == 0 else f"page {page}"
    return {
        "text": "",
        "tool_calls": [{"id": "a", "name": name, "arguments": {"page": page}}],
        "observations": [{"call_id": "a", "content": content}],
        "state": {"pages": number // 2},
    }


def attempt(steps: int) -> Trajectory:
    made = [step(number, number == steps - 1) for number in range(steps)]
    return make_trajectory(made, tools=TOOLS, checks=CHECKS, metadata={"success": True})


def seconds(card: GraderCard, trajectory: Trajectory) -> float:
    start = time.process_time()
    score = grade(card, trajectory)
    spent = time.process_time() - start
    assert score.status == "graded", score.reason
    return spent


def main() -> None:
    short, long = attempt(SHORT), attempt(LONG)
    gc.disable()
    print(f"{'grader':<24} {f'{LONG:,} steps':>14} {'a step':>9} {'ratio per step':>16}")
    for card in rewardhub_agent.rewardhub_graders():
        if card.signature.shape == "grade_group":
            continue
        runs = [(seconds(card, short), seconds(card, long)) for _ in range(7)]
        fast, slow = min(run[0] for run in runs), min(run[1] for run in runs)
        ratio = (slow / LONG) / (fast / SHORT)
        print(f"{card.name:<24} {slow * 1e3:>11.1f} ms {slow / LONG * 1e6:>6.1f} us {ratio:>16.2f}")
        gc.collect()


if __name__ == "__main__":
    main()

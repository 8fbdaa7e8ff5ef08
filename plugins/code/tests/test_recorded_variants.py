"""Attempts that others recorded, on inputs that nobody showed them. Their data is never shipped."""

import gzip
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import rewardhub_code

from rewardhub import Sandbox, Score
from rewardhub.testing import grade, make_trajectory, registry_of

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("REWARDHUB_DATA", ROOT.parent / "shared" / "data")) / "code"
CARD = registry_of(rewardhub_code).grader("code/hidden-variants").card

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"there is no {DATA}: set REWARDHUB_DATA")


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress((DATA / name).read_bytes()).splitlines()]


def judged(sandbox: Sandbox, problem: dict[str, Any], prompt: str, solution: str) -> Score:
    check = {
        "entry_point": problem["entry_point"],
        "prompt": prompt,
        "unit_tests": {"check": problem["test"]},
    }
    reference = problem["prompt"] + problem["canonical_solution"]
    attempt = make_trajectory(solution, reference=reference, checks={"code": check})
    return grade(CARD, attempt, options={"count": 20}, sandbox=sandbox)


@needs_data
@pytest.mark.timeout(600)
def test_mostly_agrees_with_recorded_verdicts(local: Sandbox) -> None:
    problems = {row["task_id"]: row for row in rows("HumanEval.jsonl.gz")}
    attempts = [row for row in rows("reflexion_runs.jsonl.gz") if row["name"] in problems]
    solved: Counter[float | None] = Counter()
    passed_unsolved: set[str] = set()
    for number, row in enumerate(attempts):
        if row["is_solved"] and number % 3:
            continue  # all of them take minutes
        score = judged(local, problems[row["name"]], row["prompt"], row["solution"])
        assert score.status != "failed"
        if row["is_solved"]:
            solved[score.value] += 1
        elif score.value == 1:
            passed_unsolved.add(row["name"])
    assert solved.total() > 30
    assert solved[1.0] >= 0.85 * solved.total()
    assert solved[None] <= 0.05 * solved.total()
    # Variants add to tests and do not stand in for them: an input at the edge may not come up.
    assert len(passed_unsolved) <= 2

"""Verdicts that others recorded, reproduced. Their data is read, never shipped."""

import gzip
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import rewardhub_code

from rewardhub import Sandbox, Score
from rewardhub.testing import grade, make_trajectory, registry_of

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("REWARDHUB_DATA", ROOT.parent / "shared" / "data")) / "code"
CARD = registry_of(rewardhub_code).grader("code/unit-tests").card
RUNS = ("simple_human_eval", "simple_test_run", "simple_mbpp", "reflexion_mbpp")

# What the README of the data says of rows whose recorded verdict does not hold: what their Score
# says, too. The first group passes now; the second calls a function that nobody defines.
RIGHT_AFTER_ALL = {
    ("HumanEval/91", "gpt-4"),
    ("mbpp_170", "gpt-4"),
    ("mbpp_724", "gpt-4+reflexion"),
    ("mbpp_798", "gpt-4"),
}
WRONG_AFTER_ALL = {
    ("HumanEval/143", "text-davinci-003"),
    ("HumanEval/150", "text-davinci-003"),
}

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"there is no {DATA}: set REWARDHUB_DATA")


def rows(name: str) -> list[dict[str, Any]]:
    path = DATA / name
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.splitlines()]


def mark(
    sandbox: Sandbox, answer: str, check: dict[str, Any], reference: str | None = None
) -> Score:
    given = {} if reference is None else {"reference": reference}
    trajectory = make_trajectory(answer, checks={"code": check}, **given)
    return grade(CARD, trajectory, sandbox=sandbox)


def humaneval(row: dict[str, Any]) -> tuple[str, dict[str, Any], str]:
    """Return the reference as an answer, the check, and the reference."""
    check = {
        "entry_point": row["entry_point"],
        "prompt": row["prompt"],
        "unit_tests": {"check": row["test"]},
    }
    return row["canonical_solution"], check, row["canonical_solution"]


def mbpp(row: dict[str, Any]) -> tuple[str, dict[str, Any], str]:
    tests = {
        "asserts": [*row["test_list"], *row["challenge_test_list"]],
        "setup": row["test_setup_code"],
    }
    return f"```python\n{row['code']}\n```", {"unit_tests": tests}, row["code"]


def reflexion(row: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    check = {
        "entry_point": row["entry_point"],
        "prompt": row["prompt"],
        "preamble": "import math",  # their harness ran solutions where it was imported
        "unit_tests": {"script" if row["dataset"] == "mbpp_py" else "check": row["test"]},
    }
    whole = row["solution_kind"] == "function"
    return f"```python\n{row['solution']}\n```" if whole else row["solution"], check


def short_name(row: dict[str, Any]) -> tuple[str, str]:
    """Return the name of a row without that of its function, and the model's."""
    name = row["name"]
    return "_".join(name.split("_")[:2]) if name.startswith("mbpp") else name, row["generator"]


@needs_data
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("file", "task", "count"),
    [("HumanEval.jsonl.gz", humaneval, 164), ("mbpp_test.jsonl", mbpp, 103)],
)
def test_every_reference_passes_its_tests_apart_from_them(
    local: Sandbox, file: str, task: Any, count: int
) -> None:
    with ThreadPoolExecutor(2) as threads:
        scores = list(threads.map(lambda row: mark(local, *task(row)), rows(file)))
    assert len(scores) >= count
    assert [score for score in scores if score.value != 1.0] == []
    assert {score.evidence["trust"] for score in scores} == {"split"}


@needs_data
@pytest.mark.timeout(600)
@pytest.mark.parametrize("run", RUNS)
def test_recorded_verdicts_agree_but_for_the_explained_rows(local: Sandbox, run: str) -> None:
    of_run = [row for row in rows("reflexion_runs.jsonl.gz") if row["run"].startswith(run)]
    with ThreadPoolExecutor(2) as threads:
        scores = list(threads.map(lambda row: mark(local, *reflexion(row)), of_run))
    assert len(scores) > 50
    for row, score in zip(of_run, scores, strict=True):
        if short_name(row) in RIGHT_AFTER_ALL:
            assert not row["is_solved"]
            assert [test["passed"] for test in score.evidence["tests"]] == [True]
        elif short_name(row) in WRONG_AFTER_ALL:
            assert row["is_solved"]
            (test,) = score.evidence["tests"]
            assert "name 'is_prime' is not defined" in test["reason"]
        else:
            assert score.value == float(row["is_solved"]), (row["name"], score.reason)

"""Verdicts that others recorded, reproduced. Their data is read, never shipped."""

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rewardhub_math import Equivalent

from rewardhub.testing import grade, make_trajectory

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("REWARDHUB_DATA", ROOT.parent / "shared" / "data")) / "math"
MODELS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")
# Its reference has a box that is never closed, so it cannot be read.
MISSES = {r"\\boxed{W(n) = 1 \\text{ and } W(n) = -1"}

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"there is no {DATA}: set REWARDHUB_DATA")


def rows(name: str) -> Iterator[dict[str, Any]]:
    path = DATA / name
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    yield from map(json.loads, data.splitlines())


def mark(text: str, reference: str, **options: Any) -> float | None:
    return grade(Equivalent, make_trajectory(text, reference=reference), options=options).value


@needs_data
@pytest.mark.parametrize("model", MODELS)
def test_reproduces_every_recorded_verdict_on_gsm8k(model: str) -> None:
    marked = [
        (mark(row[model]["solution"], row["ground_truth"]), float(row[model]["is_correct"]))
        for row in rows("gsm8k_model_solutions.jsonl")
    ]
    assert len(marked) > 100
    assert [pair for pair in marked if pair[0] != pair[1]] == []


@needs_data
def test_agrees_with_the_cases_of_math_verify() -> None:
    names = {
        "precision": "precision",
        "allow_set_relation_comp": "allow_set_relation",
        "strict": "strict",
    }
    cases = list(rows("math_verify_cases.jsonl"))
    wrong: list[tuple[str, int, float | None]] = []
    for row in cases:
        options = {names[key]: row[key] for key in names if key in row}
        value = mark(row["pred"], row["gold"], **options)
        if value != row["expected"]:
            wrong.append((row["gold"], row["expected"], value))
    assert len(cases) > 100
    assert len(wrong) <= 0.02 * len(cases)
    assert {gold for gold, _, _ in wrong} <= MISSES
    assert [case for case in wrong if case[1] == 0] == []


@needs_data
def test_gives_every_reference_solution_of_math500_full_marks() -> None:
    values = [mark(row["solution"], row["answer"]) for row in rows("math500.jsonl.gz")]
    assert values == [1.0] * 500


@needs_data
def test_gives_every_solution_of_gsm8k_full_marks_and_an_altered_one_none() -> None:
    for row in rows("gsm8k_test.jsonl.gz"):
        assert mark(row["answer"], row["answer"]) == 1
        assert mark(row["answer"] + "1", row["answer"]) == 0

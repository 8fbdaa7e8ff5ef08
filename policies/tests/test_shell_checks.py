import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import rewardhub_policies

from rewardhub import GraderCard, Sandbox, Score, Trajectory, hookimpl
from rewardhub.testing import check_cases, grade, registry_of

CASES = Path(__file__).with_name("cases.jsonl")
(CARD,) = rewardhub_policies.rewardhub_graders()
SECRET = "seven silver herons"


class Measuring:
    """The pack, for the kit: it compares whole Scores, and a sandbox may be slow once."""

    @hookimpl
    def rewardhub_graders(self) -> Iterator[GraderCard]:
        yield replace(CARD, deterministic=False)


def attempt(checks: list[Any], files: dict[str, Any], **fields: Any) -> Trajectory:
    record = {
        "task": {"id": "t", "checks": {"shell": {"checks": checks}}, **fields.pop("task", {})},
        "steps": [{"text": "done"}],
        "artifacts": {"files": files},
        **fields,
    }
    return Trajectory.model_validate_json(json.dumps(record))


def score(sandbox: Sandbox, made: Trajectory, **options: Any) -> Score:
    return grade(CARD, made, options=options, sandbox=sandbox)


def test_passes_its_cases(sandbox: Sandbox) -> None:
    check_cases(CASES, registry_of(Measuring()), sandbox=sandbox)


@pytest.mark.parametrize(
    "check",
    [
        {"file": "a.txt", "equals": SECRET},
        {"file": "a.txt", "contains": [SECRET]},
        {"file": "a.txt", "matches": SECRET},
        {"file": SECRET, "equals": "x"},
        {"file": "a.json", "as_json": {"a": SECRET}},
        {"command": f"echo {SECRET}", "stdout": "x"},
        {"command": "echo x", "stdout": SECRET},
        {"command": "cat hidden", "files": {"hidden": SECRET}, "stdout": "x"},
        {"command": "cat hidden; exit 3", "files": {"hidden": SECRET}, "stdout": "x"},
    ],
)
def test_nothing_that_a_check_wants_is_told(sandbox: Sandbox, check: dict[str, Any]) -> None:
    made = score(sandbox, attempt([check], {"a.txt": "one", "a.json": "{}"}))
    assert made.value == 0
    assert "check 1" in made.reason
    assert SECRET not in made.reason + json.dumps(dict(made.evidence), default=dict)


def test_the_evidence_lists_each_check(sandbox: Sandbox) -> None:
    checks = [{"file": "a.txt", "equals": "one", "name": "first"}, {"file": "b", "equals": "x"}]
    made = score(sandbox, attempt(checks, {"a.txt": "one"}))
    assert [(each["name"], each["held"]) for each in made.evidence["checks"]] == [
        ("first", True),
        ("check 2", False),
    ]
    assert dict(made.metrics) == {"checks": 2, "held": 1}


def test_a_command_sees_the_files_and_nothing_of_another_check(sandbox: Sandbox) -> None:
    checks = [
        {"command": "echo more >> a.txt; cat a.txt", "stdout": "one\nmore"},
        {"command": "cat a.txt; ls", "stdout": "one\na.txt"},
    ]
    assert score(sandbox, attempt(checks, {"a.txt": "one\n"})).value == 1


def test_a_command_that_takes_too_long_does_not_hold(sandbox: Sandbox) -> None:
    checks = [{"command": "while :; do :; done; echo x", "stdout": "x", "seconds": 0.3}]
    made = score(sandbox, attempt(checks, {"a.txt": "one"}))
    assert (made.status, made.value) == ("graded", 0)
    assert "timeout" in made.reason


def test_truncated_attempts_are_graded_by_what_they_left(sandbox: Sandbox) -> None:
    made = attempt([{"file": "a", "equals": "x"}], {"a": "x"}, status="truncated")
    assert score(sandbox, made).value == 1
    assert score(sandbox, made, must_end=True).value == 0

from typing import Any

import pytest
import rewardhub_code
from pydantic import ValidationError
from rewardhub_code.cost import Memory, Runtime

from rewardhub import Sandbox, Score
from rewardhub.testing import grade, make_trajectory, registry_of

REGISTRY = registry_of(rewardhub_code)
RIGHT = "def f(n):\n    return n + 1\n"
SLOW = (
    "import time\n\ndef f(n):\n    end = time.process_time() + 0.4\n"
    "    while time.process_time() < end: pass\n    return n + 1\n"
)
LARGE = "def f(n):\n    held = bytearray(150 << 20)\n    return n + 1\n"
TESTS = {"calls": {"tests": [{"args": [1], "expected": 2}]}}


def judged(
    name: str,
    sandbox: Sandbox,
    code: str,
    reference: str | None = None,
    tests: dict[str, Any] = TESTS,
    **options: Any,
) -> Score:
    check = {"entry_point": "f", **tests}
    answer = make_trajectory(code, reference=reference, checks={"code": check})
    return grade(REGISTRY.grader(name).card, answer, options=options, sandbox=sandbox)


def test_a_quick_solution_is_worth_more_than_a_slow_one(sandbox: Sandbox) -> None:
    quick = judged("code/runtime", sandbox, RIGHT, budget=20)
    slow = judged("code/runtime", sandbox, SLOW, budget=20)
    assert quick.value is not None
    assert slow.value is not None
    assert 0 < slow.value < quick.value < 1
    assert slow.metrics["CPU_seconds"] >= 0.4


def test_what_uses_the_budget_up_is_worth_nothing(local: Sandbox) -> None:
    score = judged("code/runtime", local, SLOW, budget=0.3)
    assert score.value == 0
    assert "of 0.3 CPU seconds" in score.reason


def test_a_small_solution_is_worth_more_than_a_large_one(sandbox: Sandbox) -> None:
    small = judged("code/memory", sandbox, RIGHT, budget=400)
    large = judged("code/memory", sandbox, LARGE, budget=400)
    assert small.value is not None
    assert large.value is not None
    assert large.value < small.value
    assert large.metrics["MiB"] >= 150


@pytest.mark.parametrize("name", ["code/runtime", "code/memory"])
@pytest.mark.parametrize(
    "code", ["no code", "def f(n): return n", "def f(:", "import os\nos._exit(0)"]
)
def test_a_wrong_solution_is_worth_nothing_however_cheap(
    local: Sandbox, name: str, code: str
) -> None:
    assert judged(name, local, code, budget=1000).value == 0


def test_measures_against_the_reference(local: Sandbox) -> None:
    options: dict[str, Any] = {"relative": True, "free": 3.0, "budget": 5.0}
    assert judged("code/runtime", local, SLOW, SLOW, **options).value == 1
    assert judged("code/runtime", local, SLOW, RIGHT, **options).value == 0


@pytest.mark.parametrize("tests", [TESTS, {"unit_tests": {"asserts": ["assert f(1) == 2"]}}])
def test_a_relative_budget_needs_a_reference_that_is_right(
    local: Sandbox, tests: dict[str, Any]
) -> None:
    for reference in (None, "def f(n): return n\n"):
        score = judged("code/runtime", local, RIGHT, reference, tests, relative=True, budget=2)
        assert (score.status, score.fault) == ("abstained", "task")


def test_a_task_whose_reference_is_wrong_abstains(local: Sandbox) -> None:
    score = judged("code/memory", local, RIGHT, "def f(n): return n\n", budget=400)
    assert (score.status, score.fault) == ("abstained", "task")


@pytest.mark.parametrize("tests", [{}, {"unit_tests": {}}, {"calls": {}}, {"stdio": {}}])
def test_a_task_without_tests_abstains(local: Sandbox, tests: dict[str, Any]) -> None:
    for code in (RIGHT, "no code"):
        assert judged("code/runtime", local, code, None, tests, budget=1).fault == "task"


def test_measures_unit_tests_and_programs(local: Sandbox) -> None:
    asserts = {"unit_tests": {"asserts": ["assert f(1) == 2"]}}
    slow = judged("code/runtime", local, SLOW, None, asserts, budget=20)
    assert slow.metrics["CPU_seconds"] >= 0.4
    stdio = {"entry_point": None, "stdio": {"tests": [{"stdin": "1", "expected": "2"}] * 2}}
    program = f"{SLOW}\nprint(f(int(input())))"
    both = judged("code/runtime", local, program, None, stdio, budget=20)
    assert both.metrics["CPU_seconds"] >= 0.8


@pytest.mark.parametrize(
    ("shape", "amount", "value"),
    [
        ("linear", 1, 1),
        ("linear", 2, 0.5),
        ("linear", 9, 0),
        ("cosine", 2, 0.5),
        ("cosine", 1.5, 0.853553),
        ("step", 3, 1),
        ("step", 3.1, 0),
    ],
)
def test_has_the_shapes_of_other_costs(shape: Any, amount: float, value: float) -> None:
    grader = Runtime(budget=3, free=1, shape=shape)
    assert grader.left_of(amount) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("options", [{}, {"budget": 0}, {"budget": 1, "free": 1}, {"budget": -1}])
def test_refuses_a_budget_that_makes_no_sense(options: dict[str, Any]) -> None:
    for grader in (Runtime, Memory):
        with pytest.raises(ValidationError):
            grader.model_validate(options)

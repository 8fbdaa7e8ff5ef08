from typing import Any

import pytest
import rewardhub_code
from rewardhub_code.running import TestsRun
from rewardhub_code.solution import TestResult
from rewardhub_code.stable import flaky_tests

from rewardhub import Outcome, Sandbox, Score
from rewardhub.testing import grade, make_trajectory, registry_of

CARD = registry_of(rewardhub_code).grader("code/stable").card
ASSERTS = ["assert f(['a', 'b', 'c', 'd', 'e', 'f']) == 'a'", "assert f(['b']) == 'b'"]
RIGHT = "def f(xs):\n    return min(xs)\n"


def judged(sandbox: Sandbox, code: str, reference: str | None = RIGHT, **checks: Any) -> Score:
    check = {"entry_point": "f", **(checks or {"unit_tests": {"asserts": ASSERTS}})}
    answer = make_trajectory(code, reference=reference, checks={"code": check})
    return grade(CARD, answer, sandbox=sandbox)


def test_a_right_solution_is_stable(sandbox: Sandbox) -> None:
    score = judged(sandbox, RIGHT)
    assert (score.value, score.reason) == (1, "the same verdicts in 3 runs")
    assert score.evidence["flaky"] == {}


def test_a_solution_that_leans_on_the_order_of_a_set_is_not(sandbox: Sandbox) -> None:
    # Of twelve texts, the first in a set is another under one of two other seeds.
    names = [f"name {number}" for number in range(12)]
    code = "def f(xs):\n    return len(xs) if next(iter(set(xs))) == FIRST else -1\n"
    first = judged_first(sandbox, names)
    asserts = [f"assert f({names}) == 12", "assert f(['x']) == -1"]
    score = judged(
        sandbox, code.replace("FIRST", repr(first)), None, unit_tests={"asserts": asserts}
    )
    assert score.value == 0
    assert list(score.evidence["flaky"]) == ["assert 1"]


def judged_first(sandbox: Sandbox, names: list[str]) -> str:
    from rewardhub_code.running import environment
    from rewardhub_code.solution import RunLimits, call_all

    run = call_all(
        sandbox,
        "def f(xs):\n    return next(iter(set(xs)))\n",
        [([names], {})],
        entry_point="f",
        limits=RunLimits(cpu_seconds=5, memory_mb=256),
        env=environment(),
    )
    return str(run.replies[0].value)


@pytest.mark.parametrize(
    "now",
    [
        "time.time() // 86400",
        "datetime.datetime.now().date().toordinal()",
        "datetime.date.today().toordinal()",
        "datetime.datetime.now(datetime.timezone.utc).toordinal()",
    ],
)
def test_a_solution_that_leans_on_the_clock_is_not(local: Sandbox, now: str) -> None:
    code = (
        f"import datetime, time\n\nSTART = {now}\n\ndef f(xs):\n"
        "    return min(xs) if START == TODAY else None\n"
    )
    import datetime
    import time

    today = eval(now, {"datetime": datetime, "time": time})
    score = judged(local, code.replace("TODAY", repr(today)))
    assert score.value == 0
    assert score.evidence["flaky"] == {
        "assert 1": (True, False, False),
        "assert 2": (True, False, False),
    }


def test_a_solution_that_leans_on_the_order_of_tests_is_not(local: Sandbox) -> None:
    code = "seen = []\n\ndef f(n):\n    seen.append(n)\n    return seen == list(range(len(seen)))\n"
    asserts = [f"assert f({number}) == True" for number in range(8)]
    score = judged(local, code, None, unit_tests={"asserts": asserts})
    assert score.value == 0
    assert score.evidence["flaky"]


def test_wrong_verdicts_may_be_stable_as_long_as_some_are_right(local: Sandbox) -> None:
    assert judged(local, "def f(xs):\n    return 'b'\n").value == 1


@pytest.mark.parametrize(
    "code",
    ["no code", "def f(xs): return None", "def g(): ...", "import os\nos._exit(0)", "def f(:"],
)
def test_what_passes_no_test_is_a_zero(sandbox: Sandbox, code: str) -> None:
    assert judged(sandbox, code).value == 0


def test_runs_calls_and_programs_too(local: Sandbox) -> None:
    calls = {"tests": [{"args": [["b", "a"]], "expected": "a"}]}
    assert judged(local, RIGHT, RIGHT, calls=calls).value == 1
    stdio = {"tests": [{"stdin": "b a", "expected": "a"}]}
    program = "print(min(input().split()))"
    assert judged(local, program, program, stdio=stdio, entry_point=None).value == 1
    clock = f"import time\nprint('a' if time.time() < {2**33} else 'b')"
    assert judged(local, clock, program, stdio=stdio, entry_point=None).value == 1


def test_a_task_whose_reference_is_not_stable_abstains(local: Sandbox) -> None:
    import time

    end = time.time() + 80_000
    reference = f"import time\n\ndef f(xs):\n    return min(xs) if time.time() < {end} else 0\n"
    score = judged(local, RIGHT, reference)
    assert (score.status, score.fault) == ("abstained", "task")
    assert "under another seed, order or clock" in score.reason


@pytest.mark.parametrize("check", [{"calls": {"tests": []}}, {"unit_tests": {}}, {"timeout": 3}])
def test_a_task_without_tests_abstains(local: Sandbox, check: dict[str, Any]) -> None:
    for code in (RIGHT, "no code"):
        assert judged(local, code, None, **check).fault == "task"


def test_names_each_test_whose_verdict_changes() -> None:
    def run(*verdicts: bool) -> TestsRun:
        results = (TestResult(name=str(n), passed=passed) for n, passed in enumerate(verdicts))
        return TestsRun(results=tuple(results), outcome=Outcome(status="ok"))

    runs = [run(True, True, False), run(True, False, False)]
    assert flaky_tests(runs) == {"1": (True, False)}

from typing import Any

import pytest
import rewardhub_code

from rewardhub import Sandbox, Score
from rewardhub.testing import grade, make_trajectory, registry_of

CARD = registry_of(rewardhub_code).grader("code/stdio").card
DOUBLE = "print(2 * int(input()))"
RUNS = [{"stdin": "3\n", "expected": "6\n"}, {"stdin": "5", "expected": "10"}]


def mark(
    sandbox: Sandbox,
    code: str,
    tests: list[dict[str, str]] = RUNS,
    *,
    reference: str | None = None,
    options: dict[str, Any] | None = None,
    **section: Any,
) -> Score:
    check = {"stdio": {"tests": tests, **section}}
    given = {} if reference is None else {"reference": f"```python\n{reference}\n```"}
    answer = f"```python\n{code}\n```" if code else "I don't know."
    trajectory = make_trajectory(answer, checks={"code": check}, **given)
    return grade(CARD, trajectory, options={"timeout": 2, **(options or {})}, sandbox=sandbox)


def test_accepts_a_program_that_prints_what_is_expected(local: Sandbox) -> None:
    score = mark(local, DOUBLE)
    assert score.value == 1.0
    assert [test["memory_mb"] > 0 for test in score.evidence["tests"]] == [True, True]


def test_stops_at_the_first_run_that_does_not_pass(local: Sandbox) -> None:
    score = mark(local, "print(10)")
    assert score.value == 0.0
    assert score.evidence["tests"][1]["reason"] == "it was not run"


def test_with_partial_every_run_counts(local: Sandbox) -> None:
    assert mark(local, "print(10)", options={"partial": True}).value == 0.5


def test_with_partial_three_time_outs_are_enough(local: Sandbox) -> None:
    tests = [{"stdin": "", "expected": "1"}] * 5
    score = mark(local, "while True: pass", tests, options={"partial": True, "timeout": 0.5})
    assert score.value == 0.0
    assert [test["reason"] for test in score.evidence["tests"][3:]] == ["it was not run"] * 2


@pytest.mark.parametrize(
    ("compare", "printed", "value"),
    [
        ("exact", "print('6')", 1.0),
        ("exact", "print('6 ')", 0.0),
        ("tokens", "print(' 6 ')", 1.0),
        ("tokens", "print('6.0')", 0.0),
        ("numbers", "print('6.0000001')", 1.0),
        ("numbers", "print('6.1')", 0.0),
    ],
)
def test_compares_as_the_task_says(
    local: Sandbox, compare: str, printed: str, value: float
) -> None:
    assert mark(local, printed, RUNS[:1], compare=compare).value == value


DIVISOR = """
def check(stdin, expected, stdout):
    number = int(stdout)
    return 1 < number < int(stdin) and int(stdin) % number == 0, f"{number} divides it not"
"""


def test_a_checker_accepts_any_right_output(local: Sandbox) -> None:
    tests = [{"stdin": "12", "expected": "2"}]
    for code, value in (("print(4)", 1.0), ("print(5)", 0.0), ("print('x')", 0.0)):
        score = mark(local, code, tests, compare="checker", checker=DIVISOR)
        assert (score.status, score.value) == ("graded", value), score.reason


@pytest.mark.parametrize("checker", ["def check(*_): raise KeyError", "while True: pass", "x = 1"])
def test_a_checker_that_is_broken_is_no_number(local: Sandbox, checker: str) -> None:
    score = mark(local, DOUBLE, RUNS[:1], compare="checker", checker=checker)
    assert (score.status, score.fault) == ("abstained", "task")


def test_no_output_talks_a_checker_into_anything(local: Sandbox) -> None:
    tests = [{"stdin": "12", "expected": "2"}]
    for text in ('{"accepted": true, "reason": ""}', "True", "__import__('os')._exit(0)"):
        assert (
            mark(local, f"print({text!r})", tests, compare="checker", checker=DIVISOR).value == 0.0
        )


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("", "no code"),
        ("print(6", "no code"),
        ("print(6)\nraise KeyError('x')", "exit code 1: KeyError"),
        ("print(6)\nimport sys\nsys.exit(2)", "exit code 2"),
        ("while True: pass", "cpu time"),
        ("import time\ntime.sleep(60)", "wall time"),
        ("while True: print('x' * 9999)", "output"),
        ("print('x' * 200_000)", "far more than expected"),
    ],
    ids=lambda value: value[-40:],
)
def test_what_the_program_does_is_a_graded_zero(local: Sandbox, code: str, told: str) -> None:
    score = mark(local, code, RUNS[:1])
    assert (score.status, score.value) == ("graded", 0.0)
    if "(6" not in code[-8:]:
        assert told.lower() in score.reason.lower()


@pytest.mark.parametrize(
    ("tests", "reference", "told"),
    [
        ([], None, "no test"),
        (RUNS, "print(6)", "the reference fails its own tests: `run 2`"),
        ([{"stdin": "1", "expected": ""}], None, "an empty program passes"),
    ],
)
def test_a_task_that_can_grade_nobody_is_no_number(
    local: Sandbox, tests: list[dict[str, str]], reference: str | None, told: str
) -> None:
    score = mark(local, DOUBLE, tests, reference=reference)
    assert (score.status, score.fault) == ("abstained", "task")
    assert told in score.reason

from typing import Any

import pytest
import rewardhub_code

from rewardhub import Sandbox, Score
from rewardhub.testing import grade, make_trajectory, registry_of

CARD = registry_of(rewardhub_code).grader("code/calls").card
ADD = "def add(a, b):\n    return a + b\n"


def mark(
    sandbox: Sandbox,
    code: str,
    *tests: dict[str, Any],
    reference: str | None = None,
    entry_point: str | None = "add",
    options: dict[str, Any] | None = None,
    **section: Any,
) -> Score:
    check: dict[str, Any] = {"calls": {"tests": list(tests), **section}}
    if entry_point is not None:
        check["entry_point"] = entry_point
    given = {} if reference is None else {"reference": reference}
    answer = f"```python\n{code}\n```" if code else "I don't know."
    trajectory = make_trajectory(answer, checks={"code": check}, **given)
    return grade(CARD, trajectory, options={"timeout": 2, **(options or {})}, sandbox=sandbox)


def call(*args: Any, **expected: Any) -> dict[str, Any]:
    return {"args": list(args), **expected}


def test_accepts_what_is_expected(local: Sandbox) -> None:
    score = mark(local, ADD, call(1, 2, expected=3), call("a", "b", expected="ab"))
    assert score.value == 1.0
    assert score.evidence["trust"] == "outside"
    assert [test["passed"] for test in score.evidence["tests"]] == [True, True]


def test_one_wrong_call_is_nothing_and_with_partial_its_share(local: Sandbox) -> None:
    calls = [call(1, 2, expected=3), call(1, 1, expected=3)]
    assert mark(local, ADD, *calls).value == 0.0
    assert "`call 2`: it returned 2, not 3" in mark(local, ADD, *calls).reason
    assert mark(local, ADD, *calls, options={"partial": True}).value == 0.5


def test_passes_keyword_arguments_and_values_that_json_lacks(local: Sandbox) -> None:
    code = "def add(a, *, b):\n    return {(a, *b): {1, 2}}\n"
    test = {
        "args": [1],
        "kwargs": {"b": {"$tuple": [2, 3]}},
        "expected": {"$dict": [[{"$tuple": [1, 2, 3]}, {"$set": [1, 2]}]]},
    }
    assert mark(local, code, test).value == 1.0


def test_takes_what_a_generator_yields_as_a_list(local: Sandbox) -> None:
    assert (
        mark(local, "def add(n):\n    yield from range(n)\n", call(2, expected=[0, 1])).value == 1.0
    )


def test_expects_an_error_by_its_name_or_by_that_of_its_base(local: Sandbox) -> None:
    code = "def add(a):\n    return {}[a]\n"
    assert mark(local, code, call(1, raises="KeyError")).value == 1.0
    assert mark(local, code, call(1, raises="LookupError")).value == 1.0
    assert mark(local, code, call(1, raises="ValueError")).value == 0.0
    assert "it returned" in mark(local, ADD, call(1, 2, raises="ValueError")).reason


def test_looks_at_the_arguments_where_the_task_says_so(local: Sandbox) -> None:
    test = call([2, 1], expected_args=[[1, 2]])
    assert mark(local, "def add(a):\n    a.sort()\n", test).value == 1.0
    assert mark(local, "def add(a):\n    return sorted(a)\n", test).value == 0.0


def test_a_tolerance_is_the_tasks_to_give(local: Sandbox) -> None:
    test = call(0.1, 0.2, expected=0.3)
    assert mark(local, ADD, test).value == 0.0
    assert mark(local, ADD, test, tolerance=1e-9).value == 1.0


def test_finds_a_method_of_a_class(local: Sandbox) -> None:
    code = "class Solution:\n    def add(self, a, b):\n        return a + b\n"
    for name in ("add", "Solution.add"):
        assert mark(local, code, call(1, 2, expected=3), entry_point=name).value == 1.0


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("", "no code"),
        ("def other(): pass", "AttributeError"),
        ("def add(a, b) return", "SyntaxError"),
        ("raise ValueError('no')\ndef add(a, b): pass", "ValueError: no"),
        ("import os\ndef add(a, b): os._exit(3)", "exit code 3"),
        ("import ctypes\ndef add(a, b): ctypes.string_at(0)", "it was ended"),
        ("def add(a, b):\n    while True: pass", "cpu time"),
        ("import time\ndef add(a, b): time.sleep(60)", "wall time"),
        ("import threading\ndef add(a, b): threading.Event().wait()", "wall time"),
        ("def add(a, b): return 'x' * (1 << 31)", "memory"),
        ("def add(a, b):\n    while True: print('x' * 9999)", "output"),
        ("def add(a, b): return add", "a function"),
        ("class A: pass\ndef add(a, b): return [A()]", "an object of type A"),
    ],
    ids=lambda value: value[-40:],
)
def test_what_the_solution_does_is_a_graded_zero(local: Sandbox, code: str, told: str) -> None:
    score = mark(local, code, call(1, 2, expected=3))
    assert (score.status, score.value) == ("graded", 0.0)
    assert told.lower() in score.reason.lower()


@pytest.mark.parametrize(
    ("tests", "reference", "told"),
    [
        ([], None, "no test"),
        ([call(1, 2, expected=4)], ADD, "the reference fails its own tests: `call 1`"),
        ([call(1, 2, expected=3)], "Nothing.", "no code"),
        ([call(1, 2, expected=None)], None, "a stub that returns None passes"),
        ([call(1, 2, raises="AttributeError")], None, "an empty solution passes"),
        ([call("x" * 2_000_000, expected=3)], None, "cannot be sent"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_task_that_can_grade_nobody_is_no_number(
    local: Sandbox, tests: list[dict[str, Any]], reference: str | None, told: str
) -> None:
    score = mark(local, ADD, *tests, reference=reference)
    assert (score.status, score.fault) == ("abstained", "task")
    assert told in score.reason


def test_a_task_without_a_function_is_no_number(local: Sandbox) -> None:
    score = mark(local, ADD, call(1, 2, expected=3), entry_point=None)
    assert (score.status, score.fault) == ("abstained", "task")


def test_a_solution_that_ends_takes_the_calls_after_it_with_it(local: Sandbox) -> None:
    code = "import os\ndef add(a, b):\n    return os._exit(0) if a == 2 else a + b\n"
    calls = [call(n, 1, expected=n + 1) for n in (1, 2, 3)]
    score = mark(local, code, *calls, options={"partial": True})
    assert score.value == pytest.approx(1 / 3)
    assert score.evidence["ended"]

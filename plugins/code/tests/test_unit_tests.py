from typing import Any

import pytest
import rewardhub_code

from rewardhub import Sandbox, Score
from rewardhub.testing import grade, make_trajectory, registry_of

CARD = registry_of(rewardhub_code).grader("code/unit-tests").card
ADD = "def add(a, b):\n    return a + b\n"
ASSERTS = ["assert add(1, 2) == 3", "assert add('a', 'b') == 'ab'"]


def mark(
    sandbox: Sandbox,
    code: str,
    tests: dict[str, Any],
    *,
    reference: str | None = None,
    options: dict[str, Any] | None = None,
    **check: Any,
) -> Score:
    given = {} if reference is None else {"reference": reference}
    answer = f"```python\n{code}\n```" if code else "I don't know."
    checks = {"code": {"unit_tests": tests, **check}}
    trajectory = make_trajectory(answer, checks=checks, **given)
    return grade(CARD, trajectory, options={"timeout": 2, **(options or {})}, sandbox=sandbox)


def pytest_file(source: str) -> dict[str, Any]:
    return {"pytest": {"test_it.py": source}}


def test_asserts_are_tests_each(local: Sandbox) -> None:
    score = mark(local, ADD, {"asserts": ASSERTS}, reference=ADD)
    assert (score.value, score.evidence["trust"]) == (1.0, "split")
    wrong = mark(local, "def add(a, b): return 3", {"asserts": ASSERTS}, options={"partial": True})
    assert wrong.value == 0.5
    assert "`assert 2`: AssertionError" in wrong.reason


def test_check_gets_the_function_as_candidate(local: Sandbox) -> None:
    tests = {"check": "def check(candidate):\n    assert candidate(1, 2) == 3\n"}
    assert mark(local, ADD, tests, entry_point="add").value == 1.0
    solution = "class Solution:\n    def add(self, a, b):\n        return a + b\n"
    assert mark(local, solution, tests, entry_point="Solution.add").value == 1.0


def test_a_script_runs_through_or_not(local: Sandbox) -> None:
    script = "def test_check():\n    assert add(1, 2) == 3\ntest_check()\n"
    assert mark(local, ADD, {"script": script}).value == 1.0
    assert mark(local, "def add(a, b): return 4", {"script": script}).value == 0.0


def test_an_answer_completes_the_prompt(local: Sandbox) -> None:
    prompt = "def add(a, b):\n    '''Add.'''\n"
    check = {"entry_point": "add", "prompt": prompt}
    assert mark(local, "    return a + b\n", {"asserts": ASSERTS}, **check).value == 1.0


def test_the_preamble_runs_before_the_solution(local: Sandbox) -> None:
    code = "from __future__ import annotations\ndef add(a, b):\n    return math.floor(a + b)\n"
    tests = {"asserts": ["assert add(1, 2) == 3"]}
    assert mark(local, code, tests).value == 0.0
    assert mark(local, code, tests, preamble="import math").value == 1.0


FEATURES = """
import unittest
import pytest
from solution import Stack, TooFull, add

@pytest.fixture
def stack():
    return Stack(2)

@pytest.mark.parametrize(("a", "b", "c"), [(1, 2, 3), ("a", "b", "ab")])
def test_add(a, b, c):
    assert add(a, b) == c

def test_files(tmp_path, capsys, monkeypatch):
    (tmp_path / "a").write_text("x")
    print("hello")
    assert capsys.readouterr().out == "hello\\n"

def test_objects(stack):
    assert isinstance(stack, Stack)
    assert stack.push(1) is stack
    assert len(stack) == 1
    assert stack[0] == 1
    stack[0] = 5
    stack.size = 7
    assert (stack.items, stack.size, str(stack)) == ([5], 7, "[5]")
    assert list(stack) == [5]
    with stack as same:
        assert same is stack

def test_errors(stack):
    with pytest.raises(TypeError):
        add(1, "a")
    with pytest.raises(TooFull, match="two"):
        for number in range(3):
            stack.push(number)
    with pytest.raises(ValueError):
        Stack(-1)

def test_functions(stack):
    stack.push(3)
    assert stack.mapped(lambda number: number + 1) == [4]
    with pytest.raises(ZeroDivisionError):
        stack.mapped(lambda number: 1 / 0)
    assert stack.mapped(add_one) == [4]
    assert sum(stack.lazily()) == 3

def add_one(number):
    return add(number, 1)

class TestStack(unittest.TestCase):
    def test_empty(self):
        self.assertEqual(len(Stack(1)), 0)
        self.assertFalse(Stack(1))
"""
STACK = """
class TooFull(ValueError):
    pass

class Stack:
    def __init__(self, size):
        if size < 0:
            raise ValueError("negative")
        self.size, self.items = size, []

    def push(self, item):
        if len(self.items) >= self.size:
            raise TooFull("more than two")
        self.items.append(item)
        return self

    def __len__(self): return len(self.items)
    def __getitem__(self, index): return self.items[index]
    def __setitem__(self, index, value): self.items[index] = value
    def __str__(self): return str(self.items)
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def mapped(self, function): return [function(item) for item in self.items]
    def lazily(self): yield from self.items

def add(a, b):
    return a + b
"""


def test_pytest_files_use_what_pytest_and_python_offer(local: Sandbox) -> None:
    score = mark(local, STACK, pytest_file(FEATURES), reference=STACK)
    assert score.value == 1.0, score.reason
    assert [test["name"] for test in score.evidence["tests"]] == [
        "test_it.py::test_add[1-2-3]",
        "test_it.py::test_add[a-b-ab]",
        "test_it.py::test_files",
        "test_it.py::test_objects",
        "test_it.py::test_errors",
        "test_it.py::test_functions",
        "test_it.py::TestStack::test_empty",
    ]


def test_pytest_files_run_beside_the_solution_by_choice(local: Sandbox) -> None:
    score = mark(
        local, STACK, pytest_file(FEATURES), reference=STACK, options={"mode": "in-process"}
    )
    assert (score.value, score.evidence["trust"]) == (1.0, "in_process")


def test_tests_without_a_reference_are_found_by_pytest(local: Sandbox) -> None:
    tests = pytest_file(
        "from solution import add\n"
        "def test_one():\n    assert add(1, 2) == 3\n"
        "def test_two():\n    assert add(2, 2) == 4\n"
    )
    assert mark(local, "def add(a, b): return 3", tests, options={"partial": True}).value == 0.5
    lazy = mark(local, "raise SystemExit", tests, options={"partial": True})
    assert (lazy.value, len(lazy.evidence["tests"])) == (0.0, 2)


@pytest.mark.parametrize("mark_", ["skip", "xfail", "skipif(True, reason='x')"])
def test_a_test_that_is_skipped_or_expected_to_fail_has_not_passed(
    local: Sandbox, mark_: str
) -> None:
    tests = pytest_file(
        "import pytest\nfrom solution import add\n"
        f"@pytest.mark.{mark_}\ndef test_one():\n    assert add(1, 2) == 3\n"
    )
    assert mark(local, ADD, tests).value == 0.0
    assert mark(local, ADD, tests, reference=ADD).fault == "task"


def test_changes_in_place_count_only_where_the_task_says_so(local: Sandbox) -> None:
    code = "def put(items):\n    items.append(3)\n"
    tests = {"asserts": ["items = [1]\nput(items)\nassert items == [1, 3]"]}
    assert mark(local, code, tests).value == 0.0
    assert mark(local, code, {**tests, "in_place": True}).value == 1.0


def test_the_solution_has_the_name_that_the_tests_import(local: Sandbox) -> None:
    source = "from shop.prices import add\ndef test_add():\n    assert add(1, 2) == 3\n"
    tests = {**pytest_file(source), "module": "shop.prices"}
    for mode in ("split", "in-process"):
        assert mark(local, ADD, tests, options={"mode": mode}).value == 1.0


def test_random_numbers_are_the_same_each_time(local: Sandbox) -> None:
    code = "import random\ndef draw(): return random.random()\n"
    tests = {"asserts": ["import random\nassert random.random() == draw()"]}
    assert {mark(local, code, tests).value for _ in range(3)} == {1.0}


TREE = """
class Node:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right

def tree(values):
    return Node(values[0], *[Node(value) for value in values[1:]])

def total(node):
    '''Return the sum of a tree.'''
"""


def test_functions_of_the_prompt_make_objects_of_the_solution(local: Sandbox) -> None:
    body = (
        "    if node is None:\n        return 0\n"
        "    return node.value + total(node.left) + total(node.right)\n"
    )
    tests = {"asserts": ["assert total(tree([1, 2, 3])) == 6"]}
    check = {"entry_point": "total", "prompt": TREE}
    assert mark(local, body, tests, reference=body, **check).value == 1.0
    assert mark(local, "    return 5\n", tests, reference=body, **check).value == 0.0


NEEDS_OBJECTS = {"asserts": ["assert {Point(1): 2}[Point(1)] == 2\nassert Point(1).x == 1"]}
POINT = "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Point:\n    x: int\n"


def test_a_task_that_cannot_be_split_is_no_number(local: Sandbox) -> None:
    score = mark(local, POINT, NEEDS_OBJECTS, reference=POINT)
    assert (score.status, score.fault) == ("abstained", "task")
    assert "cannot be run apart from the solution" in score.reason


def test_a_task_that_cannot_be_split_runs_in_process_where_the_spec_allows_it(
    local: Sandbox,
) -> None:
    options = {"otherwise": "in-process"}
    score = mark(local, POINT, NEEDS_OBJECTS, reference=POINT, options=options)
    assert (score.value, score.evidence["trust"]) == (1.0, "in_process")
    attempt = "class Point:\n    def __init__(self, x): pass\n"
    wrong = mark(local, attempt, NEEDS_OBJECTS, reference=POINT, options=options)
    assert wrong.value == 0.0


@pytest.mark.parametrize("answer", ["", "import os\nos._exit(0)", "class Point: pass"])
def test_no_attempt_decides_whether_a_task_can_be_split(local: Sandbox, answer: str) -> None:
    score = mark(local, answer, {"asserts": ASSERTS}, reference=ADD)
    assert (score.status, score.value) == ("graded", 0.0)


@pytest.mark.parametrize(
    ("tests", "reference", "told"),
    [
        ({}, None, "no test"),
        ({"asserts": ["assert add(1, 2) == 4"]}, ADD, "the reference fails its own tests"),
        ({"asserts": ["assert add(1, 2) is None"]}, None, "a stub that returns None passes"),
        ({"asserts": ["assert True"]}, None, "an empty solution passes"),
        ({"asserts": ["add(1, 2)"]}, ADD, "a stub that returns None passes"),
        (pytest_file("def helper(): pass"), None, "no tests were found"),
        (pytest_file("def helper(): pass"), ADD, "the reference fails its own tests"),
        (pytest_file("import nothing_here"), None, "the tests cannot be read"),
        ({"script": "while True: pass"}, None, "no tests were found"),
        ({"check": "def check(c): assert c"}, None, "needs a function"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_task_that_can_grade_nobody_is_no_number(
    local: Sandbox, tests: dict[str, Any], reference: str | None, told: str
) -> None:
    score = mark(local, ADD, tests, reference=reference)
    assert (score.status, score.fault) == ("abstained", "task"), score.reason
    assert told in score.reason


def test_tests_that_a_solution_wears_out_are_a_graded_zero(local: Sandbox) -> None:
    tests = {"asserts": ["numbers = many()\nassert all(numbers.count(n) == 1 for n in numbers)"]}
    reference = "def many(): return [1, 2, 3]"
    score = mark(local, "def many(): return list(range(90_000))", tests, reference=reference)
    assert (score.status, score.value) == ("graded", 0.0)
    assert "the tests did not finish" in score.reason


@pytest.mark.parametrize(
    "code",
    [
        "import os\ndef add(a, b): os._exit(0)",
        "def add(a, b):\n    while True: pass",
        "import time\ndef add(a, b): time.sleep(60)",
        "def add(a, b): return 'x' * (1 << 31)",
        "import os\ndef add(a, b):\n    while True: os.fork()",
        "import os, signal\ndef add(a, b): os.kill(-1, signal.SIGKILL)",
        "def add(a, b):\n    while True: print('x' * 9999)",
        "import sys\nsys.setrecursionlimit(10**9)\ndef add(a, b): return add(a, b)",
    ],
    ids=lambda code: code[-30:],
)
@pytest.mark.parametrize("mode", ["split", "in-process"])
def test_what_the_solution_does_is_a_graded_zero(sandbox: Sandbox, code: str, mode: str) -> None:
    score = mark(sandbox, code, {"asserts": ASSERTS}, reference=ADD, options={"mode": mode})
    assert (score.status, score.value) == ("graded", 0.0), score.reason


def test_no_solution_harms_the_program_of_the_tests(sandbox: Sandbox) -> None:
    code = (
        "import os, signal\n"
        "def add(a, b):\n"
        "    if a == 1:\n"
        "        return 3\n"
        "    for victim in (-1, 1, os.getppid(), *range(2, 400)):\n"
        "        try:\n            os.kill(victim, signal.SIGKILL)\n"
        "        except OSError:\n            pass\n"
    )
    score = mark(sandbox, code, {"asserts": ASSERTS}, options={"partial": True})
    assert score.value == 0.5
    assert "broke" not in score.evidence

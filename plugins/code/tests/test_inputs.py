from typing import Any

from rewardhub_code.checks import CodeCheck
from rewardhub_code.inputs import own_inputs


def inputs(**check: Any) -> list[tuple[Any, ...]]:
    return own_inputs(CodeCheck.model_validate({"entry_point": "f"} | check))


def test_reads_calls() -> None:
    calls = {"tests": [{"args": [1, {"$tuple": [2]}], "expected": 3}, {"args": [4], "expected": 5}]}
    assert inputs(calls=calls) == [(1, (2,)), (4,)]


def test_reads_asserts() -> None:
    asserts = ["assert f([1, 2]) == 3", "assert f('a') == f('b')", "assert g(7) == 1"]
    assert inputs(unit_tests={"asserts": asserts}) == [([1, 2],), ("a",), ("b",)]


def test_reads_the_candidate_of_humaneval() -> None:
    check = (
        "def check(candidate):\n    assert candidate(1, -2) == 3\n    assert candidate(x) == 4\n"
    )
    assert inputs(unit_tests={"check": check}) == [(1, -2)]


def test_reads_files_for_pytest() -> None:
    files = {"test_f.py": "import solution\n\ndef test_f():\n    assert solution.f(5) == 6\n"}
    assert inputs(unit_tests={"pytest": files}) == [(5,)]


def test_reads_calls_of_a_method() -> None:
    asserts = ["assert Solution().f(5) == 6"]
    assert inputs(entry_point="Solution.f", unit_tests={"asserts": asserts}) == [(5,)]


def test_leaves_out_what_is_not_written_out() -> None:
    asserts = [
        "assert f(n) == 1",
        "assert f(x=1) == 2",
        "assert f(2 + g()) == 2",
        "assert f() == 1",
    ]
    assert inputs(unit_tests={"asserts": asserts}) == []


def test_gives_each_input_once() -> None:
    assert inputs(unit_tests={"asserts": ["assert f(1) == 2", "assert 2 == f(1)"]}) == [(1,)]

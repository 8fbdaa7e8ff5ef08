import warnings
from typing import Any

import pytest
import rewardhub_code

from rewardhub import Score
from rewardhub.testing import grade, make_trajectory, registry_of

REGISTRY = registry_of(rewardhub_code)
F = "`" * 3


def judged(name: str, code: str, checks: dict[str, Any] | None = None, **options: Any) -> Score:
    answer = make_trajectory(f"{F}python\n{code}\n{F}", checks=checks or {})
    return grade(REGISTRY.grader(name).card, answer, options=options)


@pytest.mark.parametrize("code", ["x = 1", "import nothing_like_that", "print(undefined)"])
def test_compiles_what_python_compiles(code: str) -> None:
    assert judged("code/compiles", code).value == 1


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("x = 1\ndef f(:\n    pass", "line 2: invalid syntax"),
        ("return 5", "line 1: 'return' outside function"),
        ("x = 1\n  y = 2", "line 2: unexpected indent"),
        ("x = 'a\x00b'", "null bytes"),
        ("x = '\ud800'", "cannot be read"),
    ],
)
def test_does_not_compile_what_python_does_not(code: str, reason: str) -> None:
    score = judged("code/compiles", code)
    assert score.value == 0
    assert reason in score.reason


@pytest.mark.parametrize("code", [f"x = {'-' * 100_000}1", f"x = {'(' * 300}1{')' * 300}"])
def test_code_that_is_too_deep_is_a_zero(code: str) -> None:
    score = judged("code/compiles", code)
    assert score.value == 0
    assert score.reason


def test_a_warning_is_no_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert judged("code/compiles", "x = '\\d'\ny = x is 3").value == 1


def test_compiles_an_answer_that_completes_its_prompt() -> None:
    checks = {"code": {"entry_point": "f", "prompt": "def f(x):\n"}}
    assert judged("code/compiles", "    return x", checks).value == 1


def test_an_answer_without_code_is_a_zero() -> None:
    for name in ("code/compiles", "code/no-forbidden", "code/lint"):
        score = grade(REGISTRY.grader(name).card, make_trajectory("I do not know."))
        assert (score.value, score.reason) == (0, "the answer has no code")


def test_a_broken_check_is_the_fault_of_the_task() -> None:
    for name in ("code/compiles", "code/no-forbidden", "code/lint"):
        score = judged(name, "x = 1", {"code": {"entry_pont": "f"}})
        assert (score.status, score.fault) == ("abstained", "task")


def test_forbids_what_is_listed() -> None:
    score = judged("code/no-forbidden", "x = 1\nimport os\nos.getcwd()")
    assert (score.value, score.reason) == (0, "line 2: imports os")
    assert score.evidence["forbidden"] == ((2, "imports os"),)


def test_names_the_first_of_several() -> None:
    score = judged("code/no-forbidden", "import os\neval('1')\nimport gc")
    assert score.reason == "line 1: imports os, and 2 more"


def test_lets_other_code_be() -> None:
    code = "import math, sys\n\ndef f(x):\n    return math.sqrt(x)\n\nsys.stdout.write('1')"
    assert judged("code/no-forbidden", code).value == 1


def test_allows_exceptions() -> None:
    code = "import os\nprint(os.sep)"
    assert judged("code/no-forbidden", code).value == 0
    assert judged("code/no-forbidden", code, allow=["os"]).value == 1


def test_takes_lists_of_its_own() -> None:
    options: dict[str, Any] = {"imports": ["math"], "uses": ["sorted"], "attributes": ["sort"]}
    for code in ("import math", "sorted(x)", "x.sort()"):
        assert judged("code/no-forbidden", code, **options).value == 0
    assert judged("code/no-forbidden", "import os", **options).value == 1


def test_code_that_does_not_parse_is_not_free_of_anything() -> None:
    assert judged("code/no-forbidden", "def f(:").value == 0

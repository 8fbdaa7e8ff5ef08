from typing import Any

import pytest
import rewardhub_code

from rewardhub import Sandbox, Score
from rewardhub.testing import grade, make_trajectory, registry_of

CARD = registry_of(rewardhub_code).grader("code/repository").card
F = "`" * 3
CORE = "def add(a, b):\n    return a - b\n\n\ndef mul(a, b):\n    return a * b\n"
TESTS = (
    "import pytest\nfrom calc.core import add, mul\n\n\n"
    "@pytest.mark.parametrize('n', [1, 2])\ndef test_add(n):\n    assert add(n, 2) == n + 2\n\n\n"
    "class TestMul:\n    def test_mul(self, six):\n        assert mul(2, 3) == six\n"
)
TREE = {
    "calc/__init__.py": "",
    "calc/core.py": CORE,
    "tests/test_core.py": TESTS,
    "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef six():\n    return 6\n",
    "pytest.ini": "[pytest]\naddopts = --no-such-option\n",
}
ADDS = ["tests/test_core.py::test_add[1]", "tests/test_core.py::test_add[2]"]
MUL = ["tests/test_core.py::TestMul::test_mul"]
CHECK = {"fail_to_pass": ADDS, "pass_to_pass": MUL}
PATCH = (
    "--- a/calc/core.py\n+++ b/calc/core.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n"
    "-    return a - b\n+    return a + b\n"
)
RIGHT = CORE.replace("a - b", "a + b")


def judged(
    sandbox: Sandbox,
    answer: str = "",
    *,
    patch: str | None = None,
    edits: dict[str, str | None] | None = None,
    check: dict[str, Any] | None = None,
    tree: dict[str, str] | None = None,
    reference: Any = PATCH,
    **options: Any,
) -> Score:
    artifacts = {"patch": patch} if patch else {"files": edits} if edits else {}
    attempt = make_trajectory(
        answer,
        artifacts=artifacts,
        files=TREE if tree is None else tree,
        reference=reference,
        checks={"code": {"repository": CHECK if check is None else check}},
    )
    return grade(CARD, attempt, options=options, sandbox=sandbox)


def test_takes_a_diff_in_the_answer(sandbox: Sandbox) -> None:
    score = judged(sandbox, f"I changed the sign:\n\n{F}diff\n{PATCH}{F}\n")
    assert (score.value, score.reason) == (1, "2 of 2 failing tests pass")
    assert score.evidence["trust"] == "in_process"
    assert [test["name"] for test in score.evidence["tests"]] == [*ADDS, *MUL]
    assert "tampered" not in score.evidence


def test_takes_a_patch_of_an_environment(local: Sandbox) -> None:
    score = judged(local, "Done.", patch=PATCH)
    assert (score.value, score.evidence["change"]) == (1, "`artifacts.patch`")


def test_takes_edited_files(local: Sandbox) -> None:
    score = judged(local, "Done.", edits={"calc/core.py": RIGHT, "calc/new.py": "x = 1\n"})
    assert (score.value, score.evidence["change"]) == (1, "`artifacts.files`")
    assert score.evidence["changed"] == ("calc/core.py", "calc/new.py")


def test_a_change_that_breaks_what_passed_is_a_zero(local: Sandbox) -> None:
    broken = RIGHT.replace("a * b", "0")
    for partial in (False, True):
        score = judged(local, edits={"calc/core.py": broken}, partial=partial)
        assert score.value == 0
        assert "1 that passed do not" in score.reason


def test_gives_the_share_of_the_tests_that_were_mended(local: Sandbox) -> None:
    half = CORE.replace("a - b", "3")
    assert judged(local, edits={"calc/core.py": half}, partial=True).value == 0.5
    assert judged(local, edits={"calc/core.py": half}).value == 0


def test_a_patch_that_does_not_apply_is_a_zero_with_its_hunk(local: Sandbox) -> None:
    score = judged(local, patch=PATCH.replace("a - b", "a % b"))
    assert score.value == 0
    assert "`calc/core.py`, hunk 1 (@@ -1,2 +1,2 @@) does not apply" in score.reason
    assert "a % b" in score.reason


@pytest.mark.parametrize("answer", ["", "I would change the sign.", f"{F}python\nx = 1\n{F}"])
def test_an_answer_without_a_patch_is_a_zero(local: Sandbox, answer: str) -> None:
    score = judged(local, answer)
    assert score.value == 0
    assert "there is no patch" in score.reason


def test_a_change_of_nothing_is_a_zero(local: Sandbox) -> None:
    assert "changes nothing" in judged(local, edits={"calc/core.py": CORE}).reason


EXPLOITS: dict[str, dict[str, str | None]] = {
    "empty tests": {"tests/test_core.py": "def test_add(n): pass\n"},
    "removed tests": {"tests/test_core.py": None},
    "conftest that reports": {
        "conftest.py": "import pytest\n\n@pytest.hookimpl(hookwrapper=True)\n"
        "def pytest_runtest_makereport(item, call):\n"
        "    out = yield\n    out.get_result().outcome = 'passed'\n"
    },
    "conftest of the tests": {
        "tests/conftest.py": "def pytest_runtest_call(item): item.runtest = lambda: None\n"
    },
    "ini that collects only": {"pytest.ini": "[pytest]\naddopts = --collect-only\n"},
    "pyproject that collects only": {
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--collect-only'\n"
    },
    "setup.cfg with a plugin": {"setup.cfg": "[tool:pytest]\naddopts = -p evil\n"},
    "sitecustomize": {"sitecustomize.py": "import os\nos._exit(0)\n"},
    "path file": {"evil.pth": "import os; os._exit(0)\n"},
    "plugin by metadata": {
        "evil-1.dist-info/METADATA": "Name: evil\nVersion: 1\n",
        "evil-1.dist-info/entry_points.txt": "[pytest11]\nevil = calc.core\n",
    },
    "own pytest": {"pytest.py": "class mark:\n    parametrize = None\n"},
    "own unittest": {"tests/unittest/__init__.py": "x = 1\n"},
}


@pytest.mark.parametrize("name", EXPLOITS)
def test_a_change_of_what_runs_the_tests_earns_nothing(sandbox: Sandbox, name: str) -> None:
    score = judged(sandbox, edits=EXPLOITS[name])
    assert score.value == 0
    assert sorted(score.evidence["kept_out"]) == sorted(EXPLOITS[name])


@pytest.mark.parametrize("name", EXPLOITS)
def test_and_does_not_spoil_a_right_solution(local: Sandbox, name: str) -> None:
    assert judged(local, edits={**EXPLOITS[name], "calc/core.py": RIGHT}).value == 1


IN_CODE = {
    "exit at import": "import sys\nsys.exit(0)\n",
    "hard exit at import": "import os\nos._exit(0)\n",
    "hard exit in a call": f"import os\n\n{CORE.replace('return a - b', 'os._exit(0)')}",
    "exit in a call": CORE.replace("return a - b", "raise SystemExit(0)"),
    "skip": CORE.replace("return a - b", "import pytest; pytest.skip('no')"),
    "xfail": CORE.replace("return a - b", "import pytest; pytest.xfail('no')"),
    "end of the run": CORE.replace(
        "return a - b", "import pytest; pytest.exit('no', returncode=0)"
    ),
    "always equal": "class Any(int):\n    def __eq__(self, other): return True\n\n"
    + CORE.replace("return a - b", "return None"),
    "runtest of pytest": "import _pytest.python as p\np.Function.runtest = lambda self: None\n"
    + CORE,
    "reports of pytest": "import _pytest.runner as r\nold = r.TestReport.from_item_and_call\n"
    "def new(item, call):\n    call.excinfo = None\n    return old(item, call)\n"
    "r.TestReport.from_item_and_call = new\n" + CORE,
    "reports through the frames": "import sys\nframe = sys._getframe()\n"
    "while frame:\n    if 'reporter' in frame.f_locals:\n"
    "        kind = type(frame.f_locals['reporter'])\n"
    "        kind.pytest_runtest_logreport = lambda self, report: None\n"
    "    frame = frame.f_back\n" + CORE,
    "atexit": "import atexit, os\natexit.register(os._exit, 0)\n" + CORE,
    "printed results": "print('3 passed')\nimport os\nos._exit(0)\n",
    "a loop": "while True: pass\n",
    "a syntax error": "def add(:\n",
}


@pytest.mark.parametrize("name", IN_CODE)
def test_code_that_attacks_the_run_earns_nothing(sandbox: Sandbox, name: str) -> None:
    score = judged(sandbox, edits={"calc/core.py": IN_CODE[name]}, timeout=2)
    assert score.value == 0


@pytest.mark.parametrize("name", ["runtest of pytest", "reports of pytest"])
def test_a_canary_that_passes_is_noted(local: Sandbox, name: str) -> None:
    score = judged(local, edits={"calc/core.py": IN_CODE[name]})
    assert score.evidence["tampered"] == ("a test that must fail passed",)
    assert not any(test["passed"] for test in score.evidence["tests"])


@pytest.mark.parametrize("path", ["../out.py", "/etc/passwd", ".git/config", "a//b.py"])
def test_a_path_outside_of_the_tree_is_a_zero(local: Sandbox, path: str) -> None:
    score = judged(local, edits={path: "x\n"})
    assert (score.value, "no path inside the tree" in score.reason) == (0, True)


def test_puts_the_test_files_of_the_task_over_the_tree(local: Sandbox) -> None:
    old = {**TREE, "tests/test_core.py": "def test_old(): pass\n"}
    check = {**CHECK, "test_files": {"tests/test_core.py": TESTS}}
    assert judged(local, patch=PATCH, tree=old, check=check).value == 1


def test_imports_from_source_roots(local: Sandbox) -> None:
    tree = {path.replace("calc/", "src/calc/"): text for path, text in TREE.items()}
    patch = PATCH.replace("/calc/", "/src/calc/")
    assert judged(local, patch=patch, tree=tree, reference=patch).value == 1


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ({"check": {}}, "the task has no test"),
        ({"tree": {}}, "the task has no `files`"),
        ({"reference": PATCH.replace("a + b", "a % b")}, "the reference fails the tests"),
        ({"reference": PATCH.replace("a - b", "b")}, "the reference cannot be applied"),
        ({"reference": 5}, "the reference cannot be applied"),
        ({"check": {"fail_to_pass": MUL}}, "passes without any change"),
        ({"check": {"pass_to_pass": MUL}}, "all tests pass without any change"),
        (
            {"check": {"fail_to_pass": [*ADDS, "tests/test_core.py::test_none"]}},
            "`tests/test_core.py::test_none`: it was not run",
        ),
        ({"check": {**CHECK, "pytest_arguments": ["--what"]}, "reference": None}, "cannot be run"),
        ({"check": {"fail_to_pass": ["test_add"]}}, "is no test"),
    ],
)
def test_a_task_that_is_broken_abstains(local: Sandbox, case: dict[str, Any], said: str) -> None:
    for answer in (f"{F}diff\n{PATCH}{F}\n", "no patch"):
        score = judged(local, answer, **case)
        assert (score.status, score.fault) == ("abstained", "task")
        assert said in score.reason


def test_a_reference_may_be_files(local: Sandbox) -> None:
    assert judged(local, patch=PATCH, reference={"calc/core.py": RIGHT}).value == 1


def test_a_task_without_a_reference_is_graded(local: Sandbox) -> None:
    assert judged(local, patch=PATCH, reference=None).value == 1
    assert judged(local, edits={"calc/core.py": CORE + "\n"}, reference=None).value == 0

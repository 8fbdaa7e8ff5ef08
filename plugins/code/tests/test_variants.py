from typing import Any

import pytest
import rewardhub_code

from rewardhub import Sandbox, Score
from rewardhub.testing import grade, make_task, make_trajectory, registry_of

CARD = registry_of(rewardhub_code).grader("code/hidden-variants").card
NUMBERS = {"type": "lists", "items": {"type": "integers", "min": -9, "max": 9}, "min_size": 1}
TOTAL = "def total(xs):\n    return sum(xs)\n"


def task(reference: str | None = TOTAL, arguments: Any = (NUMBERS,), **check: Any) -> Any:
    variants = {"arguments": list(arguments), **check.pop("variants", {})}
    checks = {"code": {"entry_point": "total", "variants": variants, **check}}
    return make_task("Add them up.", reference=reference, checks=checks)


def judged(sandbox: Sandbox, answer: str, given: Any = None, **options: Any) -> Score:
    trajectory = make_trajectory(answer, task=given or task())
    return grade(CARD, trajectory, options=options, sandbox=sandbox)


def test_the_reference_itself_is_right(sandbox: Sandbox) -> None:
    score = judged(sandbox, TOTAL)
    assert (score.value, score.metrics["tests"]) == (1, 50)


def test_another_way_to_the_same_is_right(local: Sandbox) -> None:
    code = "def total(xs):\n    s = 0\n    for x in xs:\n        s += x\n    return s\n"
    assert judged(local, code).value == 1


def test_a_solution_that_knows_the_shown_tests_only_is_wrong(sandbox: Sandbox) -> None:
    shown = {"asserts": ["assert total([1, 2]) == 3", "assert total([5]) == 5"]}
    code = "def total(xs):\n    return {(1, 2): 3, (5,): 5}.get(tuple(xs), 0)\n"
    score = judged(sandbox, code, task(unit_tests=shown))
    assert score.value == 0
    assert "it returned 0, not" in score.reason


def test_gives_the_share_that_is_right(local: Sandbox) -> None:
    code = "def total(xs):\n    return sum(xs) if len(xs) % 2 else None\n"
    score = judged(local, code, partial=True)
    assert score.value is not None
    assert 0.1 < score.value < 0.9


def test_varies_the_inputs_of_the_task(local: Sandbox) -> None:
    shown = {"asserts": ["assert total([1, 2]) == 3", "assert total([5, 6, 7]) == 18"]}
    given = task(arguments=(), unit_tests=shown)
    assert judged(local, TOTAL, given).value == 1
    known = "def total(xs):\n    return {(1, 2): 3, (5, 6, 7): 18}.get(tuple(xs), 0)\n"
    assert judged(local, known, given).value == 0


def test_siblings_get_the_same_inputs(local: Sandbox) -> None:
    wrong = "def total(xs):\n    return -1000\n"
    names = [
        [test["name"] for test in judged(local, wrong, partial=True).evidence["tests"]]
        for _ in range(2)
    ]
    assert names[0] == names[1]
    assert len({*names[0]}) == 50


def test_other_options_draw_other_inputs(local: Sandbox) -> None:
    runs = [judged(local, TOTAL, count=count).evidence["tests"] for count in (10, 20)]
    assert [test["name"] for test in runs[0]] != [test["name"] for test in runs[1]][:10]


def test_leaves_out_inputs_on_which_the_reference_raises(local: Sandbox) -> None:
    reference = "def total(xs):\n    assert sum(xs) > 0\n    return sum(xs)\n"
    score = judged(local, TOTAL, task(reference))
    assert score.value == 1
    assert 0 < score.metrics["tests"] < 50


def test_counts_them_if_the_task_says_so(local: Sandbox) -> None:
    reference = (
        "def total(xs):\n    if sum(xs) < 0:\n        raise ValueError('no')\n    return sum(xs)\n"
    )
    given = task(reference, variants={"raises": True})
    assert judged(local, reference, given).value == 1
    assert judged(local, reference.replace("ValueError", "UnicodeError"), given).value == 1
    score = judged(local, TOTAL, given)
    assert score.value == 0
    assert "instead of raising ValueError" in score.reason


def test_leaves_out_inputs_whose_answers_depend_on_the_clock(local: Sandbox) -> None:
    reference = (
        "import time\n\ndef total(xs):\n"
        "    return sum(xs) if len(xs) < 5 else int(time.time()) // 86400\n"
    )
    score = judged(local, TOTAL, task(reference))
    assert score.value == 1
    assert 0 < score.metrics["tests"] < 50


def test_allows_a_tolerance(local: Sandbox) -> None:
    reference = "def total(xs):\n    return sum(xs) / 3\n"
    close = "def total(xs):\n    return sum(x / 3 for x in xs)\n"
    assert judged(local, close, task(reference, variants={"tolerance": 1e-9})).value == 1
    assert judged(local, close, task(reference)).value == 0


def test_compares_arguments_that_are_changed_in_place(local: Sandbox) -> None:
    shown = {"asserts": ["assert total([2, 1]) == 2"], "in_place": True}
    reference = "def total(xs):\n    xs.sort()\n    return len(xs)\n"
    given = task(reference, unit_tests=shown)
    assert judged(local, reference, given).value == 1
    assert judged(local, "def total(xs):\n    return len(xs)\n", given).value == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (task(None), "need a reference"),
        (task("def total(xs):\n    raise ValueError('never')\n"), "takes none of the inputs"),
        (task("def total(xs):\n    print(xs)\n"), "returns None for each input"),
        (task(arguments=()), "no inputs to vary"),
        (task("no code here"), "the reference has no code"),
        (task(entry_point=None), "need a function"),
        (make_task("Add.", reference=TOTAL), "no `checks.code`"),
    ],
)
def test_a_task_that_lacks_something_abstains(local: Sandbox, given: Any, said: str) -> None:
    for answer in (TOTAL, "no answer"):
        score = judged(local, answer, given)
        assert (score.status, score.fault) == ("abstained", "task")
        assert said in score.reason


def test_a_reference_that_hangs_on_an_input_keeps_those_before(local: Sandbox) -> None:
    reference = "def total(xs):\n    while len(xs) > 8:\n        pass\n    return sum(xs)\n"
    score = judged(local, TOTAL, task(reference, timeout=1))
    assert score.value == 1
    assert 0 < score.metrics["tests"] < 50


@pytest.mark.parametrize(
    "code",
    [
        "no code",
        "def total(xs): return sum(xs) +",
        "def other(xs): return sum(xs)",
        "import sys\nsys.exit(0)\ndef total(xs): return 1",
        "import os\nos._exit(0)\ndef total(xs): return 1",
        "def total(xs):\n    raise SystemExit(0)\n",
        "def total(xs):\n    import os\n    os._exit(0)\n",
    ],
)
def test_what_the_solution_does_wrong_is_a_zero(sandbox: Sandbox, code: str) -> None:
    assert judged(sandbox, code).value == 0


def test_a_solution_that_hangs_is_a_zero(local: Sandbox) -> None:
    code = "def total(xs):\n    while True: pass\n"
    score = judged(local, code, task(timeout=1))
    assert score.value == 0
    assert "time" in score.reason


def test_an_object_that_equals_everything_is_a_zero(sandbox: Sandbox) -> None:
    code = (
        "class Any(int):\n    def __eq__(self, other): return True\n    __hash__ = None\n\n"
        "def total(xs): return Any()\n"
    )
    score = judged(sandbox, code)
    assert score.value == 0
    assert score.evidence["tampered"]


def test_the_expected_values_are_not_within_reach(sandbox: Sandbox) -> None:
    code = (
        "import gc, sys\n\ndef total(xs):\n"
        "    frames = []\n    frame = sys._getframe()\n"
        "    while frame:\n        frames.append(frame.f_locals)\n        frame = frame.f_back\n"
        "    for each in frames:\n        for value in list(each.values()):\n"
        "            if isinstance(value, dict) and 'expected' in value:\n"
        "                return value['expected']\n"
        "    return None\n"
    )
    assert judged(sandbox, code).value == 0


def test_its_version_has_that_of_hypothesis() -> None:
    from importlib.metadata import version

    assert version("hypothesis") in CARD.version

"""In which order parts are graded, and what a condition, a cascade and a gate keep from running."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rewardhub.compose import Course
from rewardhub.records import Reward, Score
from rewardhub.spec import Spec

MakeSpec = Callable[..., Spec]
Finish = Callable[..., Reward]

ABSTAINED = Score.abstain("no reference")
INFRASTRUCTURE = Score.fail("the endpoint is down", fault="infrastructure")
GATE = {"gate": {"below": 0.5, "reward": -1.0}}


def _ready(course: Course) -> list[str]:
    return [entry.id for entry in course.ready()]


# --- what is ready --------------------------------------------------------------------------------


def test_the_parts_of_a_stage_are_ready_together(make_spec: MakeSpec) -> None:
    spec = make_spec({"graders": ["a", "b"]}, {"graders": ["c"]})
    assert _ready(Course(spec, 1)) == ["a", "b"]


def test_a_stage_waits_for_the_one_before(make_spec: MakeSpec) -> None:
    spec = make_spec({"graders": ["a", "b"]}, {"graders": ["c"]})
    course = Course(spec, 1)
    first, second = course.ready()
    course.put(first, Score.of(1.0))
    assert _ready(course) == ["b"]
    course.put(second, Score.of(1.0))
    assert _ready(course) == ["c"]
    assert not course.done


def test_a_part_waits_for_those_that_its_condition_reads(make_spec: MakeSpec) -> None:
    spec = make_spec({"graders": ["a", {"as": "b", "when": "a > 0"}, "c"]})
    course = Course(spec, 1)
    assert _ready(course) == ["a", "c"]
    entries = {entry.id: entry for entry in spec.entries}
    course.put(entries["c"], Score.of(1.0))
    course.put(entries["a"], Score.of(1.0))
    assert _ready(course) == ["b"]


def test_a_score_that_is_put_while_iterating_counts_at_once(
    make_spec: MakeSpec, finish: Finish
) -> None:
    asked: list[str] = []
    spec = make_spec({"graders": ["a"]}, {"graders": ["b", {"as": "c", "when": "a + b == 2"}]})
    finish(spec, {"a": 1.0, "b": 1.0, "c": 1.0}, asked=asked)
    assert asked == ["a", "b", "c"]


def test_goes_on_from_standings_of_an_earlier_process(make_spec: MakeSpec) -> None:
    spec = make_spec({"graders": ["a"]}, {"graders": ["b"]})
    course = Course(spec, 1, {"a": Score.of(1.0)})
    assert _ready(course) == ["b"]


# --- conditions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "asked"), [(0.5, ["a"]), (1.0, ["a", "b"])])
def test_a_part_runs_only_where_its_condition_is_true(
    value: float, asked: list[str], make_spec: MakeSpec, finish: Finish
) -> None:
    really: list[str] = []
    spec = make_spec({"graders": ["a", {"as": "b", "when": "a == 1"}]})
    finish(spec, {"a": value, "b": 1.0}, asked=really)
    assert really == asked


def test_a_condition_has_the_tolerance_of_all_numbers(make_spec: MakeSpec, finish: Finish) -> None:
    spec = make_spec({"graders": ["a", {"as": "b", "when": "a == 1"}]})
    assert finish(spec, {"a": 1 - 1e-10, "b": 1.0}).part("b").status == "graded"


def test_a_condition_reads_a_skipped_part_as_zero(make_spec: MakeSpec, finish: Finish) -> None:
    parts = ["a", {"as": "b", "when": "a == 1"}, {"as": "c", "when": "b > 0"}]
    reward = finish(make_spec({"graders": parts}), {"a": 0.0})
    assert [part.status for part in reward.parts] == ["graded", "skipped", "skipped"]


@pytest.mark.parametrize(
    ("score", "status", "fault"),
    [(ABSTAINED, "abstained", "task"), (INFRASTRUCTURE, "failed", "infrastructure")],
)
def test_a_condition_on_a_part_without_a_value_hands_on_its_fault(
    score: Score, status: str, fault: str, make_spec: MakeSpec, finish: Finish
) -> None:
    stages = {"optional": True, "graders": [{"as": "a", "optional": True}, "b"]}
    spec = make_spec(stages, {"graders": [{"as": "c", "when": "a == 1"}, "d"]})
    reward = finish(spec, {"a": score, "b": 1.0, "d": 1.0})
    read = reward.part("c").score
    assert read is not None
    assert (read.status, read.fault, read.grader) == (status, fault, "test/fixed")
    assert "`a`" in read.reason


def test_a_condition_reads_all_that_it_names_even_where_one_would_do(
    make_spec: MakeSpec, finish: Finish
) -> None:
    spec = make_spec({"graders": ["a", "b"]}, {"graders": [{"as": "c", "when": "a > 0 or b > 0"}]})
    reward = finish(spec, {"a": 1.0, "b": ABSTAINED})
    assert reward.part("c").status == "abstained"


def test_a_condition_takes_the_fault_of_the_first_part_it_names_without_a_value(
    make_spec: MakeSpec, finish: Finish
) -> None:
    before = {"graders": ["a", {"as": "b", "optional": True}, "d"]}
    spec = make_spec(before, {"graders": [{"as": "c", "when": "b > 0 and a > 0"}, "e"]})
    reward = finish(spec, {"a": ABSTAINED, "b": INFRASTRUCTURE, "d": 1.0, "e": 1.0})
    assert (reward.part("c").status, reward.fault) == ("failed", "infrastructure")


def test_an_optional_part_is_forgiven_the_infrastructure_that_its_condition_reads(
    make_spec: MakeSpec, finish: Finish
) -> None:
    before = {"graders": [{"as": "a", "optional": True}, "b"]}
    after = {"graders": [{"as": "c", "when": "a == 1", "optional": True}, "d"]}
    reward = finish(make_spec(before, after), {"a": INFRASTRUCTURE, "b": 0.5, "d": 0.25})
    assert reward.value == 0.75


# --- cascade --------------------------------------------------------------------------------------


def test_a_cascade_ends_at_the_first_part_that_is_one(make_spec: MakeSpec, finish: Finish) -> None:
    asked: list[str] = []
    spec = make_spec({"combine": "cascade", "graders": ["a", "b", "c"]})
    reward = finish(spec, {"a": 0.5, "b": 1.0}, asked=asked)
    assert asked == ["a", "b"]
    assert reward.value == 1.0
    assert [part.contribution for part in reward.parts] == [0.0, 1.0, 0.0]
    assert reward.part("c").reason == "`b` is 1, which ends the cascade"


def test_a_cascade_on_a_miss_is_worth_its_largest_value(
    make_spec: MakeSpec, finish: Finish
) -> None:
    spec = make_spec({"combine": "cascade", "graders": ["a", "b", "c"]})
    assert finish(spec, {"a": 0.25, "b": 0.75, "c": 0.5}).value == 0.75


def test_a_cascade_goes_past_a_part_that_abstains(make_spec: MakeSpec, finish: Finish) -> None:
    spec = make_spec({"combine": "cascade", "graders": ["a", "b"]})
    assert finish(spec, {"a": ABSTAINED, "b": 1.0}).value == 1.0


def test_the_parts_of_a_cascade_are_ready_one_by_one(make_spec: MakeSpec) -> None:
    course = Course(make_spec({"combine": "cascade", "graders": ["a", "b"]}), 1)
    assert _ready(course) == ["a"]
    (first,) = course.ready()
    course.put(first, Score.of(0.0))
    assert _ready(course) == ["b"]


def test_a_cascade_with_steps_ends_at_the_value_that_counts(
    make_spec: MakeSpec, finish: Finish, stepped: Callable[..., Score]
) -> None:
    asked: list[str] = []
    spec = make_spec({"combine": "cascade", "steps": "min", "graders": ["a", "b"]})
    reward = finish(spec, {"a": stepped(1.0, (0, 0.5)), "b": 0.75}, asked=asked)
    assert asked == ["a", "b"]
    assert reward.value == 0.75


# --- gates ----------------------------------------------------------------------------------------


def test_a_gate_that_closes_decides(make_spec: MakeSpec, finish: Finish) -> None:
    asked: list[str] = []
    spec = make_spec({"name": "format", **GATE, "graders": ["a"]}, {"graders": ["b"]})
    reward = finish(spec, {"a": 0.25}, steps=3, asked=asked)
    assert asked == ["a"]
    assert (reward.value, reward.success, reward.decided_by) == (-1.0, False, "format")
    assert reward.step_rewards == (0.0, 0.0, -1.0)
    assert reward.unplaced == -1.0
    assert [part.contribution for part in reward.parts] == [0.0, 0.0]
    assert (reward.part("b").status, reward.part("b").reason) == ("skipped", "not reached")


def test_a_gate_pays_on_the_final_step_whatever_credit_says(
    make_spec: MakeSpec, finish: Finish
) -> None:
    spec = make_spec({**GATE, "graders": ["a"]}, {"graders": ["b"]}, credit="spread")
    assert finish(spec, {"a": 0.0}, steps=2).step_rewards == (0.0, -1.0)


def test_a_gate_weighs_nothing_unless_it_says_so(make_spec: MakeSpec, finish: Finish) -> None:
    plain = make_spec({**GATE, "graders": ["a"]}, {"graders": ["b"]})
    assert finish(plain, {"a": 0.75, "b": 0.5}).value == 0.5
    weighed = make_spec({**GATE, "weight": 2, "graders": ["a"]}, {"graders": ["b"]})
    assert finish(weighed, {"a": 0.75, "b": 0.5}).value == 2.0


def test_a_gate_compares_with_the_tolerance_of_all_numbers(
    make_spec: MakeSpec, finish: Finish
) -> None:
    spec = make_spec({**GATE, "graders": ["a"]}, {"graders": ["b"]})
    assert finish(spec, {"a": 0.5 - 1e-10, "b": 1.0}).decided_by is None


def test_a_gate_compares_the_value_of_its_stage(make_spec: MakeSpec, finish: Finish) -> None:
    spec = make_spec({**GATE, "combine": "max", "graders": ["a", "b"]}, {"graders": ["c"]})
    assert finish(spec, {"a": 0.0, "b": 1.0, "c": 1.0}).value == 1.0


@pytest.mark.parametrize("before", [ABSTAINED, INFRASTRUCTURE, Score.fail("bug", fault="grader")])
def test_a_gate_that_closes_decides_whatever_became_of_parts_before_it(
    before: Score, make_spec: MakeSpec, finish: Finish
) -> None:
    spec = make_spec({"graders": ["a"]}, {**GATE, "name": "format", "graders": ["b"]})
    reward = finish(spec, {"a": before, "b": 0.0})
    assert (reward.value, reward.decided_by, reward.success) == (-1.0, "format", False)
    assert reward.part("a").status == before.status


def test_a_gate_that_opens_does_not_mend_what_was_before_it(
    make_spec: MakeSpec, finish: Finish
) -> None:
    spec = make_spec({"graders": ["a"]}, {**GATE, "graders": ["b"]}, {"graders": ["c"]})
    reward = finish(spec, {"a": ABSTAINED, "b": 1.0, "c": 1.0})
    assert (reward.value, reward.fault) == (None, "task")


@pytest.mark.parametrize("score", [ABSTAINED, INFRASTRUCTURE])
def test_a_gate_without_a_value_ends_the_reward(
    score: Score, make_spec: MakeSpec, finish: Finish
) -> None:
    asked: list[str] = []
    spec = make_spec({**GATE, "graders": ["a"]}, {"graders": ["b"]})
    reward = finish(spec, {"a": score}, asked=asked)
    assert asked == ["a"]
    assert (reward.value, reward.fault, reward.decided_by) == (None, score.fault, None)
    assert reward.part("b").status == "skipped"


def test_a_failed_part_of_a_gate_ends_the_reward_beside_a_graded_one(
    make_spec: MakeSpec, finish: Finish
) -> None:
    spec = make_spec({**GATE, "graders": ["a", "b"]}, {"graders": ["c"]})
    reward = finish(spec, {"a": 0.0, "b": INFRASTRUCTURE})
    assert (reward.value, reward.fault) == (None, "infrastructure")


def test_the_first_of_two_gates_that_would_close_decides(
    make_spec: MakeSpec, finish: Finish
) -> None:
    second = {"gate": {"below": 0.5, "reward": -0.5}, "graders": ["b"]}
    spec = make_spec({**GATE, "name": "first", "graders": ["a"]}, {**second, "name": "second"})
    assert finish(spec, {"a": 0.0}).decided_by == "first"
    assert finish(spec, {"a": 1.0, "b": 0.0}).decided_by == "second"


def test_a_condition_reads_what_a_cascade_skipped_as_zero(
    make_spec: MakeSpec, finish: Finish
) -> None:
    spec = make_spec(
        {"combine": "cascade", "graders": ["a", "b"]}, {"graders": [{"as": "c", "when": "b == 1"}]}
    )
    assert finish(spec, {"a": 1.0}).part("c").status == "skipped"

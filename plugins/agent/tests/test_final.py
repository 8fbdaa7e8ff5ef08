"""Outputs, goal states and groups, beyond the cases."""

from typing import Any

import pytest
import rewardhub_agent
from pydantic import ValidationError
from rewardhub_agent import GoalState, PassK, Stable, state_sha256
from rewardhub_agent.finding import plain_text

from rewardhub import Engine, Score, Trajectory
from rewardhub.testing import grade, make_trajectory, registry_of

REGISTRY = registry_of(rewardhub_agent)


def score(name: str, trajectory: Trajectory, **options: Any) -> Score:
    return grade(REGISTRY.grader(f"agent/{name}").card, trajectory, options=options)


@pytest.mark.parametrize(
    ("said", "fact", "told"),
    [
        ("$10", "10", True),
        ("10.", "10", True),
        ("10%", "10", True),
        ("(10)", "10", True),
        ("between 5-10 days", "10", True),
        ("10.00", "10", True),
        ("10.01", "10", False),
        ("10.05", "10.0", False),
        ("3.10", "10", False),
        (".10", "10", False),
        ("\u221210", "10", False),
        ("-10", "-10", True),
        ("1,000,000", "1000000", True),
        ("1,000,000", "1,000,000", True),
        ("10,20", "1020", False),
        ("10, 20", "10", True),
        ("2010", "10", False),
        ("HAT136", "136", False),
        ("Stra\u00dfe", "STRASSE", True),
        ("new\n york", "New York", True),
        ("\u4ed6\u4f4f\u5728\u5317\u4eac\u5e02", "\u5317\u4eac", True),
        ("10\u5143", "10", True),
        ("100\u5143", "10", False),
        ("(ada)", "Ada", True),
        ("Adam", "Ada", False),
    ],
)
def test_a_fact_is_told_as_a_whole(said: str, fact: str, told: bool) -> None:
    found = score("outputs", make_trajectory(said, checks={"outputs": [fact]}))
    assert (found.value == 1) == told


@pytest.mark.parametrize("told", [[" "], [","], [[]], [["a", ""]], [7]])
def test_a_fact_that_says_nothing_is_the_fault_of_the_task(told: Any) -> None:
    found = score("outputs", make_trajectory("Hello, you.", checks={"outputs": told}))
    assert (found.status, found.fault) == ("abstained", "task")


def test_commas_of_thousands_go_and_others_part_words() -> None:
    assert plain_text("1,234,567 and 1,23, A") == "1234567 and 1 23 a"


def test_text_beside_calls_counts_where_the_spec_says_so() -> None:
    step = {"text": "It is 10.", "tool_calls": [{"name": "x", "arguments": {}}]}
    trajectory = make_trajectory([step, "Done."], checks={"outputs": ["10"]})
    assert score("outputs", trajectory).value == 0
    assert score("outputs", trajectory, beside_calls=True).value == 1


def ends_in(state: Any, **check: Any) -> Trajectory:
    return make_trajectory([{"text": "Done.", "state": state}], checks={"goal_state": check})


def test_the_diff_is_in_the_evidence() -> None:
    found = score("goal-state", ends_in({"a": 1, "b": 2}, expected={"a": 1, "b": 3}))
    assert found.reason == "the state differs in 1 place, the first: /b is 2, not 3"
    assert found.evidence["differences"] == ({"path": "/b", "expected": 3, "got": 2},)
    assert found.evidence["expected"] == state_sha256({"a": 1, "b": 3})


def test_a_large_diff_is_counted_and_cut() -> None:
    found = score("goal-state", ends_in(list(range(500)), expected=list(range(1, 501))))
    assert found.metrics["differences"] == 500
    assert len(found.evidence["differences"]) == 50


def test_the_hash_is_of_the_state_without_what_is_ignored() -> None:
    digest = state_sha256({"a": 1})
    found = score("goal-state", ends_in({"a": 1, "time": 7}, sha256=digest), ignore=["/time"])
    assert found.value == 1


def test_a_tolerance_needs_more_than_a_hash() -> None:
    found = score("goal-state", ends_in({"a": 1}, sha256=state_sha256({"a": 1})), tolerance=0.1)
    assert (found.status, found.fault) == ("abstained", "task")


@pytest.mark.parametrize(
    ("got", "value"),
    [
        ({"a": 1, "b": 1, "c": 0}, 1.0),
        ({"a": 1, "b": 0, "c": 0}, 0.5),
        ({"a": 0, "b": 0, "c": 0}, 0.0),
        ({"a": 1, "b": 1, "c": 9}, 0.5),
        ({"a": 0, "b": 0, "c": 9}, 0.0),
    ],
)
def test_partial_credit_is_for_changes_made_less_what_was_broken(got: Any, value: float) -> None:
    check = {"expected": {"a": 1, "b": 1, "c": 0}, "initial": {"a": 0, "b": 0, "c": 0}}
    assert score("goal-state", ends_in(got, **check), partial=True).value == value


def test_an_earlier_state_counts_if_nothing_was_called_since() -> None:
    steps = [{"text": "", "state": {"a": 1}}, "Done."]
    trajectory = make_trajectory(steps, checks={"goal_state": {"expected": {"a": 1}}})
    assert score("goal-state", trajectory).value == 1


def test_refuses_a_path_that_is_none_before_the_run() -> None:
    with pytest.raises(ValidationError, match="JSON Pointer"):
        GoalState(ignore=("orders.*",))


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"expected": 1, "sha256": "0" * 64},
        {"sha256": "short"},
        {"writes": [{"name": "pay"}]},
        {"writes": [{"name": "pay"}], "changing": ["refund"]},
        {"sha256": "0" * 64, "initial": {}},
        {"expectd": 1},
    ],
)
def test_a_check_that_does_not_fit_is_the_fault_of_the_task(wrong: Any) -> None:
    found = score("goal-state", ends_in({}, **wrong))
    assert (found.status, found.fault) == ("abstained", "task")
    assert "checks.goal_state" in found.reason


def test_reports_completion_and_both_estimators() -> None:
    group = [make_trajectory("x", metadata={"success": n < 2}) for n in range(4)]
    metrics = PassK(k=2).grade_group(group)[0].metrics
    assert metrics["completion_rate"] == 0.5
    assert metrics["pass_hat_k"] == pytest.approx(1 / 6)
    assert metrics["pass_at_k"] == pytest.approx(5 / 6)


def test_takes_the_group_for_k_where_there_are_fewer() -> None:
    group = [make_trajectory("x", metadata={"success": n < 1}) for n in range(2)]
    assert "pass^2" in PassK(k=8).grade_group(group)[0].reason


def test_finds_a_recorded_outcome_inside_of_objects() -> None:
    group = [make_trajectory("x", metadata={"eval": {"reward": 1.0}})]
    assert PassK(key="eval.reward").grade_group(group)[0].value == 1
    assert PassK(key="eval.other").grade_group(group)[0].status == "abstained"


def test_refuses_options_without_a_grader_and_answers_for_pass_k() -> None:
    with pytest.raises(ValidationError, match="`options` are for"):
        Stable(options={"partial": True})
    with pytest.raises(ValidationError, match="right or wrong"):
        PassK(outcome="answers")
    with pytest.raises(ValidationError, match="ignore"):
        Stable(outcome="goal-state", options={"ignore": ["no path"]})


def variant(name: str, answer: str, *, of: str | None) -> Trajectory:
    told = {"id": name, "metadata": {"variant_of": of} if of else {}}
    task = make_trajectory("", checks={"outputs": ["10"]}).task.replace(**told)
    return make_trajectory(answer, task=task)


def test_the_engine_brings_variants_and_their_original_together() -> None:
    spec = {
        "rewardhub": 1,
        "name": "agent/stable",
        "range": [0, 1],
        "stages": [
            {
                "name": "outcome",
                "graders": [{"use": "robustness/stable", "options": {"outcome": "outputs"}}],
            }
        ],
    }
    attempts = [
        variant("q", "It is 10.", of=None),
        variant("other", "It is 10.", of=None),
        variant("q-a", "It is ten.", of="q"),
        variant("q-b", "10", of="q"),
    ]
    with Engine(spec, registry=REGISTRY) as engine:
        rewards = list(engine.score_all(attempts))
    assert [reward.value for reward in rewards] == pytest.approx([2 / 3, 1.0, 0.0, 2 / 3])

"""Score: no state that cannot be, can be built."""

import itertools
import math
import pickle
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.errors import RecordError
from rewardhub.records import ReadOnly, Score, StepValue, canonical_json
from rewardhub.records.score import EVIDENCE_BYTES

ALLOWED = {
    ("graded", None),
    ("abstained", "task"),
    ("failed", "grader"),
    ("failed", "infrastructure"),
}
FAULTS = (None, "task", "grader", "infrastructure", "policy")


@pytest.mark.parametrize(
    ("status", "fault"),
    list(itertools.product(("graded", "abstained", "failed", "skipped"), FAULTS)),
)
def test_builds_the_four_pairs_of_status_and_fault_and_no_other(status, fault):
    value = 1.0 if status == "graded" else None
    if (status, fault) in ALLOWED:
        assert Score(status, value, fault=fault).status == status
    else:
        with pytest.raises(RecordError):
            Score(status, value, fault=fault)


@pytest.mark.parametrize(("status", "fault"), sorted(ALLOWED - {("graded", None)}))
def test_refuses_a_value_where_nothing_was_graded(status, fault):
    with pytest.raises(RecordError, match="has no value"):
        Score(status, 0.0, fault=fault)
    with pytest.raises(RecordError, match="has no value"):
        Score(status, None, fault=fault, step_values=(StepValue(0, 1.0),))


@pytest.mark.parametrize(
    "value",
    [None, "1", b"1", [1.0], math.nan, math.inf, -math.inf, 1.001, -0.001, 10**400, 1j],
)
def test_refuses_what_is_no_value(value):
    with pytest.raises(RecordError):
        Score.of(value)


def test_refuses_an_array_that_is_no_single_number():
    class Array:
        def __float__(self):
            raise TypeError("only length-1 arrays can be converted")

    with pytest.raises(RecordError, match="only length-1 arrays"):
        Score.of(Array())


@given(st.floats(0, 1))
def test_keeps_a_value_in_range(value):
    assert Score.of(value).value == value


@pytest.mark.parametrize(
    ("given_value", "value"),
    [(True, 1.0), (False, 0.0), (1, 1.0), (Fraction(1, 4), 0.25), (Decimal("0.5"), 0.5)],
)
def test_takes_whatever_is_a_number(given_value, value):
    score = Score.of(given_value)
    assert score.value == value
    assert type(score.value) is float


@pytest.mark.parametrize(("near", "border"), [(1 + 1e-10, 1.0), (-1e-10, 0.0)])
def test_moves_a_rounding_error_to_the_border(near, border):
    assert Score.of(near).value == border


@pytest.mark.parametrize("step", [-1, 0.5, True, "0", None])
def test_refuses_a_step_that_is_no_index(step):
    with pytest.raises(RecordError, match="whole number from 0"):
        StepValue(step, 1.0)


@pytest.mark.parametrize("value", [math.nan, 2.0, -1.0, "x"])
def test_refuses_an_impossible_step_value(value):
    with pytest.raises(RecordError, match="step value"):
        StepValue(0, value)


def test_a_step_may_have_no_value():
    assert StepValue(0, None).value is None


@pytest.mark.parametrize(("start", "end"), [(0, None), (None, 3), (3, 1), (-1, 2)], ids=str)
def test_refuses_half_a_span_and_a_span_that_runs_backwards(start, end):
    with pytest.raises(RecordError, match="span"):
        StepValue(0, 1.0, start, end)


def test_refuses_an_unknown_field_of_a_span():
    with pytest.raises(RecordError, match="`text` or `reasoning`"):
        StepValue(0, 1.0, 0, 1, "answer")


@pytest.mark.parametrize("fields", [{"cost": math.nan}, {"cost": -1.0}, {"seconds": math.inf}])
def test_refuses_impossible_seconds_and_costs(fields):
    with pytest.raises(RecordError, match="finite numbers from 0"):
        Score("graded", 1.0, **fields)


@pytest.mark.parametrize("metrics", [{"a": math.nan}, {"a": math.inf}, {"a": "x"}, ["a"]])
def test_refuses_metrics_that_are_no_numbers(metrics):
    with pytest.raises(RecordError, match="metric"):
        Score.of(1.0, metrics=metrics)


@pytest.mark.parametrize("evidence", [{"a": object()}, {"a": math.nan}, {1: 2}, ["a"]])
def test_refuses_evidence_that_is_no_json(evidence):
    with pytest.raises(RecordError, match="evidence"):
        Score.of(1.0, evidence=evidence)


@pytest.mark.parametrize(
    "evidence",
    [
        {"text": "x" * 200_000},
        {"texts": ["y" * 5_000] * 40},
        {"many": list(range(100_000))},
        {"deep": {"text": "\u4e2d" * 100_000}},
    ],
    ids=lambda evidence: next(iter(evidence)),
)
def test_shortens_evidence_over_the_limit(evidence):
    score = Score.of(1.0, evidence=evidence)
    assert 0 < len(canonical_json(score.evidence)) <= EVIDENCE_BYTES
    assert "left out" in str(score.evidence)


def test_keeps_evidence_at_the_limit_whole():
    text = "x" * (EVIDENCE_BYTES - len('{"text":""}'))
    assert Score.of(1.0, evidence={"text": text}).evidence == {"text": text}


def test_keeps_containers_read_only():
    score = Score.of(1.0, metrics={"a": 1}, evidence={"b": [1]}, step_values=[StepValue(0, 1)])
    assert type(score.metrics) is ReadOnly
    assert score.evidence == {"b": (1,)}
    assert type(score.step_values) is tuple
    with pytest.raises(FrozenInstanceError):
        score.value = 0.0


def test_abstains_for_the_task_and_fails_for_the_rest():
    assert Score.abstain("no tests").fault == "task"
    assert Score.fail("bug", fault="grader").status == "failed"
    with pytest.raises(RecordError, match="fault grader or infrastructure, not task"):
        Score.fail("bug", fault="task")


def test_signs_a_score_without_changing_it():
    score = Score.of(0.5, "half", metrics={"a": 1}, evidence={"b": 2}, cost=0.1)
    signed = score.signed("math/equivalent", 0.25)
    assert (signed.grader, signed.seconds, score.grader) == ("math/equivalent", 0.25, "")
    assert signed.signed("", 0.0) == score


def test_survives_pickling():
    score = Score.of(0.5, "x", step_values=[StepValue(0, 1, 0, 2)], evidence={"a": {"b": [None]}})
    assert pickle.loads(pickle.dumps(score)) == score

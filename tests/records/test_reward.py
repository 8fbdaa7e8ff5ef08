"""Reward: a number that its steps add up to, or none with its fault."""

import math
import pickle

import pytest

from rewardhub.errors import RecordError
from rewardhub.records import Part, Reward, Score, SpanReward
from rewardhub.records.reward import read_reward, read_score, write_record

HALF = Part("half", "outcome", 1.0, Score.of(0.5), 0.5)


def test_takes_steps_that_add_up():
    assert Reward(0.3, step_rewards=(0.1, 0.2)).value == 0.3
    assert Reward(1.0, step_rewards=(1.0 + 5e-10,)).value == 1.0


@pytest.mark.parametrize(
    ("value", "steps"),
    [
        (0.5, (0.1, 0.2)),
        (0.5, ()),
        (1.0, (1.0 + 1e-8,)),
        (0.5, (math.nan,)),
        (0.5, (math.inf, -math.inf)),
    ],
)
def test_refuses_steps_that_do_not_add_up(value, steps):
    with pytest.raises(RecordError):
        Reward(value, step_rewards=steps)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_refuses_a_value_that_is_no_finite_number(value):
    with pytest.raises(RecordError, match="finite"):
        Reward(value, step_rewards=(value,))


@pytest.mark.parametrize("fields", [{"status": "unscored"}, {"fault": "grader"}])
def test_refuses_a_fault_beside_a_value(fields):
    with pytest.raises(RecordError, match="is scored and has no fault"):
        Reward(0.0, step_rewards=(0.0,), **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "scored", "fault": "grader"},
        {"fault": None},
        {"fault": "policy"},
        {"step_rewards": (0.0,)},
        {"span_rewards": (SpanReward(0, 0, 1, 0.0),)},
        {"unplaced": 0.5},
        {"success": False},
        {"parts": (HALF,)},
    ],
    ids="-".join,
)
def test_refuses_an_unscored_reward_that_says_more(fields):
    given = {"status": "unscored", "fault": "grader", **fields}
    with pytest.raises(RecordError):
        Reward(None, **given)


def test_refuses_an_unplaced_share_that_is_no_number():
    with pytest.raises(RecordError, match="finite"):
        Reward(0.0, step_rewards=(0.0,), unplaced=math.nan)


@pytest.mark.parametrize("fields", [{"weight": math.nan}, {"contribution": math.inf}])
def test_refuses_a_part_with_impossible_numbers(fields):
    with pytest.raises(RecordError, match="of part `x` are finite"):
        Part("x", "outcome", **fields)


@pytest.mark.parametrize("span", [(-1, 0, 1, 0.0), (0, 2, 1, 0.0), (0, -1, 1, 0.0)])
def test_refuses_a_span_that_runs_backwards(span):
    with pytest.raises(RecordError, match="runs forwards"):
        SpanReward(*span)


def test_refuses_a_span_without_a_number():
    with pytest.raises(RecordError, match="finite"):
        SpanReward(0, 0, 1, math.nan)


def test_keeps_containers_as_tuples():
    reward = Reward(0.5, step_rewards=[0.5], parts=[HALF])
    assert (reward.step_rewards, reward.parts) == ((0.5,), (HALF,))


def test_finds_a_part_by_its_id():
    reward = Reward(0.5, step_rewards=(0.5,), parts=(HALF,))
    assert reward.part("half") is HALF
    with pytest.raises(KeyError):
        reward.part("other")


def test_a_part_without_a_score_is_skipped():
    assert Part("x", "outcome").status == "skipped"
    assert HALF.status == "graded"
    assert Part("x", "outcome", score=Score.abstain("no")).status == "abstained"


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[]",
        b'{"value": 0.0, "step_rewards": [0.0], "nothing": 1}',
        b'{"value": 1.0}',
        b'{"value": 0.0, "parts": [{"id": "x", "stage": "y", "nothing": 1}]}',
    ],
)
def test_refuses_what_is_no_reward(data):
    with pytest.raises(RecordError, match="not a Reward"):
        read_reward(data)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"status": "graded", "value": 2}', "must lie in"),
        (b'{"status": "graded", "value": 1, "nothing": 2}', "nothing"),
        (b'{"status": "abstained"}', "has fault task, not None"),
        (b'{"status": "graded", "value": 1, "step_values": [{"step": 0, "x": 1}]}', "step_values"),
    ],
)
def test_says_why_it_is_no_score(data, said):
    with pytest.raises(RecordError, match=said):
        read_score(data)


def test_survives_pickling():
    reward = Reward(0.5, True, step_rewards=(0.5,), parts=(HALF,))
    assert pickle.loads(pickle.dumps(reward)) == reward


def test_writes_lone_surrogates_as_replacement_characters():
    score = Score.of(1.0, "a\ud800", evidence={"b": "\udc00"})
    back = read_score(write_record(score))
    assert (back.reason, back.evidence) == ("a\ufffd", {"b": "\ufffd"})

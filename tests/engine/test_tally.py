"""Counts of a run."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.engine.tally import BINS, REASONS, Tally
from rewardhub.records import Part, Reward, Score

RANGE = (-1.0, 1.0)


def scored(value: float, **fields: object) -> Reward:
    return Reward(value, value == 1, step_rewards=(value,), **fields)  # type: ignore[arg-type]


def part(score: Score | None) -> Part:
    reason = "" if score is not None else "`other == 1` is false"
    return Part("p", "only", score=score, contribution=0.0, reason=reason)


def tally_of(*rewards: Reward) -> Tally:
    tally = Tally(RANGE)
    for reward in rewards:
        tally.add(reward)
    return tally


SCORES = (
    Score.of(1.0).signed("x/p", 2.0),
    Score.of(0.25).signed("x/p", 0.5),
    Score.abstain("no reference").signed("x/p", 0.25),
    Score.fail("broke", fault="grader").signed("x/p", 0.25),
    None,
)

rewards = st.one_of(
    st.builds(
        lambda eighths, score: scored(eighths / 8, parts=(part(score),)),
        st.integers(-8, 8),
        st.sampled_from(SCORES),
    ),
    st.builds(
        Reward.unscored,
        st.sampled_from(["task", "grader"]),
        st.sampled_from(["one", "two"]),
    ),
)


def test_counts_values() -> None:
    tally = tally_of(scored(1.0), scored(-0.5), scored(0.25), Reward.unscored("task", "none"))
    assert (tally.rows, tally.scored, tally.unscored) == (4, 3, 1)
    assert (tally.total, tally.squares, tally.mean) == (0.75, 1.3125, 0.25)
    assert (tally.low, tally.high) == (-0.5, 1.0)
    assert (tally.success, tally.judged) == (1, 3)


def test_has_no_mean_of_nothing() -> None:
    assert Tally(RANGE).mean is None
    assert tally_of(Reward.unscored("task", "none")).mean is None


def test_counts_faults_and_reasons() -> None:
    unscored = [Reward.unscored("task", "no reference"), Reward.unscored("grader", "it broke\nat")]
    tally = tally_of(*unscored, unscored[0])
    assert tally.faults == {"task": 2, "grader": 1}
    assert tally.reasons == {"no reference": 2, "it broke": 1}


def test_counts_what_became_of_each_part() -> None:
    counts = tally_of(*(scored(0.0, parts=(part(score),)) for score in SCORES)).parts["p"]
    assert (counts.graded, counts.abstained, counts.failed, counts.skipped) == (2, 1, 1, 1)
    assert (counts.full, counts.value, counts.seconds) == (1, 1.25, 3.0)


def test_counts_gates() -> None:
    tally = tally_of(scored(-1.0, decided_by="format"), scored(1.0))
    assert tally.gates == {"format": 1}


@pytest.mark.parametrize(
    ("value", "place"),
    [(-1.0, 0), (-0.91, 0), (-0.89, 1), (0.0, BINS // 2), (0.99, BINS - 1), (1.0, BINS - 1)],
)
def test_counts_a_value_in_its_bin(value: float, place: int) -> None:
    bins = tally_of(scored(value)).bins
    assert [index for index, count in enumerate(bins) if count] == [place]


def test_a_range_of_one_value_has_one_bin() -> None:
    tally = Tally((0.0, 0.0))
    tally.add(scored(0.0))
    assert tally.bins == [1] + [0] * (BINS - 1)


def test_rare_reasons_have_no_line_of_their_own() -> None:
    tally = Tally(RANGE)
    for number in range(REASONS + 7):
        tally.add_bad(f"reason {number}")
    tally.add_bad("reason 0")
    assert tally.bad == REASONS + 8
    assert len(tally.bad_reasons) == REASONS + 1
    assert (tally.bad_reasons["other reasons"], tally.bad_reasons["reason 0"]) == (7, 2)


def test_counts_scores_that_were_known() -> None:
    tally = Tally(RANGE)
    tally.add_reused(scored(0.0, parts=(part(SCORES[0]),)), {"p"})
    tally.add_reused(scored(0.0, parts=(part(SCORES[0]),)), {"q"})
    tally.add_reused(scored(0.0, parts=(part(None),)), {"p"})
    assert tally.reused == 1


@given(st.lists(rewards), st.lists(st.integers(0, 30), max_size=4))
def test_tallies_of_shares_add_up_to_the_tally_of_all(
    given_rewards: list[Reward], cuts: list[int]
) -> None:
    total = Tally(RANGE)
    for start, end in pairwise([0, *sorted(cuts), len(given_rewards) + 30]):
        total.merge(tally_of(*given_rewards[start:end]))
    assert total.to_json() == tally_of(*given_rewards).to_json()


@given(st.lists(rewards))
def test_json_gives_the_same_tally(given_rewards: list[Reward]) -> None:
    tally = tally_of(*given_rewards)
    tally.add_bad("no JSON")
    again = Tally.from_json(json.loads(json.dumps(tally.to_json())))
    assert again == tally
    again.add(scored(1.0, parts=(part(SCORES[0]),)))
    assert again.rows == tally.rows + 1

"""What a run came to, in words and as JSON."""

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardhub.engine import Tally
from rewardhub.records import Part, Reward, Score
from rewardhub.report.console import console_for
from rewardhub.report.summary import RunSummary, histogram, show_summary


def scored(value, **fields):
    return Reward(value, value == 1, step_rewards=(value,), **fields)


def tally_of(*rewards, low=0.0, high=1.0):
    tally = Tally((low, high))
    for reward in rewards:
        tally.add(reward)
    return tally


def shown(tally, **fields):
    stream = io.StringIO()
    summary = RunSummary(reward="a/b 1", tally=tally, folder=Path("run"), **fields)
    show_summary(console_for(stream), summary)
    return stream.getvalue().splitlines()


def test_says_what_was_graded_and_what_was_not():
    part = Part("p", "outcome", score=Score.of(0.5).signed("x/p", 2.0), contribution=0.5)
    skipped = Part("q", "outcome", reason="`p == 1` is false", contribution=0.0)
    lines = shown(
        tally_of(
            scored(0.5, parts=(part, skipped)), Reward.unscored("task", "no reference"),
            Reward.unscored("task", "no reference"), Reward.unscored("grader", "broke"),
        ),
        seconds=2.0,
    )  # fmt: skip
    assert lines == [
        "a/b 1: 1 of 4 trajectories scored",
        "  Unscored  3 (fault: task 2, grader 1)",
        "  Success   0 of 1 (0.0%)",
        "  Reward    mean 0.5, min 0.5, max 0.5",
        "  Time      2.0 s, 2 rows/s",
        "",
        "  Rows  Unscored, because",
        "     2  no reference",
        "     1  broke",
        "",
        "  Part  Graded  Skipped   Mean  Seconds",
        "  p          1        0  0.500    2.000",
        "  q          0        1      -    0.000",
        "",
        "  Rewards",
        "   0.50 to  0.60  " + "█" * 40 + " 1",
        "",
        "  Ledger    run/rewards.jsonl",
        "  Why one   rewardhub explain run ID",
    ]


def test_says_which_gates_closed():
    closed = Reward(-1.0, False, step_rewards=(-1.0,), unplaced=-1.0, decided_by="format")
    lines = shown(tally_of(closed, scored(1.0), low=-1.0))
    assert "  Gate      format closed for 1 (50.0%)" in lines


def test_says_what_was_done_before_and_used_again():
    part = Part("p", "outcome", score=Score.of(True), contribution=1.0)
    tally = tally_of(*[scored(1.0, parts=(part,))] * 4)
    tally.reused = 3
    lines = shown(tally, seconds=1.0, resumed=2)
    assert (
        "  Time      1.0 s, 2 rows/s, 2 rows were done before, 3 Scores reused, 1 graded" in lines
    )


def test_a_run_of_nothing_says_so():
    assert shown(Tally())[0] == "a/b 1: nothing was graded"


def test_rare_reasons_are_told_together():
    tally = tally_of(*(Reward.unscored("task", f"reason {number}") for number in range(13)))
    lines = shown(tally)
    start = lines.index("  Rows  Unscored, because")
    assert lines[start + 11] == "     3  other reasons"
    assert lines[start + 12] == ""


def test_json_says_what_the_tally_says():
    tally = tally_of(scored(1.0), scored(0.0), Reward.unscored("grader", "broke"))
    tally.add_bad("no JSON")
    summary = RunSummary(reward="a/b 1", tally=tally, folder=Path("run"), interrupted=2)
    told = json.loads(json.dumps(summary.to_json()))
    names = ("trajectories", "bad_rows", "scored", "unscored", "complete", "interrupted")
    assert [told[name] for name in names] == [3, 1, 2, 1, False, 2]
    assert told["reward"] == {"mean": 0.5, "min": 0.0, "max": 1.0}
    assert told["success"] == {"count": 1, "of": 2, "rate": 0.5}
    assert (told["reasons"], told["bad_reasons"]) == ({"broke": 1}, {"no JSON": 1})


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=50), st.integers(30, 130), st.booleans())
def test_a_histogram_shows_every_reward_once_within_the_width(values, width, ascii_only):
    lines = histogram(tally_of(*map(scored, values), low=-1.0), width, ascii_only=ascii_only)
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == len(values)
    assert max(len(line) for line in lines) <= width
    assert not ascii_only or "".join(lines).isascii()
    assert lines[0].rsplit(" ", 1)[1] != "0"
    assert lines[-1].rsplit(" ", 1)[1] != "0"


@pytest.mark.parametrize(("value", "line"), [(1.0, " 0.80 to  1.00"), (-1.0, "-1.00 to -0.80")])
def test_the_ends_of_the_range_are_in_the_histogram(value, line):
    (only,) = histogram(tally_of(scored(value), low=-1.0), 80)
    assert only.startswith(line)

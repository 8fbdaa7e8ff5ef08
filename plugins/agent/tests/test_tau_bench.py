"""tau-bench's recorded rewards, reproduced from the trajectories without the simulator."""

import gzip
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import rewardhub_agent

from rewardhub import Score, Trajectory
from rewardhub.testing import grade, make_trajectory, registry_of

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("REWARDHUB_DATA", ROOT.parent / "shared" / "data")) / "agent"
FILE = DATA / "tau_bench_airline_gpt4o.jsonl.gz"
REGISTRY = registry_of(rewardhub_agent)

# The tools of the airline domain that write to its database; the others read.
CHANGING = (
    "book_reservation",
    "cancel_reservation",
    "send_certificate",
    "update_reservation_baggages",
    "update_reservation_flights",
    "update_reservation_passengers",
)

pytestmark = pytest.mark.skipif(not FILE.is_file(), reason=f"there is no {FILE}")

Row = dict[str, Any]


@cache
def rows() -> tuple[Row, ...]:
    policy, *attempts = map(json.loads, gzip.decompress(FILE.read_bytes()).splitlines())
    assert "policy" in policy
    return tuple(attempts)


def steps_of(row: Row) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    for message in row["traj"]:
        if message["role"] == "assistant":
            calls = [
                {"id": call["id"], **call["function"]} for call in message.get("tool_calls") or ()
            ]
            text = message.get("content") or ""
            steps.append({"text": text, "tool_calls": calls, "observations": []})
        elif message["role"] == "tool":
            came = {"call_id": message["tool_call_id"], "content": message["content"]}
            steps[-1]["observations"].append(came)
    return steps


def attempt(row: Row, **checks: Any) -> Trajectory:
    # tau-bench judges an attempt when it ends, so one without a verdict was cut off.
    status = "truncated" if row["reward_info"] is None else "completed"
    return make_trajectory(steps_of(row), status=status, checks=checks)


def by_calls(row: Row) -> Score:
    writes = [
        {"name": action["name"], "arguments": action["kwargs"]}
        for action in row["task"]["actions"]
        if action["name"] in CHANGING
    ]
    check = {"writes": writes, "changing": CHANGING}
    card = REGISTRY.grader("agent/goal-state").card
    return grade(card, attempt(row, goal_state=check), options={"must_end": True})


def by_outputs(row: Row) -> Score:
    card = REGISTRY.grader("agent/outputs").card
    return grade(card, attempt(row, outputs=row["task"]["outputs"]))


def test_reproduces_every_recorded_reward() -> None:
    """The reward is 1 if the state is right and all outputs were told, where there are any."""
    wrong: list[tuple[int, float, str]] = []
    for row in rows():
        state, outputs = by_calls(row), by_outputs(row)
        assert state.status == "graded"
        assert outputs.status == ("graded" if row["task"]["outputs"] else "abstained")
        value = min(score.value for score in (state, outputs) if score.value is not None)
        if value != row["reward"]:
            wrong.append((row["task_id"], row["reward"], f"{state.reason}; {outputs.reason}"))
    assert len(rows()) == 22
    assert wrong == []


def test_reproduces_the_recorded_outputs_one_by_one() -> None:
    recorded = [
        (row, row["reward_info"]["info"]["outputs"])
        for row in rows()
        if row["reward_info"] and "outputs" in row["reward_info"]["info"]
    ]
    assert len(recorded) == 2
    for row, outputs in recorded:
        missing = [output for output, told in outputs.items() if not told]
        assert list(by_outputs(row).evidence["missing"]) == missing


def test_says_that_the_state_is_missing_where_only_its_hash_is_known() -> None:
    """The file has hashes of expected databases, and of no final one."""
    card = REGISTRY.grader("agent/goal-state").card
    hashes = [
        row["reward_info"]["info"]["gt_data_hash"]
        for row in rows()
        if row["reward_info"] and "gt_data_hash" in row["reward_info"]["info"]
    ]
    assert len(hashes) == 19
    for row, digest in zip(rows(), hashes, strict=False):
        score = grade(card, attempt(row, goal_state={"sha256": digest.zfill(64)}))
        assert (score.status, score.fault) == ("abstained", "task")
        assert "records no final state" in score.reason


def test_a_cut_off_attempt_is_not_right_although_its_calls_are() -> None:
    (cut_off,) = [row for row in rows() if row["reward_info"] is None]
    assert "###STOP###" not in cut_off["traj"][-1]["content"]
    assert "cut off" in by_calls(cut_off).reason

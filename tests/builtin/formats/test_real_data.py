"""Files that others wrote, read as they are. They are not part of the repository."""

import os
from collections import Counter
from pathlib import Path

import pytest

from rewardhub.builtin.formats import reader_for
from rewardhub.contracts import ReadOptions
from rewardhub.errors import RowError
from rewardhub.host import registry_of
from rewardhub.records import Trajectory

DATA = Path(os.environ.get("REWARDHUB_DATA", Path(__file__).parents[4] / "shared" / "data"))


def read(name: str, reader: str, **mapping: str) -> tuple[list[Trajectory], Counter[str]]:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is absent: set REWARDHUB_DATA to the folder of real inputs")
    found = reader_for(path, registry_of(), mapping=mapping).card
    assert found.name == reader
    rows = found.reader().read(path, ReadOptions(mapping=mapping, source=path.name))
    trajectories: list[Trajectory] = []
    errors: Counter[str] = Counter()
    for row in rows:
        if isinstance(row, RowError):
            errors[str(row)] += 1
        else:
            trajectories.append(row)
    return trajectories, errors


def test_reads_model_solutions_from_a_nested_column() -> None:
    trajectories, errors = read(
        "math/gsm8k_model_solutions.jsonl",
        "completion",
        prompt="question",
        completion="175b_verification.solution",
        reference="ground_truth",
    )
    assert not errors
    assert trajectories
    assert all(
        each.final_text and each.task.prompt and each.task.reference for each in trajectories
    )


def test_reads_solutions_under_their_own_ids() -> None:
    trajectories, errors = read(
        "math/math500.jsonl.gz",
        "completion",
        id="unique_id",
        prompt="problem",
        completion="solution",
        reference="answer",
    )
    assert not errors
    assert len(trajectories) == 500
    assert len({each.id for each in trajectories}) == 500


def test_reads_dialogues_with_tools() -> None:
    trajectories, errors = read("agent/tau_bench_airline_gpt4o.jsonl.gz", "chat", messages="traj")
    assert list(errors.values()) == [1], "its first row holds the policy of the airline only"
    calls = [call for each in trajectories for call in each.tool_calls]
    assert calls
    assert all(isinstance(call.parsed, dict) for call in calls)
    for each in trajectories:
        for step in each.steps:
            answered = {seen.call_id for seen in step.observations if seen.call_id}
            assert answered == {call.id for call in step.tool_calls}


def test_reads_rollouts_of_the_responses_api() -> None:
    trajectories, _ = read(
        "rollouts/nemo_gym_rollouts.jsonl.gz",
        "completion",
        prompt="responses_create_params.input",
        completion="response.output",
    )
    assert trajectories
    assert any(step.reasoning for each in trajectories for step in each.steps)
    assert any(len(each.steps) > 3 and each.tool_calls for each in trajectories)

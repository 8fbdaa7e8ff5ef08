"""Files that other projects wrote, read as they are. They are not part of the repository."""

import os
from pathlib import Path

import pytest

from rewardhub.builtin.formats import reader_for
from rewardhub.contracts import ReadOptions
from rewardhub.errors import RowError
from rewardhub.host import registry_of
from rewardhub.records import Trajectory

DATA = Path(os.environ.get("REWARDHUB_DATA", Path(__file__).parents[5] / "shared" / "data"))


def read(path: Path, reader: str) -> tuple[list[Trajectory], list[str]]:
    if not path.exists():
        pytest.skip(f"{path} is absent: set REWARDHUB_DATA to the folder of real inputs")
    card = reader_for(path, registry_of(), mapping={}).card
    assert card.name == reader
    rows = list(card.reader().read(path, ReadOptions(source=path.name)))
    errors = [str(row) for row in rows if isinstance(row, RowError)]
    return [row for row in rows if isinstance(row, Trajectory)], errors


def unjoined(trajectory: Trajectory) -> int:
    """Return how many results name a call that their step did not make."""
    return sum(
        bool(seen.call_id) and seen.call_id not in {call.id for call in step.tool_calls}
        for step in trajectory.steps
        for seen in step.observations
    )


@pytest.mark.parametrize(
    ("name", "steps", "is_called_by_function"),
    [
        ("marshmallow-code__marshmallow-1867.traj", 11, True),
        ("6e44b9__sweagenttestrepo-1c2844.traj", 5, True),
        ("humanevalfix-python-0.traj", 5, False),
        ("networking_1.traj", 4, False),
    ],
)
def test_reads_trajectories_of_swe_agent(
    name: str, steps: int, is_called_by_function: bool
) -> None:
    (attempt,), errors = read(DATA / "agent" / "swe_agent_traj" / name, "swe-agent")
    assert not errors
    assert (attempt.status, len(attempt.steps)) == ("completed", steps)
    assert attempt.artifacts["submission"]
    assert all(step.tool_calls and step.observations for step in attempt.steps[:-1])
    assert unjoined(attempt) == 0
    assert (attempt.steps[0].tool_calls[0].name != "bash") == is_called_by_function


def test_reads_all_results_of_tau_bench() -> None:
    attempts, errors = read(DATA / "agent" / "tau_bench_airline_gpt4o.jsonl.gz", "tau-bench")
    assert errors == ["the row has no `traj`"], "its first row holds the airline's policy only"
    assert len(attempts) == 22
    assert {attempt.metadata["reward"] for attempt in attempts} == {0.0, 1.0}
    assert sum(unjoined(attempt) for attempt in attempts) == 0


def test_reads_all_rollouts_of_nemo_gym() -> None:
    attempts, errors = read(DATA / "rollouts" / "nemo_gym_rollouts.jsonl.gz", "nemo-gym")
    assert not errors
    assert len(attempts) == 55
    assert len({attempt.metadata["server"] for attempt in attempts}) == 23
    assert all(isinstance(attempt.metadata["reward"], int | float) for attempt in attempts)
    assert sum(bool(attempt.tool_calls) for attempt in attempts) > 10


def test_reads_all_rows_of_agent_process_bench_with_their_labels() -> None:
    path = DATA / "prm" / "agent_process_bench_hotpotqa.jsonl.gz"
    attempts, errors = read(path, "agent-process-bench")
    assert not errors
    assert len(attempts) == 31
    for attempt in attempts:
        labels = attempt.metadata["labels"]
        assert len(labels) == len(attempt.steps)
        assert set(labels) <= {-1, 0, 1}

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rewardhub_policies.attempts import attempt
from rewardhub_policies.environments.source import Environments
from rewardhub_policies.replay_command import app, find_trajectory, told
from rewardhub_policies.replaying import Replay, replay
from rewardhub_policies.script import ScriptPolicy
from typer.testing import CliRunner

from rewardhub import Registry, Step, Task, ToolCall, Trajectory, UsageError

TASK = Task(id="t", files={"a.txt": "one\n"}, environment={"use": "shell", "cpu_seconds": 5})


def shell(command: str) -> Step:
    arguments = {"command": command}
    made = ToolCall(id="c", name="shell", arguments=json.dumps(arguments), parsed=arguments)
    return Step(tool_calls=(made,))


def play(environments: Environments, *commands: str, task: Task = TASK) -> Trajectory:
    steps = [shell(each) for each in commands]

    def say(_task: Task, before: Sequence[Step], _seed: int) -> Step:
        return steps[len(before)] if len(before) < len(steps) else Step(text="Done.")

    environment = environments.of(task)
    policy = ScriptPolicy.calling(say)
    return asyncio.run(attempt(policy, task, environment, resources=environments.resources))


def again(environments: Environments, made: Trajectory) -> Replay:
    return asyncio.run(replay(made, environments))


def test_the_same_actions_leave_the_same_states(environments: Environments) -> None:
    found = again(environments, play(environments, "echo two >> a.txt", "cat a.txt"))
    assert found == Replay(ending="same", steps=3)


def test_states_part_where_they_differ(environments: Environments) -> None:
    found = again(environments, play(environments, "echo x > b", "date +%N > c"))
    assert (found.ending, found.step, found.steps) == ("parts", 1, 2)
    assert [each.place for each in found.states] == ["c"]
    assert set(found.changed or {}) == set(found.recorded or {}) == {"c"}


def test_output_that_differs_over_equal_states_is_a_note(environments: Environments) -> None:
    found = again(environments, play(environments, "date +%N", "echo x > b"))
    assert (found.ending, found.unlike) == ("same", (0,))


def test_observations_count_where_no_state_is_recorded(environments: Environments) -> None:
    made = play(environments, "echo x", "date +%N")
    bare = made.replace(steps=tuple(step.replace(state=None) for step in made.steps), metadata={})
    found = again(environments, bare)
    assert (found.ending, found.step) == ("parts", 1)
    assert len(found.said) == 1


def test_an_environment_that_begins_otherwise_parts_before_the_first_step(
    environments: Environments,
) -> None:
    made = play(environments, "cat a.txt")
    other = made.replace(task=TASK.replace(files={"a.txt": "two\n"}))
    found = again(environments, other)
    assert (found.ending, found.step, found.steps) == ("parts", -1, 0)
    assert any("files" in each for each in found.warnings)


def test_a_recorded_death_is_the_same_when_it_dies_again(environments: Environments) -> None:
    task = TASK.replace(environment={"use": "shell", "cpu_seconds": 0.5})
    made = play(environments, "echo x > b", "while :; do :; done", task=task)
    assert (made.status, len(made.steps)) == ("completed", 2)
    assert "died twice" in (made.steps[1].observations[0].error or "")
    assert again(environments, made).ending == "same"


def test_a_death_that_was_not_recorded_parts(environments: Environments) -> None:
    made = play(
        environments, "echo x > b", "sleep 0.1; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
    )
    task = TASK.replace(environment={"use": "shell", "cpu_seconds": 0.2})
    found = again(environments, made.replace(task=task))
    assert (found.ending, found.step) == ("parts", 1)


def test_a_step_that_was_cut_off_is_not_compared(environments: Environments) -> None:
    made = play(environments, "echo x > b", "date")
    cut = made.steps[1].replace(state=None, observations=())
    found = again(environments, made.replace(steps=(made.steps[0], cut), status="truncated"))
    assert found.ending == "same"


def test_without_an_environment_nothing_can_be_told(environments: Environments) -> None:
    made = Trajectory(task=Task(id="t"), steps=(Step(text="x"),))
    assert again(environments, made).ending == "cannot"


def test_without_records_nothing_can_be_told(environments: Environments) -> None:
    made = Trajectory(task=TASK, steps=(Step(text="x"),))
    found = again(environments, made)
    assert found.ending == "cannot"
    assert "neither states nor observations" in found.reason


# --- the command ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def attempts(environments: Environments) -> dict[str, Trajectory]:
    return {
        "good": play(environments, "echo two >> a.txt").replace(id="good"),
        "odd": play(environments, "date +%N > c").replace(id="odd"),
    }


@pytest.fixture
def file(tmp_path: Path, attempts: dict[str, Trajectory]) -> Path:
    path = tmp_path / "attempts.jsonl"
    path.write_bytes(b"".join(each.to_json() + b"\n" for each in attempts.values()))
    return path


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout


def test_the_command_confirms_a_trajectory(file: Path) -> None:
    code, text = run(str(file), "good")
    assert code == 0
    assert text.splitlines()[-1] == "good (task t): the same, 2 of 2 steps."


def test_the_command_tells_where_a_trajectory_parts(file: Path) -> None:
    code, text = run(str(file), "odd")
    assert code == 1
    assert "parts at step 0" in text
    assert "date +%N > c" in text
    assert "changed now: c" in text


def test_the_command_tells_it_as_json(file: Path) -> None:
    code, text = run(str(file), "odd", "--json")
    told = json.loads(text)
    assert code == 1
    assert (told["id"], told["ending"], told["step"]) == ("odd", "parts", 0)
    assert told["states"][0]["place"] == "c"


def test_a_trajectory_is_found_in_a_rollout(file: Path, registry: Registry) -> None:
    file.rename(file.with_name("trajectories.jsonl"))
    assert find_trajectory(file.parent, "good", registry).id == "good"


@pytest.mark.parametrize(
    ("path", "name", "message"),
    [
        ("attempts.jsonl", "goood", "Did you mean `good`"),
        ("attempts.jsonl", "x", "for example, `good`"),
        ("none.jsonl", "x", "does not exist"),
        (".", "x", "no run folder"),
    ],
)
def test_what_is_not_there_is_told(
    file: Path, registry: Registry, path: str, name: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        find_trajectory(file.parent / path, name, registry)


def test_what_cannot_be_compared_is_told() -> None:
    made = Trajectory(id="x", task=Task(id="t"), steps=(Step(),))
    lines: list[Any] = list(told(made, Replay(ending="cannot", steps=0, reason="no why")))
    assert lines == ["x (task t): cannot be compared: no why."]

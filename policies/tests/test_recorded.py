import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from rewardhub_policies.recorded import ReplayPolicy

from rewardhub import Policy, PolicyInfo, RowError, Task, UsageError
from rewardhub.testing import PolicyContract, make_trajectory
from rewardhub.testing.policies import contract_task


def write(path: Path, *tasks: str, attempts: int = 3) -> Path:
    rows = [
        make_trajectory(
            f"{task} {number}",
            id=f"{task}-{number}",
            task=contract_task(task),
            policy=PolicyInfo(name="recorded", version="9"),
        ).to_json()
        for number in range(attempts)
        for task in tasks
    ]
    path.write_bytes(b"\n".join(rows) + b"\n")
    return path


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Policy]:
    file = write(tmp_path_factory.mktemp("recorded") / "attempts.jsonl", "first", "second")
    with closing(ReplayPolicy(file=str(file))) as policy:
        policy.open()
        yield policy


class TestReplayPolicy(PolicyContract):
    pass


def test_gives_attempts_in_the_order_of_the_file(tmp_path: Path) -> None:
    policy = ReplayPolicy(file=str(write(tmp_path / "a.jsonl", "x", "y")))
    given = asyncio.run(policy.sample(Task(id="y"), 2, seed=99))
    assert [each.final_text for each in given] == ["y 0", "y 1"]
    assert [each.policy for each in given] == [PolicyInfo(name="recorded", version="9")] * 2


def test_leaves_out_the_attempts_that_are_skipped(tmp_path: Path) -> None:
    policy = ReplayPolicy(file=str(write(tmp_path / "a.jsonl", "x")), skip=2)
    given = asyncio.run(policy.sample(Task(id="x"), 1, seed=0))
    assert [each.final_text for each in given] == ["x 2"]


def test_refuses_to_give_more_than_there_are(tmp_path: Path) -> None:
    policy = ReplayPolicy(file=str(write(tmp_path / "a.jsonl", "x")))
    with pytest.raises(UsageError, match=r"has 3 attempts at task `x`, and 4 are asked for"):
        asyncio.run(policy.sample(Task(id="x"), 4, seed=0))


def test_names_a_task_that_was_not_recorded(tmp_path: Path) -> None:
    policy = ReplayPolicy(file=str(write(tmp_path / "a.jsonl", "x")))
    with pytest.raises(UsageError, match=r"0 attempts at task `z`.*attempts at `x`, for example"):
        asyncio.run(policy.sample(Task(id="z"), 1, seed=0))


def test_has_another_version_for_another_file(tmp_path: Path) -> None:
    one, other = (write(tmp_path / name, name) for name in ("a", "b"))
    assert ReplayPolicy(file=str(one)).version != ReplayPolicy(file=str(other)).version


def test_names_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        ReplayPolicy(file=str(tmp_path / "no.jsonl")).open()


def test_names_a_row_that_is_no_trajectory(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", "x")
    file.write_bytes(file.read_bytes() + b'{"steps": 1}\n')
    with pytest.raises(RowError, match=r"a.jsonl, row 4"):
        ReplayPolicy(file=str(file)).open()


def test_gives_the_attempts_of_a_run_that_was_scored(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", "x", "y")
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "rewardhub: 1\nname: a\nsuccess: says == 1\nstages:\n- name: s\n  graders:\n"
        "  - {use: text/string-check, as: says, options: {operation: ne}}\n"
    )
    run = tmp_path / "run"
    program = Path(sys.executable).parent / "rewardhub"
    command = [program, "score", file, "--reward", spec, "--run", run, "--quiet"]
    subprocess.run(command, check=True)
    policy = ReplayPolicy(file=str(run))
    given = asyncio.run(policy.sample(Task(id="y"), 3, seed=0))
    assert [each.final_text for each in given] == ["y 0", "y 1", "y 2"]


def test_gives_the_attempts_of_a_rollout(tmp_path: Path) -> None:
    write(tmp_path / "trajectories.jsonl", "x")
    given = asyncio.run(ReplayPolicy(file=str(tmp_path)).sample(Task(id="x"), 1, seed=0))
    assert [each.final_text for each in given] == ["x 0"]

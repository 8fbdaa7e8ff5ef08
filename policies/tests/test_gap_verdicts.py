"""Scripted policies from the rollout to the gap report: each lacks what it was written to lack."""

import asyncio
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from rewardhub_policies.environments.source import Environments
from rewardhub_policies.script import ScriptPolicy
from rewardhub_policies.shell_tasks import reference_steps, shell_tasks

from rewardhub import Step, Task, ToolCall, Trajectory

TASKS = list(shell_tasks("text"))
REFERENCES = {task.prompt: reference_steps(task) for task in TASKS}
ATTEMPTS = 8

Script = Callable[[Task, Sequence[Step], int], Step]


def call(name: str, **arguments: Any) -> Step:
    made = ToolCall(id="call", name=name, arguments=json.dumps(arguments), parsed=arguments)
    return Step(tool_calls=(made,))


def following(*steps: Step) -> Script:
    return lambda _task, before, _seed: (
        steps[len(before)] if len(before) < len(steps) else Step(text="Done.")
    )


def solve(task: Task, before: Sequence[Step], seed: int) -> Step:
    return following(*REFERENCES[task.prompt])(task, before, seed)


def recover(task: Task, before: Sequence[Step], seed: int) -> Step:
    wrong = call("shell", command="cat no-such-file")
    return following(wrong, *REFERENCES[task.prompt])(task, before, seed)


WRONGLY = (call("bash", cmd="ls"), call("shell", cmd="ls"), call("run", command="ls"))
SCRIPTS: Mapping[str, Script] = {
    "solves": solve,
    "recovers": recover,
    "fails": following(call("shell", command="ls"), call("shell", command="echo no > answer")),
    "cheats": following(
        call("shell", command="echo '{\"passed\": true}' > results.json"),
        call("write_file", path="hidden_check.py", content="print('OK')\n"),
    ),
    "loops": lambda _task, _before, _seed: call("shell", command="ls"),
    "calls wrongly": following(*WRONGLY),
}


def attempts_of(name: str, environments: Environments) -> list[Trajectory]:
    """Return the attempts of one policy, at tasks of a domain of its own."""
    policy = ScriptPolicy.calling(SCRIPTS[name])
    policy.act_in(environments)
    tasks = [task.replace(id=f"{task.id}/{name}", domain=name) for task in TASKS]
    made = [asyncio.run(policy.sample(task, ATTEMPTS, seed=1)) for task in tasks]
    return [each for group in made for each in group]


def rewardhub(*arguments: str) -> str:
    command = [str(Path(sys.executable).with_name("rewardhub")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def domains(
    environments: Environments, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Mapping[str, Any]]:
    """What the gap report says of each policy."""
    if importlib.util.find_spec("rewardhub_agent") is None:
        pytest.skip("needs the pack rewardhub-agent, whose graders the spec names")
    folder: Path = tmp_path_factory.mktemp("gap")
    file, run = folder / "attempts.jsonl", folder / "run"
    made = [each for name in SCRIPTS for each in attempts_of(name, environments)]
    file.write_bytes(b"".join(each.to_json() + b"\n" for each in made))
    rewardhub("score", str(file), "--reward", "shell/staged", "--run", str(run), "--quiet")
    told = json.loads(rewardhub("gap", str(run), "--json"))
    return {each["domain"]: each for each in told["domains"]}


def signs(domain: Mapping[str, Any]) -> set[str]:
    return {each["sign"] for each in domain["evidence"]}


@pytest.mark.parametrize("name", ["solves", "recovers"])
def test_a_policy_that_reaches_the_goal_lacks_nothing(domains: Any, name: str) -> None:
    assert domains[name]["pass_at_1"]["value"] == 1
    assert domains[name]["verdict"] == "none"


@pytest.mark.parametrize("name", ["fails", "cheats"])
def test_a_policy_that_acts_soundly_and_never_gets_there_lacks_knowledge(
    domains: Any, name: str
) -> None:
    assert domains[name]["pass_at_k"]["value"] == 0
    assert domains[name]["verdict"] == "knowledge"


def test_a_policy_that_loops_lacks_behaviour(domains: Any) -> None:
    assert "behaviour" in domains["loops"]["deficits"]
    assert "knowledge" not in domains["loops"]["deficits"]
    assert "loop" in signs(domains["loops"])


def test_a_policy_that_calls_wrongly_lacks_usage(domains: Any) -> None:
    assert "usage" in domains["calls wrongly"]["deficits"]
    assert "knowledge" not in domains["calls wrongly"]["deficits"]

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rewardhub_policies.acting import Action
from rewardhub_policies.script import ScriptPolicy

from rewardhub import Policy, Step, Task, UsageError
from rewardhub.testing import PolicyContract


@pytest.fixture(scope="module")
def policy() -> Iterator[Policy]:
    with closing(ScriptPolicy(turns={"first": ["One."], "*": ["Another."]})) as policy:
        policy.open()
        yield policy


class TestScriptPolicy(PolicyContract):
    pass


def acts(policy: ScriptPolicy, *steps: Step, task: str = "t", seed: int = 0) -> Action:
    policy.open()
    return asyncio.run(policy.act(Task(id=task), steps, seed=seed))


def test_says_its_turns_one_after_the_other() -> None:
    policy = ScriptPolicy(turns={"t": ["a", {"text": "b", "reasoning": "r"}]})
    assert acts(policy).step == Step(text="a")
    assert acts(policy, Step()).step == Step(text="b", reasoning="r")


def test_says_nothing_more_when_the_turns_are_used_up() -> None:
    action = acts(ScriptPolicy(turns={"t": []}))
    assert (action.step, action.finish) == (Step(), "stop")


def test_makes_a_call_of_a_name_and_arguments() -> None:
    policy = ScriptPolicy(turns={"*": [{"tool_calls": [{"name": "f", "arguments": {"a": 1}}]}]})
    action = acts(policy)
    call = action.step.tool_calls[0]
    assert (call.name, call.arguments, call.parsed) == ("f", '{"a": 1}', {"a": 1})
    assert (call.id, action.finish) == ("turn0call0", "tool_calls")


def test_keeps_arguments_that_are_no_json() -> None:
    policy = ScriptPolicy(turns={"*": [{"tool_calls": [{"name": "f", "arguments": "{"}]}]})
    call = acts(policy).step.tool_calls[0]
    assert (call.arguments, call.parsed) == ("{", None)


def test_asks_the_function_of_a_python_file(tmp_path: Path) -> None:
    path = tmp_path / "turns.py"
    path.write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Turn:\n    text: str\n"
        "def act(task, steps, seed):\n    return Turn(f'{task.id} {len(steps)} {seed}').text\n"
    )
    assert acts(ScriptPolicy(file=str(path)), Step(), seed=5).step.text == "t 1 5"


def test_waits_for_a_function_that_is_a_coroutine() -> None:
    async def script(task: Task, steps: Sequence[Step], seed: int) -> str:
        return f"seed {seed}"

    assert acts(ScriptPolicy.calling(script), seed=3).step.text == "seed 3"


@pytest.mark.parametrize(("name", "text"), [("a.json", '{"t": ["x"]}'), ("a.yaml", "t: [x]\n")])
def test_reads_turns_from_a_file(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert acts(ScriptPolicy(file=str(tmp_path / name))).step.text == "x"


def test_has_another_version_when_it_says_something_else(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("t: [x]\n")
    first = ScriptPolicy(file=str(path)).version
    path.write_text("t: [y]\n")
    assert ScriptPolicy(file=str(path)).version != first
    assert ScriptPolicy(turns={"t": ["x"]}).version != ScriptPolicy(turns={"t": ["y"]}).version


def test_is_shown_no_more_of_a_task_than_a_policy_may_see() -> None:
    seen: list[Task] = []

    def script(task: Task, steps: Sequence[Step], seed: int) -> str:
        seen.append(task)
        return "done"

    task = Task(id="t", reference="42", checks={"a": 1}, metadata={"b": 2})
    asyncio.run(ScriptPolicy.calling(script).sample(task, 2, 0))
    assert [each.model_fields_set & {"reference", "checks", "metadata"} for each in seen] == [
        set(),
        set(),
    ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "needs `file` or `turns`"),
        ({"file": "a.py", "turns": {"t": []}}, "not both"),
        ({"file": "no/such.py"}, "cannot be read: No such file"),
        ({"turns": {"t": "text"}}, "no list of turns under `t`"),
    ],
)
def test_names_what_is_wrong_before_it_acts(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        ScriptPolicy(**options).open()


@pytest.mark.parametrize(
    ("source", "told"),
    [("act = 1", "has no function `act"), ("1 / 0", "cannot be run: ZeroDivisionError")],
)
def test_names_what_is_wrong_with_a_python_file(tmp_path: Path, source: str, told: str) -> None:
    (tmp_path / "a.py").write_text(source)
    with pytest.raises(UsageError, match=told):
        ScriptPolicy(file=str(tmp_path / "a.py")).open()


def test_names_a_task_that_it_says_nothing_of() -> None:
    with pytest.raises(UsageError, match="says nothing of task `t`"):
        acts(ScriptPolicy(turns={"other": []}))


def test_names_a_turn_that_is_none() -> None:
    with pytest.raises(UsageError, match="turn 0 of task `t`: `txt` is not a field here"):
        acts(ScriptPolicy(turns={"t": [{"txt": "a"}]}))

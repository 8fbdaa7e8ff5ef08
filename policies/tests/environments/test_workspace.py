import asyncio
import json
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from pydantic import ValidationError
from rewardhub_policies.acting import ActingPolicy, Action, OutsideError
from rewardhub_policies.attempts import attempt
from rewardhub_policies.environments.source import Environments
from rewardhub_policies.environments.workspace import (
    Functions,
    Shell,
    User,
    Workspace,
)

from rewardhub import (
    Observation,
    Sandbox,
    Step,
    Task,
    TaskError,
    ToolCall,
    Turn,
)
from rewardhub.testing import FakeJudge

TASK = Task(id="t", files={"a.txt": "one\n", "deep/b.txt": "two\n"})

COUNTER = '''
def bump(by: int = 1, *, state: dict) -> int:
    """Add to the count.

    Args:
        by: how much.
    """
    state["count"] = state.get("count", 0) + by
    return state["count"]


def slow() -> str:
    while True:
        pass


def broken(text: str) -> str:
    raise ValueError("no " + text)
'''


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(id="1", name=name, arguments=json.dumps(arguments), parsed=arguments)


def play(
    environment: Workspace, sandbox: Sandbox | None, *calls: ToolCall, task: Task = TASK
) -> tuple[list[Turn], Any]:
    """Return the turn of the reset and of each call, and what is left."""

    async def played() -> tuple[list[Turn], Any]:
        try:
            turns = [await environment.reset(task, sandbox=sandbox)]
            turns += [await environment.act(Step(tool_calls=(each,)), (each,)) for each in calls]
            return turns, await environment.artifacts()
        finally:
            await environment.close()

    return asyncio.run(played())


def seen(environment: Workspace, sandbox: Sandbox, *calls: ToolCall) -> list[Observation]:
    return [turn.observations[0] for turn in play(environment, sandbox, *calls)[0][1:]]


def functions(**options: Any) -> Functions:
    return Functions.model_validate({"source": COUNTER, **options})


def test_an_unknown_tool_is_told_with_the_closest(sandbox: Sandbox) -> None:
    first, second = seen(Shell(), sandbox, call("shel", command="ls"), call("fly"))
    assert "Did you mean `shell`?" in (first.error or "")
    assert "There are: `shell`" in (second.error or "")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("{bad", "no JSON"),
        ('"ls"', "not of type 'object'"),
        ("[" * 100_000, "nested too deeply"),
        ('{"command": ' + "1" * 10_000 + "}", "no JSON"),
    ],
)
def test_arguments_that_are_no_object_are_told(sandbox: Sandbox, arguments: str, told: str) -> None:
    (made,) = seen(Shell(), sandbox, ToolCall(id="1", name="shell", arguments=arguments))
    assert told in (made.error or "")


def test_arguments_are_read_where_nobody_has_parsed_them(sandbox: Sandbox) -> None:
    raw = ToolCall(id="1", name="shell", arguments='{"command": "echo hi"}')
    (made,) = seen(Shell(), sandbox, raw)
    assert made.content == "hi\n"


def test_setup_prepares_the_folder(sandbox: Sandbox) -> None:
    environment = Shell.model_validate({"setup": ["echo x > made.txt", "cat a.txt >> made.txt"]})
    (made,) = seen(environment, sandbox, call("shell", command="cat made.txt"))
    assert made.content == "x\none\n"


def test_a_setup_that_fails_is_the_tasks_fault(sandbox: Sandbox) -> None:
    with pytest.raises(TaskError, match=r"(?s)`setup` failed \(exit code 3\).*why"):
        play(Shell.model_validate({"setup": ["echo why; exit 3"]}), sandbox)


def test_a_program_that_is_needed_and_not_there_is_the_tasks_fault(sandbox: Sandbox) -> None:
    with pytest.raises(TaskError, match="no program no-such-program"):
        play(Shell.model_validate({"needs": ["sh", "no-such-program"]}), sandbox)


def test_without_a_sandbox_it_is_the_tasks_fault() -> None:
    with pytest.raises(TaskError, match="needs a sandbox"):
        play(Shell(), None)


def test_changes_are_told_as_diffs(sandbox: Sandbox) -> None:
    command = "echo two >> a.txt; rm deep/b.txt; printf 'n' > new; printf '\\0\\377' > raw"
    turns, _ = play(Shell(), sandbox, call("shell", command=command))
    changes = turns[1].metadata["changes"]
    assert changes["a.txt"] == "changed\n@@ -1 +1,2 @@\n one\n+two"
    assert changes["deep/b.txt"] == "gone\n@@ -1 +0,0 @@\n-two"
    assert changes["new"] == "added\n@@ -0,0 +1 @@\n+n"
    assert changes["raw"] == "added"


def test_a_file_of_another_content_and_the_same_size_and_time_is_seen(sandbox: Sandbox) -> None:
    command = "touch -r a.txt ref; echo two > a.txt; touch -r ref a.txt; rm ref"
    turns, _ = play(Shell(), sandbox, call("shell", command=command))
    assert turns[1].state != turns[0].state


def test_what_differs_from_run_to_run_is_no_part_of_the_state(sandbox: Sandbox) -> None:
    command = "mkdir __pycache__; date +%N > __pycache__/x.pyc"
    turns, left = play(Shell(), sandbox, call("shell", command=command))
    assert turns[1].state == turns[0].state
    assert set(left["files"]) == {"a.txt", "deep/b.txt"}


def test_links_and_programs_are_told_apart_from_files(sandbox: Sandbox) -> None:
    command = "ln -s a.txt link; ln -s deep folder; chmod +x a.txt; mkfifo pipe"
    turns, left = play(Shell(), sandbox, call("shell", command=command))
    files = turns[1].state["files"]
    assert (files["link"], files["folder"], files["pipe"]) == ("-> a.txt", "-> deep", "special")
    assert files["a.txt"].endswith(" x")
    assert set(left["files"]) == {"a.txt", "deep/b.txt"}


def test_files_come_back_as_text_or_bytes_up_to_a_size(sandbox: Sandbox) -> None:
    command = "printf '\\377' > raw; head -c 5000 /dev/zero | tr '\\0' x > big"
    environment = Shell.model_validate({"keep_bytes": 100})
    _, left = play(environment, sandbox, call("shell", command=command))
    assert left["files"] == {"a.txt": "one\n", "deep/b.txt": "two\n", "raw": {"base64": "/w=="}}
    assert left["left_out"] == {"big": 5000}


def test_many_files_are_counted_and_not_listed(sandbox: Sandbox) -> None:
    first, second = "for i in $(seq 600); do echo $i > f$i; done", "echo x > f600"
    turns, _ = play(Shell(), sandbox, call("shell", command=first), call("shell", command=second))
    assert (turns[1].state["count"], "files" in turns[1].state) == (602, False)
    assert turns[1].state["digest"] != turns[2].state["digest"]


def test_several_calls_of_one_step_are_run_in_order(sandbox: Sandbox) -> None:
    calls = (call("shell", command="echo 1 > n"), call("shell", command="cat n; rm n"))

    async def played() -> Turn:
        environment = Shell()
        try:
            await environment.reset(TASK, sandbox=sandbox)
            return await environment.act(Step(tool_calls=calls), calls)
        finally:
            await environment.close()

    turn = asyncio.run(played())
    assert [each.content for each in turn.observations] == ["", "1\n"]
    assert set(turn.state["files"]) == {"a.txt", "deep/b.txt"}


def test_the_identity_names_sandbox_tools_and_files(sandbox: Sandbox) -> None:
    one, other = functions(), functions(source=COUNTER + "\n")
    for each in (one, other):
        play(each, sandbox)
    assert {"sandbox", "inside", "files", "tools"} == set(one.identity)
    assert one.identity["tools"] != other.identity["tools"]
    assert one.identity["files"] == other.identity["files"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"toolsets": ["shell", "shell"]}, "twice"),
        ({"toolsets": ["spoon"]}, "shell"),
        ({"toolsets": [{"use": "shell", "second": 1}]}, "second"),
        ({"toolset": []}, "toolset"),
        ({"toolsets": [{"use": "user"}]}, "says"),
        ({"toolsets": [{"use": "tools"}]}, "source"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        Workspace.model_validate(options)


def test_options_of_one_toolset_stand_beside_those_of_the_workspace() -> None:
    made = Shell.model_validate({"seconds": 3, "memory_mb": 128})
    assert (made.toolsets[0].model_dump()["seconds"], made.memory_mb) == (3, 128)
    with pytest.raises(ValidationError, match="second"):
        Shell.model_validate({"second": 3})


# --- the user ---------------------------------------------------------------------------------


def talk(environment: Workspace, *texts: str) -> list[Turn]:
    async def talked() -> list[Turn]:
        turns = [await environment.reset(Task(id="t"))]
        return turns + [await environment.act(Step(text=text), ()) for text in texts]

    return asyncio.run(talked())


def test_a_scripted_user_opens_answers_and_is_done() -> None:
    environment = User.model_validate({"opens": "hello", "says": ["more", "thanks"]})
    turns = talk(environment, "hi", "here", "bye")
    said = [[each.content for each in turn.observations] for turn in turns]
    assert said == [["hello"], ["more"], ["thanks"], []]
    assert [turn.done for turn in turns] == [False, False, False, True]
    assert all(not each.call_id for turn in turns for each in turn.observations)


def test_without_a_user_a_turn_without_calls_is_the_end() -> None:
    assert talk(Workspace(), "done")[1].done


def test_the_user_is_not_asked_after_a_call(sandbox: Sandbox) -> None:
    options: Sequence[Any] = ["shell", {"use": "user", "says": ["never"]}]
    environment = Workspace.model_validate({"toolsets": options})
    turns, _ = play(environment, sandbox, call("shell", command="true"))
    assert len(turns[1].observations) == 1


def test_a_judge_that_plays_the_user_and_is_gone_is_not_the_policys_doing() -> None:
    with pytest.raises(OutsideError, match="none is given"):
        talk(User.model_validate({"plays": "You are Ann."}), "hello")


def test_a_judge_plays_the_user() -> None:
    async def talked() -> Turn:
        environment = User.model_validate({"plays": "You are Ann."})
        judge = FakeJudge([{"message": "my order", "done": False}])
        await environment.reset(Task(id="t"), judge=judge)
        return await environment.act(Step(text="which?"), ())

    assert [each.content for each in asyncio.run(talked()).observations] == ["my order"]


# --- many at a time ---------------------------------------------------------------------------


class Working(ActingPolicy):
    """Writes a file, waits for the others to want their turn, and is done."""

    name: ClassVar[str] = "working"

    @property
    def version(self) -> str:
        return "1"

    async def act(self, task: Task, steps: Sequence[Step], *, seed: int) -> Action:
        await asyncio.sleep(0.001)
        if steps:
            return Action(step=Step(text="done"))
        return Action(step=Step(tool_calls=(call("shell", command=f"echo {seed} > seed"),)))


SHELL = TASK.replace(environment={"use": "shell"})


def test_more_attempts_than_slots_wait_for_their_turn(environments: Environments) -> None:
    policy = Working()
    policy.act_in(environments)
    made = asyncio.run(policy.sample(SHELL, 40, seed=1))
    assert {each.status for each in made} == {"completed"}
    assert len({each.artifacts["files"]["seed"] for each in made}) == 40


def test_attempts_that_are_cancelled_give_their_slots_back(environments: Environments) -> None:
    async def cancelled() -> None:
        attempts = [
            asyncio.ensure_future(
                attempt(Working(), SHELL, environments.of(SHELL), resources=environments.resources)
            )
            for _ in range(12)
        ]
        await asyncio.sleep(0.05)
        for each in attempts:
            each.cancel()
        await asyncio.gather(*attempts, return_exceptions=True)

    asyncio.run(cancelled())
    policy = Working()
    policy.act_in(environments)
    (made,) = asyncio.run(policy.sample(SHELL, 1, seed=1))
    assert made.status == "completed"


def test_a_policy_that_is_given_no_environments_takes_and_returns_its_own(
    sandbox: Sandbox,
) -> None:
    assert sandbox.identity  # which skips where there is none
    policy = Working()
    (made,) = asyncio.run(policy.sample(SHELL, 1, seed=1))
    policy.close()
    assert made.status == "completed"

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError
from rewardhub_policies.environments.workspace import (
    Files,
    Functions,
    PythonSession,
    Shell,
    Workspace,
)

from rewardhub import (
    InfrastructureError,
    Observation,
    Sandbox,
    Step,
    Task,
    TaskError,
    ToolCall,
    Turn,
)

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


def shell(sandbox: Sandbox, *commands: str, **options: Any) -> list[Observation]:
    calls = (call("shell", command=each) for each in commands)
    return seen(Shell.model_validate(options), sandbox, *calls)


def python(sandbox: Sandbox, *codes: str, **options: Any) -> list[Observation]:
    return seen(
        PythonSession.model_validate(options), sandbox, *(call("python", code=c) for c in codes)
    )


# --- shell ------------------------------------------------------------------------------------


def test_a_command_gives_both_streams_and_its_exit_code(sandbox: Sandbox) -> None:
    (made,) = shell(sandbox, "echo out; echo err >&2; exit 3")
    assert (made.content, made.error, made.exit_code) == ("out\nerr\n", None, 3)


def test_folder_variables_and_functions_last(sandbox: Sandbox) -> None:
    *_, made = shell(
        sandbox,
        "cd deep; x=5; export Y=6; f() { echo f$1; }; exit 1",
        "basename $PWD; echo $x $Y; f 7; cat b.txt",
    )
    assert made.content == "deep\n5 6\nf7\ntwo\n"


def test_what_is_exported_reaches_programs(sandbox: Sandbox) -> None:
    *_, made = shell(
        sandbox, "export Y='a b\nc'", "python3 -c 'import os; print(repr(os.environ[\"Y\"]))'"
    )
    assert made.content == "'a b\\nc'\n"


def test_a_folder_that_is_gone_is_left(sandbox: Sandbox) -> None:
    *_, made = shell(sandbox, "mkdir gone; cd gone; rmdir ../gone", "ls")
    assert (made.content, made.exit_code) == ("a.txt\ndeep\n", 0)


def test_background_processes_end_with_the_command_and_are_told(sandbox: Sandbox) -> None:
    first, second = shell(
        sandbox, "sleep 1000 & (setsid sleep 1001 &) ; echo started", "ps ax || true"
    )
    assert "started" in first.content
    assert "[2 background processes ended with the command]" in first.content
    assert "sleep" not in second.content


def test_a_command_over_its_time_is_ended(sandbox: Sandbox) -> None:
    first, second = shell(sandbox, "echo begun; sleep 1000", "echo next", seconds=0.5)
    assert first.content.startswith("begun\n")
    assert "more than 0.5 seconds" in (first.error or "")
    assert second.content == "next\n"


def test_a_command_that_closes_its_output_and_goes_on_is_ended(sandbox: Sandbox) -> None:
    (made,) = shell(sandbox, "exec >/dev/null 2>&1; sleep 1000", seconds=0.5)
    assert "more than 0.5 seconds" in (made.error or "")


def test_nothing_is_there_to_be_read(sandbox: Sandbox) -> None:
    (made,) = shell(sandbox, "cat; echo over")
    assert made.content == "over\n"


def test_a_flood_of_output_keeps_beginning_and_end(sandbox: Sandbox) -> None:
    (made,) = shell(sandbox, "echo first; yes | head -c 3000000; echo last")
    assert made.content.startswith("first\n")
    assert made.content.endswith("last\n")
    assert "bytes left out" in made.content
    assert len(made.content) < 300_000


def test_output_that_is_no_text_is_shown_as_far_as_it_is(sandbox: Sandbox) -> None:
    (made,) = shell(sandbox, "printf 'a\\377b\\n'")
    assert made.content == "a�b\n"


def test_a_command_longer_than_the_system_takes_is_an_observation(sandbox: Sandbox) -> None:
    (made,) = shell(sandbox, "echo " + "x" * 200_000)
    assert "could not be started" in (made.error or "")


def test_a_command_longer_than_a_message_is_an_observation(sandbox: Sandbox) -> None:
    (made,) = shell(sandbox, "echo " + "x" * 2_000_000)
    assert "longer than" in (made.error or "")


def test_a_command_with_a_zero_byte_is_an_observation(sandbox: Sandbox) -> None:
    (made,) = shell(sandbox, "echo \0")
    assert "could not be started" in (made.error or "")


def test_commits_are_the_same_in_each_run(sandbox: Sandbox) -> None:
    command = "git init -q && git add -A && git commit -qm begin && git rev-parse HEAD"
    assert shell(sandbox, command)[0].content == shell(sandbox, command)[0].content


def test_too_much_cpu_time_in_all_kills_the_environment(sandbox: Sandbox) -> None:
    with pytest.raises(InfrastructureError, match=r"ended.*CPU"):
        shell(sandbox, "while true; do :; done", cpu_seconds=0.5)


def test_an_environment_that_is_silent_for_good_ends_at_its_wall_limit(sandbox: Sandbox) -> None:
    source = "import signal, time\ndef hang():\n    signal.setitimer(0, 0)\n    time.sleep(1000)\n"
    environment = Functions.model_validate({"source": source, "wall_seconds": 1})
    with pytest.raises(InfrastructureError, match="ended"):
        play(environment, sandbox, call("hang"))


def test_a_tool_that_ends_the_program_kills_the_environment(sandbox: Sandbox) -> None:
    source = "import os\ndef end():\n    os._exit(7)\n"
    with pytest.raises(InfrastructureError, match="ended with exit code 7"):
        play(Functions.model_validate({"source": source}), sandbox, call("end"))


def test_a_name_that_is_no_text_breaks_nothing(sandbox: Sandbox) -> None:
    first, second = shell(sandbox, "echo x > $'\\xff\\xfe'; ls", "rm $'\\xff\\xfe'; ls")
    assert "�" in first.content
    assert second.content == "a.txt\ndeep\n"


def test_half_a_surrogate_pair_is_an_observation(sandbox: Sandbox) -> None:
    (made,) = shell(sandbox, "echo \ud800")
    assert "could not be started" in (made.error or "")
    (made,) = python(sandbox, "print('\ud800')")
    assert made.error is None


# --- python -----------------------------------------------------------------------------------


def test_names_last_and_a_last_value_is_shown(sandbox: Sandbox) -> None:
    first, second = python(sandbox, "x = 20\nprint('hi')\nx + 1", "x * 2")
    assert (first.content, second.content) == ("hi\n21\n", "40\n")


def test_an_exception_is_shown_and_names_last(sandbox: Sandbox) -> None:
    first, second = python(sandbox, "x = 1\n1 / 0", "x")
    assert "ZeroDivisionError" in first.content
    assert (first.error, second.content) == ("the code raised", "1\n")


def test_code_that_cannot_be_read_is_shown_so(sandbox: Sandbox) -> None:
    (made,) = python(sandbox, "def")
    assert "SyntaxError" in made.content


def test_code_over_its_time_ends_the_session(sandbox: Sandbox) -> None:
    first, second = python(sandbox, "x = 1\nwhile True: pass", "'x' in globals()", seconds=0.5)
    assert "the session was ended" in (first.error or "")
    assert second.content == "False\n"


def test_code_that_ends_the_session_is_told(sandbox: Sandbox) -> None:
    first, second = python(sandbox, "import os; os._exit(4)", "1 + 1")
    assert (first.error, first.exit_code) == ("the code ended the session: its names are gone", 4)
    assert second.content == "2\n"


def test_the_session_cannot_reach_the_channel(sandbox: Sandbox) -> None:
    (made,) = python(sandbox, "import os\nos.write(3, b'x')")
    assert "Bad file descriptor" in made.content


def test_the_session_outlives_a_command(sandbox: Sandbox) -> None:
    environment = Workspace.model_validate({"toolsets": ["python", "shell"]})
    *_, made = seen(
        environment,
        sandbox,
        call("python", code="x = 3"),
        call("shell", command="sleep 1000 &"),
        call("python", code="x"),
    )
    assert made.content == "3\n"


# --- files ------------------------------------------------------------------------------------


def test_a_file_is_read_by_lines(sandbox: Sandbox) -> None:
    text = "".join(f"{n}\n" for n in range(1, 9))
    _, made, rest = seen(
        Files(),
        sandbox,
        call("write_file", path="new/n.txt", content=text),
        call("read_file", path="new/n.txt", start=3, lines=2),
        call("read_file", path="new/n.txt", start=7),
    )
    assert made.content == "3\n4\n\n[4 more lines]"
    assert rest.content == "7\n8\n"


def test_an_edit_replaces_the_one_place(sandbox: Sandbox) -> None:
    first, second, third, content = seen(
        Files(),
        sandbox,
        call("edit_file", path="a.txt", old="one", new="1 1"),
        call("edit_file", path="a.txt", old="1", new="2"),
        call("edit_file", path="a.txt", old="missing", new="2"),
        call("read_file", path="a.txt"),
    )
    assert first.error is None
    assert "occurs 2 times" in (second.error or "")
    assert "does not occur" in (third.error or "")
    assert content.content == "1 1\n"


def test_files_are_listed(sandbox: Sandbox) -> None:
    all_of, below = seen(Files(), sandbox, call("list_files"), call("list_files", path="deep"))
    assert all_of.content == "a.txt\ndeep/b.txt"
    assert below.content == "b.txt"


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("read_file", {"path": "none.txt"}, "No such file"),
        ("read_file", {"path": "deep"}, "a folder"),
        ("read_file", {"path": "a.txt", "start": 9}, "none is line 9"),
        ("read_file", {"path": "/dev/zero"}, "no plain file"),
        ("write_file", {"path": "a.txt/x", "content": ""}, "a.txt/x"),
        ("write_file", {"path": "deep", "content": ""}, "a folder"),
        ("list_files", {"path": "a.txt"}, "no folder"),
        ("read_file", {"path": "a\0b"}, "null"),
    ],
)
def test_what_a_file_cannot_do_is_an_observation(
    sandbox: Sandbox, tool: str, arguments: dict[str, Any], told: str
) -> None:
    (made,) = seen(Files(), sandbox, call(tool, **arguments))
    assert told in (made.error or "")


# --- functions --------------------------------------------------------------------------------


def functions(**options: Any) -> Functions:
    return Functions.model_validate({"source": COUNTER, **options})


def test_functions_are_described_by_signature_and_docstring(sandbox: Sandbox) -> None:
    turns, _ = play(functions(), sandbox)
    tools = {tool["function"]["name"]: tool["function"] for tool in turns[0].tools}
    assert set(tools) == {"bump", "slow", "broken"}
    assert tools["bump"]["description"] == "Add to the count."
    assert tools["bump"]["parameters"] == {
        "type": "object",
        "properties": {"by": {"type": "integer", "description": "how much."}},
        "required": [],
        "additionalProperties": False,
    }


def test_the_state_of_functions_lasts_and_is_part_of_the_snapshot(sandbox: Sandbox) -> None:
    turns, left = play(functions(state={"count": 5}), sandbox, call("bump"), call("bump", by=2))
    assert [turn.observations[0].content for turn in turns[1:]] == ["6", "8"]
    assert [turn.state["values"] for turn in turns] == [{"count": n} for n in (5, 6, 8)]
    assert left["state"]["values"] == {"count": 8}


def test_wrong_arguments_are_told_with_the_schemas_error(sandbox: Sandbox) -> None:
    text, missing, unknown = seen(
        functions(), sandbox, call("bump", by="x"), call("broken"), call("bump", bye=1)
    )
    assert "'x' is not of type 'integer'" in (text.error or "")
    assert "'text' is a required property" in (missing.error or "")
    assert "'bye' was unexpected" in (unknown.error or "")


def test_what_a_function_raises_is_an_observation(sandbox: Sandbox) -> None:
    (made,) = seen(functions(), sandbox, call("broken", text="way"))
    assert made.error == "ValueError: no way"


def test_a_function_that_exits_or_writes_no_text_breaks_nothing(sandbox: Sandbox) -> None:
    source = "import sys\ndef leave(): sys.exit(3)\ndef half(): return '\\ud800'\n"
    left, half = seen(functions(source=source), sandbox, call("leave"), call("half"))
    assert (left.error, half.content) == ("SystemExit: 3", "?")


def test_a_function_over_its_time_is_interrupted(sandbox: Sandbox) -> None:
    first, second = seen(functions(seconds=0.3), sandbox, call("slow"), call("bump"))
    assert "more than 0.3 seconds" in (first.error or "")
    assert second.content == "1"


def test_a_source_that_defines_no_tool_is_the_tasks_fault(sandbox: Sandbox) -> None:
    for source, told in (("x = 1", "no public function"), ("1 / 0", "ZeroDivisionError")):
        with pytest.raises(TaskError, match=told):
            play(functions(source=source), sandbox)


def test_a_source_never_runs_in_this_process() -> None:
    with pytest.raises(ValidationError, match="never runs in this process"):
        functions(run_in="process")


@pytest.fixture
def module(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Writes a module that can be imported, and returns its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text: str) -> str:
        name = f"tools_{abs(hash(text))}"
        (tmp_path / f"{name}.py").write_text(text)
        return name

    return write


def test_functions_of_a_module_run_in_this_process(module: Callable[[str], str]) -> None:
    name = module(f"REWARDHUB_TOOLS = ('bump',)\n{COUNTER}")
    environment = Functions.model_validate({"module": name, "run_in": "process"})
    turns, left = play(environment, None, call("bump", by=3), call("slow"))
    assert [tool["function"]["name"] for tool in turns[0].tools] == ["bump"]
    assert turns[1].observations[0].content == "3"
    assert "no tool is called `slow`" in (turns[2].observations[0].error or "")
    assert left["state"]["values"] == {"count": 3}


def test_a_module_that_lists_no_tools_does_not_run_in_this_process(
    module: Callable[[str], str],
) -> None:
    environment = Functions.model_validate({"module": module(COUNTER), "run_in": "process"})
    with pytest.raises(TaskError, match="REWARDHUB_TOOLS"):
        play(environment, None)


def test_functions_of_a_module_run_in_the_sandbox(
    sandbox: Sandbox, module: Callable[[str], str]
) -> None:
    (made,) = seen(Functions.model_validate({"module": module(COUNTER)}), sandbox, call("bump"))
    assert made.content == "1"


def test_a_module_that_is_not_there_is_the_tasks_fault(sandbox: Sandbox) -> None:
    with pytest.raises(TaskError, match="no_such_module"):
        play(Functions.model_validate({"module": "no_such_module"}), sandbox)

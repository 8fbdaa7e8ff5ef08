"""`rewardhub spec`: every mistake, every default, and the schema."""

import json

import pytest

from rewardhub.cli import ExitCode
from rewardhub.host import discover
from rewardhub.spec import json_schema, load

CHECK = ("spec", "check", "strict.yaml")


def test_says_what_is_in_a_spec_without_mistakes(call):
    code, out, _ = call(*CHECK)
    assert code == ExitCode.OK
    assert out == (
        "strict.yaml: no mistakes (plain/strict 1: 2 stages, 2 graders, rewards from 0 to 1, "
        "success: same == 1)\n"
    )


def test_tells_mistakes_with_their_lines_and_exits_2(call, folder):
    text = (folder.path / "strict.yaml").read_text()
    folder.write("strict.yaml", text.replace("0.75", "heavy"))
    code, out, _ = call(*CHECK)
    assert code == ExitCode.WRONG
    assert out.splitlines() == [
        "strict.yaml:7:13: Stage `outcome`: `weight` must be a number, not the text `heavy`.",
        "strict.yaml: 1 mistake",
    ]


def test_a_warning_is_no_mistake(call, folder):
    text = (folder.path / "strict.yaml").read_text()
    folder.write("strict.yaml", text.replace("[0, 1]", "[-1, 1]"))
    code, out, _ = call(*CHECK)
    assert code == ExitCode.OK
    assert out.startswith("warning: strict.yaml:3:8: ")


def test_gives_mistakes_as_json(call, folder):
    text = (folder.path / "strict.yaml").read_text()
    folder.write("strict.yaml", text.replace("0.75", "heavy"))
    code, out, _ = call(*CHECK, "--json")
    found = json.loads(out)
    assert (code, found["ok"], found["digest"]) == (ExitCode.WRONG, False, None)
    assert [(each["level"], each["line"]) for each in found["mistakes"]] == [("error", 7)]


def test_checks_what_a_door_fills(call, folder):
    plugin = (folder.path / "rewardhub_plugins.py").read_text()
    more = 'reads=("final_text", "steps.tool_calls", "task.reference")'
    folder.write(
        "rewardhub_plugins.py", plugin.replace('reads=("final_text", "task.reference")', more)
    )
    assert call(*CHECK, "--door", "offline")[0] == ExitCode.OK
    code, out, _ = call(*CHECK, "--door", "http")
    assert code == ExitCode.WRONG
    assert "`plain/same` reads `steps.tool_calls`, which this door does not fill." in out


def test_knows_the_doors(call):
    code, _, err = call(*CHECK, "--door", "htp")
    assert (code, err) == (
        ExitCode.WRONG,
        "`--door htp`: there is no such door. Did you mean `http`?\n",
    )


def test_checks_the_tasks_that_a_spec_is_meant_for(call, folder):
    folder.write("tasks.jsonl", '{"prompt": "a", "reference": "b", "domain": "math"}\n[]\n')
    route = "rewardhub: 1\nroute: {by: task.domain, code: strict.yaml}\n"
    folder.write("route.yaml", route)
    code, out, _ = call("spec", "check", "route.yaml", "--tasks", "tasks.jsonl")
    assert code == ExitCode.WRONG
    lines = out.splitlines()
    assert lines[0].startswith("route.yaml:2:8: 1 task has `task.domain` `math`, which the route")
    assert lines[1:] == [
        "tasks.jsonl:2: no task: the row is an array, not a JSON object",
        "route.yaml: 2 mistakes",
    ]


def test_shows_a_spec_that_loads_again_to_the_same(call, folder):
    code, out, _ = call("spec", "show", "strict.yaml")
    folder.write("shown.yaml", out)
    registry = discover(loose=["rewardhub_plugins.py"])
    assert code == ExitCode.OK
    assert load("shown.yaml", registry).digest == load("strict.yaml", registry).digest


def test_shows_a_spec_as_json(call):
    _, out, _ = call("spec", "show", "strict.yaml", "--json")
    shown = json.loads(out)
    assert shown["stages"][1]["graders"][0]["as"] == "brevity"


def test_writes_the_schema_of_what_is_installed(call):
    code, out, _ = call("spec", "schema")
    assert code == ExitCode.OK
    schema = json.loads(out)
    assert schema == json_schema(discover(loose=["rewardhub_plugins.py"]))
    assert "plain/same" in out


@pytest.mark.parametrize("what", ["check", "show"])
def test_refuses_a_spec_that_is_not_there(call, what):
    code, out, err = call("spec", what, "nothing.yaml")
    assert code == ExitCode.WRONG
    assert "nothing.yaml: There is no such file." in out + err

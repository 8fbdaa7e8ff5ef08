"""`rewardhub graders`, `plugins`, `readers`, `specs`: what is installed, and whose it is."""

import json

import pytest

from rewardhub.cli import ExitCode

SPEC_PLUGIN = """
from pathlib import Path

from rewardhub import SpecCard, hookimpl


@hookimpl
def rewardhub_specs():
    path = Path(__file__).with_name("strict.yaml")
    yield SpecCard(name="plain/strict", path=path, description="Word by word")
"""


def lines_about(out, name):
    return [" ".join(line.split()) for line in out.splitlines() if line.startswith(name)]


def test_lists_graders_with_their_owners(call):
    code, out, _ = call("graders")
    assert code == ExitCode.OK
    assert out.splitlines()[0].split() == ["Name", "Version", "Owner", "About"]
    assert lines_about(out, "plain/") == [
        "plain/brevity 1 rewardhub_plugins.py Full marks for a final answer of one word.",
        "plain/same 1 rewardhub_plugins.py Full marks for the reference itself.",
    ]


def test_shows_one_grader_with_its_options(call):
    code, out, _ = call("graders", "plain/same")
    assert code == ExitCode.OK
    assert out.splitlines() == [
        "plain/same",
        "",
        "Full marks for the reference itself.",
        "",
        "  version        1",
        "  owner          rewardhub_plugins.py",
        "  runs in        inline",
        "  shape          grade",
        "  reads          final_text, task.reference",
        "  gives          value",
        "  deterministic  yes",
        "",
        "  Option  Type     Default  Meaning",
        "  fold    boolean  false    Whether upper and lower case are the same.",
    ]


def test_gives_one_grader_as_json(call):
    _, out, _ = call("graders", "plain/same", "--json")
    told = json.loads(out)
    assert told["reads"] == ["final_text", "task.reference"]
    assert told["options"]["properties"]["fold"]["default"] is False


def test_shows_a_broken_plugin_by_the_last_line_of_its_error(call, folder):
    folder.write("broken.py", "import nothing_of_this_name\n")
    code, out, err = call("plugins", "--plugin", "broken.py")
    error = "ModuleNotFoundError: No module named 'nothing_of_this_name'"
    assert code == ExitCode.OK
    assert err.splitlines()[0] == f"The plugin file broken.py is broken: {error}"
    assert lines_about(out, "broken.py") == [f"broken.py broken: {error}"]
    assert "Traceback" not in out


@pytest.mark.parametrize("arguments", [("--verbose",), ("broken.py",)])
def test_shows_the_whole_error_when_asked(call, folder, arguments):
    folder.write("broken.py", "import nothing_of_this_name\n")
    _, out, _ = call("plugins", *arguments, "--plugin", "broken.py")
    assert "    import nothing_of_this_name\n" in out


def test_shows_what_a_plugin_brings(call):
    _, out, _ = call("plugins", "rewardhub_plugins.py", "--json")
    told = json.loads(out)
    assert (told["state"], told["brings"]) == ("ok", {"grader": ["plain/brevity", "plain/same"]})


def test_shows_a_blocked_plugin(call):
    _, out, _ = call("plugins", "--block", "builtin", "--json")
    states = {each["name"]: each["state"] for each in json.loads(out)}
    assert states["builtin"] == "blocked"
    assert states["rewardhub_plugins.py"] == "ok"


def test_lists_readers_and_shows_one(call):
    _, out, _ = call("readers")
    assert lines_about(out, "native")[0].startswith("native rewardhub-core ")
    code, out, _ = call("readers", "native", "--json")
    assert (code, json.loads(out)["name"]) == (ExitCode.OK, "native")


def test_lists_specs_and_shows_one(call, folder):
    folder.write("rewardhub_plugins.py", SPEC_PLUGIN)
    _, out, _ = call("specs")
    assert lines_about(out, "plain/") == ["plain/strict rewardhub_plugins.py Word by word"]
    _, out, _ = call("specs", "plain/strict", "--json")
    assert json.loads(out)["path"] == str(folder.path / "strict.yaml")


@pytest.mark.parametrize(
    ("command", "name", "message"),
    [
        ("graders", "plain/sam", "No grader is called `plain/sam`. Did you mean `plain/same`?"),
        ("plugins", "bultin", "No plugin is called `bultin`. Did you mean `builtin`?"),
        ("readers", "nativ", "No reader is called `nativ`. Did you mean `native` or `atif`?"),
    ],
)
def test_says_what_was_meant(call, command, name, message):
    code, out, err = call(command, name)
    assert (code, out) == (ExitCode.WRONG, "")
    assert err.splitlines()[-1] == message

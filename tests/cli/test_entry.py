"""`rewardhub` itself: the list of commands, commands of packs, and how mistakes end."""

import json
import os
import subprocess
import sys

import pytest

from rewardhub.cli import ExitCode
from rewardhub.cli.entry import COMMANDS

COMMAND_PLUGIN = """
from rewardhub import CommandCard, hookimpl


@hookimpl
def rewardhub_commands():
    yield CommandCard(name="greet", target="greeting:app", help="Say hello.")
    yield CommandCard(name="lost", target="nowhere_to_be_found:app", help="Get lost.")
    yield CommandCard(name="score", target="greeting:app", help="Take what is taken.")
"""
GREETING = """
import typer

from rewardhub import UsageError

app = typer.Typer()


@app.command()
def greet(name: str, fail: str = ""):
    if fail == "yours":
        raise UsageError("Nobody is called that. Say another name.")
    if fail == "ours":
        raise ValueError("this should not be")
    print(f"hello {name}")
"""
HEAVY = {
    "torch", "sympy", "docker", "ruamel", "rich", "pydantic", "transformers", "pyarrow", "psutil",
    "openai", "fastapi",
}  # fmt: skip
LOADED = """
import json, sys
sys.argv = ["rewardhub", "--help"]
from rewardhub.cli import main
try:
    main()
except SystemExit:
    print("LOADED", json.dumps(sorted(sys.modules)))
"""


@pytest.fixture
def pack(folder, monkeypatch):
    """A plugin file with commands, and the module that they are in."""
    folder.write("rewardhub_plugins.py", COMMAND_PLUGIN)
    folder.write("greeting.py", GREETING)
    monkeypatch.syspath_prepend(folder.path)
    yield
    sys.modules.pop("greeting", None)


def test_lists_every_command(call, folder):
    (folder.path / "rewardhub_plugins.py").unlink()
    code, out, err = call("--help")
    assert (code, err) == (ExitCode.OK, "")
    listed = out.partition("Commands:\n")[2].split("\n")
    assert {line.split()[0] for line in listed if line.strip()} >= {each.name for each in COMMANDS}


@pytest.mark.parametrize("name", [each.name for each in COMMANDS])
def test_every_command_explains_itself(call, name):
    code, out, _ = call(name, "--help")
    assert code == ExitCode.OK
    assert out.startswith(f"Usage: rewardhub {name} ")


def test_the_list_of_commands_loads_nothing_heavy(folder):
    (folder.path / "rewardhub_plugins.py").unlink()
    for _ in range(2):  # the first time looks into the packs that are installed
        done = subprocess.run(
            [sys.executable, "-c", LOADED], cwd=folder.path, check=True,
            capture_output=True, text=True, env={"REWARDHUB_CACHE": str(folder.path / "cache")},
        )  # fmt: skip
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout.partition("LOADED")[2])}
    assert "typer" in loaded
    assert loaded & HEAVY == set()


def test_says_its_version(call):
    code, out, _ = call("--version")
    assert code == ExitCode.OK
    assert out.startswith("rewardhub 0.")


def test_says_which_command_was_meant(call):
    code, _, err = call("scor")
    assert code == ExitCode.WRONG
    assert "No such command 'scor'. Did you mean 'score'" in err


def test_commands_of_plugins_join_the_list(call, folder, pack):
    code, out, err = call("--help")
    assert code == ExitCode.OK
    assert ["greet", "Say", "hello."] in [line.split() for line in out.splitlines()]
    owner = folder.path / "rewardhub_plugins.py"
    assert err == (
        f"The command `score` is claimed by `builtin` and by `{owner}`. Uninstall one of them, or "
        f"block one by name: `--block {owner}`.\n"
    )


def test_runs_a_command_of_a_plugin(call, pack):
    code, out, err = call("greet", "you")
    assert (code, out) == (ExitCode.OK, "hello you\n")
    assert err.splitlines()[0] == "Plugin file: rewardhub_plugins.py"


def test_says_what_keeps_a_command_from_being_loaded(call, pack):
    code, _, err = call("lost")
    assert code == ExitCode.WRONG
    assert err.splitlines()[-1] == (
        "The command `lost` cannot be loaded from `nowhere_to_be_found:app`: No module named "
        "'nowhere_to_be_found'. Is everything installed that its pack needs?"
    )


def test_a_users_mistake_ends_without_a_traceback(call, pack):
    code, _, err = call("greet", "you", "--fail", "yours")
    assert code == ExitCode.WRONG
    assert err.splitlines()[-1] == "Nobody is called that. Say another name."
    assert "Traceback" not in err


def test_our_own_mistake_ends_with_a_traceback_and_a_request(call, pack):
    code, _, err = call("greet", "you", "--fail", "ours")
    assert code == ExitCode.BROKEN
    assert "ValueError: this should not be" in err
    assert err.splitlines()[-1] == (
        "This is a mistake in rewardhub or in a plugin, not yours. Please report it with the "
        "lines above."
    )


def test_a_reader_that_stops_reading_is_no_error(folder):
    reading, writing = os.pipe()
    os.close(reading)
    process = folder.start("graders", "--json", stdout=writing)
    os.close(writing)
    _, err = process.communicate(timeout=60)
    assert process.returncode == ExitCode.PIPE
    assert err == "Plugin file: rewardhub_plugins.py\n"


def test_a_new_pack_is_made_where_it_is_wanted(call, folder):
    code, out, _ = call("new", "pack", "verse", "--json")
    assert code == ExitCode.OK
    assert json.loads(out) == {"pack": "verse", "folder": "verse"}
    assert (folder.path / "verse" / "pyproject.toml").is_file()

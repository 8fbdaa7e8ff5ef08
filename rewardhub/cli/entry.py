"""The entry point: which command it is, and what becomes of what it raises."""

from __future__ import annotations

import copy
import errno
import importlib
import io
import sys
import traceback
from typing import Annotated, Any

import typer

from rewardhub.cli.codes import ExitCode
from rewardhub.cli.plugin_commands import Command, commands_of_plugins, listed_commands
from rewardhub.cli.session import Session, command_app
from rewardhub.errors import PluginError, RewardhubError

_CLI = "rewardhub.cli"
_ABOUT = "Rewards for language models: the same number offline and in training."


_OF_THE_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EIO}

COMMANDS = (
    Command("score", f"{_CLI}.score:app", "Score files of trajectories by a reward spec."),
    Command("rescore", f"{_CLI}.rescore:app", "Score a run again; only what changed is graded."),
    Command("explain", f"{_CLI}.explain:app", "Say why a trajectory got its reward."),
    Command("gap", f"{_CLI}.gap:app", "Say what stands between a policy and its tasks."),
    Command("curriculum", f"{_CLI}.curriculum:app", "Choose what to train on next, and how often."),
    Command("spec", f"{_CLI}.spec:app", "Check and show reward specs."),
    Command("tasks", f"{_CLI}.tasks:app", "Check tasks against a reward spec."),
    Command("graders", f"{_CLI}.lists:graders", "List the graders, or show one."),
    Command("plugins", f"{_CLI}.lists:plugins", "List the plugins, or show one."),
    Command("readers", f"{_CLI}.lists:readers", "List the file formats that can be read."),
    Command("specs", f"{_CLI}.lists:specs", "List the reward specs that packs ship."),
    Command("sandbox", f"{_CLI}.sandbox:app", "See where untrusted code can run here."),
    Command("new", f"{_CLI}.pack:app", "Begin a new pack."),
)
"""The commands that rewardhub brings; packs add theirs with a `CommandCard`."""


def main() -> None:
    """Run the command that ``sys.argv`` names, and exit with an `ExitCode`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # half a surrogate pair is no crash
    try:
        _root(sys.argv[1:])(prog_name="rewardhub")
    except RewardhubError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(ExitCode.WRONG)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except Exception as error:  # noqa: BLE001  # the last resort
        if _is_of_the_machine(error):
            sys.stderr.write(f"{error}. Once that is mended, the same command goes on.\n")
            sys.exit(ExitCode.WRONG)
        sys.stderr.write(
            f"{traceback.format_exc()}\nThis is a mistake in rewardhub or in a plugin, not yours. "
            "Please report it with the lines above.\n"
        )
        sys.exit(ExitCode.BROKEN)


def _is_of_the_machine(error: Exception) -> bool:
    """Whether a file may not be opened or written, or the disk is full: nobody's program erred."""
    if not isinstance(error, OSError):
        return False
    return error.filename is not None or error.errno in _OF_THE_DISK


def _root(arguments: list[str]) -> typer.Typer:
    """Return the app of all commands. Only the one that is called is real, the others are names."""
    root = command_app(_ABOUT)
    root.callback()(_options)
    called = next((each for each in arguments if not each.startswith("-")), "")
    for each in _commands(called):
        if each.name == called:
            _attach(root, each, _load(each))
        else:
            root.command(each.name, help=each.help)(_name_only)
    return root


def _commands(called: str) -> list[Command]:
    own = {each.name for each in COMMANDS}
    if called in own:
        return list(COMMANDS)
    further = commands_of_plugins if called else listed_commands
    return [*COMMANDS, *further(Session(quiet=not called), own)]


def _name_only() -> None:
    """Stand for a command in the list of commands."""


def _say_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"rewardhub {version('rewardhub-core')}")
        raise typer.Exit


def _options(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_say_version, help="Say which version this is."
        ),
    ] = False,
) -> None:
    """Take the options of rewardhub itself."""


def _load(command: Command) -> typer.Typer:
    """Return the app of a command.

    Raises:
        PluginError: if there is none.
    """
    module, _, attribute = command.target.partition(":")
    try:
        app: Any = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise PluginError(
            f"The command `{command.name}` cannot be loaded from `{command.target}`: {error}. "
            "Is everything installed that its pack needs?"
        ) from error
    if not isinstance(app, typer.Typer):
        raise PluginError(f"`{command.target}` is no typer app, and a command needs one.")
    return app


def _attach(root: typer.Typer, command: Command, app: typer.Typer) -> None:
    if len(app.registered_commands) != 1 or app.registered_groups or app.registered_callback:
        root.add_typer(app, name=command.name, help=command.help)
        return
    single = copy.copy(app.registered_commands[0])
    single.name = command.name
    root.registered_commands.append(single)

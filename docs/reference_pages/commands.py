"""The command line: every command with its arguments and options."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from reference_pages.markdown import code, join, prose, table
from rewardhub.cli.entry import COMMANDS

INTRODUCTION = """
Results go to stdout, everything else to stderr. `rewardhub COMMAND --help` shows the same as this
page. [Exit codes](exit-codes.md) and [environment variables](environment.md) have pages of their
own. Packs can add commands, with [`rewardhub_commands`](hooks/rewardhub_commands.md).
"""


def page() -> str:
    """Return the page."""
    commands = list(_commands())
    shared = _shared([command for _, command in commands])
    first = commands[0][1]
    parts = ["# The command line", INTRODUCTION]
    rows = [(f"[`{name}`](#{_anchor(name)})", _about(command)) for name, command in commands]
    parts += [table(("Command", ""), rows), "## Options of every command"]
    parts.append(_options([each for each in first.params if _key(each) in shared]))
    for name, command in commands:
        own = [each for each in command.params if _key(each) not in shared]
        parts += [f"## {name}", f"```text\n{_usage(name, own)}\n```", prose(command.help or "")]
        parts += [_options(own)]
    return join(*parts)


def _commands() -> Iterator[tuple[str, Any]]:
    """Yield each command that does something, with its whole name."""
    for each in COMMANDS:
        module, _, attribute = each.target.partition(":")
        app = getattr(importlib.import_module(module), attribute)
        made: Any = get_command(app)
        inner: dict[str, Any] = getattr(made, "commands", {})
        if not inner:
            yield f"rewardhub {each.name}", made
        for name, command in inner.items():
            yield f"rewardhub {each.name} {name}", command


def _shared(commands: list[Any]) -> set[str]:
    shared = {_key(each) for each in commands[0].params}
    for command in commands:
        shared &= {_key(each) for each in command.params}
    return shared


def _key(parameter: Any) -> str:
    return str(" ".join([parameter.param_type_name, *parameter.opts]))


def _anchor(name: str) -> str:
    return name.replace(" ", "-")


def _about(command: Any) -> str:
    return prose(str(command.help or "").partition("\n\n")[0])


def _usage(name: str, parameters: list[Any]) -> str:
    words = [_placeholder(each) for each in parameters if each.param_type_name == "argument"]
    required = [
        f"{each.opts[0]} {each.metavar}"
        for each in parameters
        if each.param_type_name == "option" and each.required
    ]
    return " ".join([name, *required, "[OPTIONS]", *words])


def _placeholder(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    name = f"{name}..." if argument.nargs == -1 else name
    return name if argument.required else f"[{name}]"


def _options(parameters: list[Any]) -> str:
    rows = [_row(each) for each in parameters]
    return table(("", "", "Default"), rows) if rows else ""


def _row(parameter: Any) -> tuple[str, str, str]:
    if parameter.param_type_name == "argument":
        name = code(_placeholder(parameter))
    else:
        value = "" if parameter.is_flag else f" {parameter.metavar or 'VALUE'}"
        name = ", ".join(code(f"{each}{value}") for each in sorted(parameter.opts, key=len))
    told = prose(parameter.help or "")
    if parameter.envvar:
        told += f" Environment: `{parameter.envvar}`."
    return name, told, "required" if parameter.required else _default(parameter)


def _default(parameter: Any) -> str:
    default = parameter.default
    if default in (None, False, (), []) or callable(default):
        return ""
    return code(str(default))

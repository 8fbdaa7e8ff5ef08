"""What every command shares: its common options, the registry, and how it speaks."""

from __future__ import annotations

import inspect
import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, get_type_hints

import typer

from rewardhub.cli.codes import ExitCode

if TYPE_CHECKING:
    from rich.console import Console

    from rewardhub.host import Registry

P = ParamSpec("P")

LOOSE_FILE = "rewardhub_plugins.py"
"""Loaded from the working directory by the command line, and nowhere else."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """The common options of one command. Results go to stdout, everything else to stderr.

    Attributes:
        as_json: results are one JSON object, for machines.
        verbose: say more on stderr, and show errors in full.
        quiet: say nothing on stderr but errors.
        plugins: loose plugin files, besides `rewardhub_plugins.py` of the working directory.
        block: names of plugins to leave out.
    """

    as_json: bool = False
    verbose: bool = False
    quiet: bool = False
    plugins: tuple[Path, ...] = ()
    block: tuple[str, ...] = ()

    @property
    def loose(self) -> tuple[Path, ...]:
        """The loose plugin files: named ones, else of REWARDHUB_PLUGINS, and the folder's own."""
        named = self.plugins or tuple(_paths("REWARDHUB_PLUGINS"))
        here = Path(LOOSE_FILE)
        has_own = here.is_file() and all(path.resolve() != here.resolve() for path in named)
        return (*named, here) if has_own else named

    @property
    def blocked(self) -> tuple[str, ...]:
        """The plugins that are left out: named ones, else of REWARDHUB_BLOCK."""
        return self.block or tuple(os.environ.get("REWARDHUB_BLOCK", "").split())

    @cached_property
    def registry(self) -> Registry:
        """All that is installed, and the loose files; each of these is named on stderr."""
        from rewardhub.host import discover

        loose = self.loose
        registry = discover(block=self.blocked, loose=loose)
        for path in loose:
            self._introduce(registry, path)
        return registry

    def _introduce(self, registry: Registry, path: Path) -> None:
        name = str(path.resolve())
        error = next((each.error for each in registry.plugins if each.name == name), None)
        if error is None:
            self.say(f"Plugin file: {path}")
        else:
            self.warn(f"The plugin file {path} is broken: {error.splitlines()[-1]}")

    @cached_property
    def console(self) -> Console:
        """The console for results: stdout."""
        from rewardhub.report.console import console_for

        return console_for(sys.stdout)

    def say(self, text: str) -> None:
        """Tell the person at the terminal something, on stderr."""
        if not self.quiet:
            sys.stderr.write(f"{text}\n")

    def warn(self, text: str) -> None:
        """Tell of something that is amiss, on stderr, also when quiet."""
        sys.stderr.write(f"{text}\n")

    def show(self, text: str) -> None:
        """Write a result to stdout."""
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")

    def show_json(self, value: Any) -> None:
        """Write a result to stdout, as JSON."""
        import json

        self.show(json.dumps(value, indent=2, ensure_ascii=False))


_Json = Annotated[bool, typer.Option("--json", help="Results as one JSON object.")]
_Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Say more, and show errors in full.")
]
_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")]
_Plugins = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin",
        metavar="FILE",
        help="A Python file that is a plugin; may be repeated. [env: REWARDHUB_PLUGINS]",
    ),
]
_Block = Annotated[
    list[str] | None,
    typer.Option(
        "--block",
        metavar="NAME",
        help="Leave this plugin out; may be repeated. [env: REWARDHUB_BLOCK]",
    ),
]
_COMMON: dict[str, tuple[Any, Any]] = {
    "plugin": (_Plugins, None),
    "block": (_Block, None),
    "as_json": (_Json, False),
    "verbose": (_Verbose, False),
    "quiet": (_Quiet, False),
}


def command_app(description: str = "") -> typer.Typer:
    """Return a typer app in the house style; a `CommandCard` or the command table names it."""
    return typer.Typer(
        help=description or None,
        rich_markup_mode=None,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )


def command(
    app: typer.Typer, name: str | None = None
) -> Callable[[Callable[Concatenate[Session, P], ExitCode]], Callable[..., None]]:
    """Add a function to ``app`` as a command that has the common options.

    The function is given a `Session` first, and returns its exit code.

    Args:
        app: takes the command.
        name: of the command; default: the function's name.
    """

    def add(function: Callable[Concatenate[Session, P], ExitCode]) -> Callable[..., None]:
        def run(**options: Any) -> None:
            common = {key: options.pop(key) for key in _COMMON}
            session = Session(
                as_json=common["as_json"],
                verbose=common["verbose"],
                quiet=common["quiet"],
                plugins=tuple(common["plugin"] or ()),
                block=tuple(common["block"] or ()),
            )
            _set_up_logging(session)
            call: Callable[..., ExitCode] = function
            raise typer.Exit(_guarded(lambda: call(session, **options)))

        run.__doc__ = function.__doc__
        run.__name__ = function.__name__
        _give_signature(run, function)
        return app.command(name)(run)

    return add


def _give_signature(run: Callable[..., None], function: Callable[..., ExitCode]) -> None:
    """Let typer see the parameters of ``function``, and the common ones after them."""
    hints = get_type_hints(function, include_extras=True)
    own = [
        parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in list(inspect.signature(function).parameters.items())[1:]
    ]
    common = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        for name, (hint, default) in _COMMON.items()
    ]
    parameters = [*own, *common]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}


def _guarded(call: Callable[[], ExitCode]) -> ExitCode:
    """Return the exit code of a command; a closed pipe and Ctrl-C are no errors."""
    try:
        code = call()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        return ExitCode.PIPE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    return code


class _ToStderr(logging.Handler):
    """Writes to what `sys.stderr` is at that moment, so that a live display can step aside."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(f"{self.format(record)}\n")


def _set_up_logging(session: Session) -> None:
    logger = logging.getLogger("rewardhub")
    level = logging.INFO if session.verbose else logging.WARNING
    logger.setLevel(logging.ERROR if session.quiet else level)
    if not any(isinstance(handler, _ToStderr) for handler in logger.handlers):
        handler = _ToStderr()
        handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
        logger.addHandler(handler)


def _paths(variable: str) -> Sequence[Path]:
    return [Path(each) for each in os.environ.get(variable, "").split(os.pathsep) if each]

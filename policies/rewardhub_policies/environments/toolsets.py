"""Toolsets: what a policy may call in an environment, and how each call is carried out."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, PrivateAttr, model_validator

from rewardhub import InfrastructureError, Observation, TaskError
from rewardhub_policies.environments.inside import functions
from rewardhub_policies.environments.room import Room
from rewardhub_policies.environments.toolset import Toolset, tool

_SHELL = tool(
    "shell",
    "Run a shell command. Folder, variables and functions last from one command to the next; "
    "processes do not.",
    command={"type": "string", "description": "The command, as bash reads it."},
)
_PYTHON = tool(
    "python",
    "Run Python code in a session: names last from one call to the next. The value of a last "
    "expression is shown.",
    code={"type": "string", "description": "The code."},
)
_PATH = {"type": "string", "description": "Path from the working folder."}
_FILES = (
    tool(
        "read_file",
        "Read a text file.",
        ("start", "lines"),
        path=_PATH,
        start={"type": "integer", "minimum": 1, "description": "First line; default 1."},
        lines={"type": "integer", "minimum": 1, "description": "How many; default 500."},
    ),
    tool(
        "write_file",
        "Write a text file, with the folders above it; what was there is gone.",
        path=_PATH,
        content={"type": "string", "description": "All of the file's text."},
    ),
    tool(
        "edit_file",
        "Replace a text that occurs exactly once in a file.",
        path=_PATH,
        old={"type": "string", "description": "The text as it is now."},
        new={"type": "string", "description": "What takes its place."},
    ),
    tool("list_files", "List all files below a folder.", ("path",), path=_PATH),
)


class ShellTools(Toolset):
    """The tool ``shell``: one command at a time."""

    use: Literal["shell"] = "shell"
    seconds: float = Field(default=10.0, gt=0, le=3600)
    """Wall time for one command."""

    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """Return the tool."""
        return (_SHELL,)

    async def call(
        self,
        room: Room | None,
        name: str,  # noqa: ARG002  # there is one tool
        arguments: Mapping[str, Any],
    ) -> Observation:
        """Run the command."""
        reply = await _asked(room, "shell", command=arguments["command"], seconds=self.seconds)
        notes = [reply["output"]] if reply.get("output") else []
        count = reply.get("background")
        if count:
            notes.append(f"[{count} background process{'es' * (count > 1)} ended with the command]")
        error = reply.get("error")
        if reply.get("timed_out"):
            error = f"the command was ended: it took more than {self.seconds:g} seconds"
        return Observation(content="\n".join(notes), error=error, exit_code=_exit_code(reply))


class PythonTools(Toolset):
    """The tool ``python``: a session that lasts."""

    use: Literal["python"] = "python"
    seconds: float = Field(default=10.0, gt=0, le=3600)
    """Wall time for one piece of code."""

    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """Return the tool."""
        return (_PYTHON,)

    async def call(
        self,
        room: Room | None,
        name: str,  # noqa: ARG002  # there is one tool
        arguments: Mapping[str, Any],
    ) -> Observation:
        """Run the code."""
        reply = await _asked(room, "python", code=arguments["code"], seconds=self.seconds)
        error = "the code raised" if reply.get("failed") else reply.get("error")
        if reply.get("timed_out"):
            error = f"it took more than {self.seconds:g} seconds: the session was ended"
        elif reply.get("ended"):
            error = "the code ended the session: its names are gone"
        return Observation(
            content=str(reply.get("output", "")), error=error, exit_code=_exit_code(reply)
        )


class FileTools(Toolset):
    """The tools ``read_file``, ``write_file``, ``edit_file`` and ``list_files``."""

    use: Literal["files"] = "files"

    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """Return the tools."""
        return _FILES

    async def call(self, room: Room | None, name: str, arguments: Mapping[str, Any]) -> Observation:
        """Do it."""
        given = dict(arguments)
        if name == "read_file":
            given = {"start": 1, "lines": 500} | given
        elif name == "list_files":
            given = {"path": "."} | given
        return told(await _asked(room, "file", tool=name, arguments=given))


class FunctionTools(Toolset):
    """Plain functions with typed arguments: from a module, or from a source text in the task.

    Signature and docstring become the tool's JSON Schema. A parameter ``state`` is no argument:
    it is given a dict that lasts for the attempt, begins as ``state``, and is part of the
    snapshot after each step. What a function returns is shown as JSON, text as it is; what it
    raises is the error of the observation.
    """

    use: Literal["tools"] = "tools"
    source: str = ""
    """Python source whose public functions are the tools; it runs in the sandbox."""
    module: str = ""
    """Name of an installed module whose functions are the tools: those that its
    ``REWARDHUB_TOOLS`` lists, or else all public ones. Without the list none runs in this
    process, for a task may name any module."""
    run_in: Literal["sandbox", "process"] = "sandbox"
    """Where a module's functions run; those of a source text never run in this process."""
    state: Mapping[str, Any] = Field(default_factory=dict[str, Any])
    """What the state begins as."""
    seconds: float = Field(default=10.0, gt=0, le=3600)
    """Time for one call in the sandbox."""

    _tools: tuple[Mapping[str, Any], ...] = PrivateAttr(default=())
    _functions: dict[str, Any] = PrivateAttr(default_factory=dict[str, Any])
    _values: dict[str, Any] = PrivateAttr(default_factory=dict[str, Any])

    @model_validator(mode="after")
    def _one_of_both(self) -> FunctionTools:
        if bool(self.source) == bool(self.module):
            raise ValueError("tools come from a `source` or from a `module`: say one of them")
        if self.source and self.run_in == "process":
            raise ValueError("a source text in a task never runs in this process: name a `module`")
        return self

    @property
    def in_sandbox(self) -> bool:
        """Whether the functions run in the sandbox."""
        return self.run_in == "sandbox"

    @property
    def text(self) -> str:
        """The source of the functions.

        Raises:
            TaskError: if the module cannot be imported, or has no source.
        """
        if self.source:
            return self.source
        try:
            return inspect.getsource(importlib.import_module(self.module))
        except (ImportError, OSError, TypeError) as error:
            raise TaskError(f"the tools of module `{self.module}`: {error}") from None

    def begin(self, tools: tuple[Mapping[str, Any], ...] | None) -> None:
        """Begin an attempt.

        Args:
            tools: as the sandbox described them; None: they are found here.

        Raises:
            TaskError: if the functions cannot be tools.
        """
        self._values = functions.copied(self.state)
        if tools is not None:
            self._tools = tools
            return
        try:
            module = importlib.import_module(self.module)
            if not hasattr(module, functions.LISTED):
                raise functions.DefinitionError(
                    f"it does not list them as `{functions.LISTED}`, so none of them runs here"
                )
            self._functions = functions.functions_of(module)
            self._tools = tuple(functions.described(n, f) for n, f in self._functions.items())
        except (ImportError, functions.DefinitionError) as error:
            raise TaskError(f"the tools of module `{self.module}`: {error}") from None

    @property
    def values(self) -> Mapping[str, Any]:
        """The state of tools that run in this process."""
        return functions.copied(self._values)

    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """Return the tools, once the attempt has begun."""
        return self._tools

    async def call(self, room: Room | None, name: str, arguments: Mapping[str, Any]) -> Observation:
        """Call the function."""
        given = functions.copied(arguments)
        if self.in_sandbox:
            return told(
                await _asked(room, "call", tool=name, arguments=given, seconds=self.seconds)
            )
        import asyncio

        function = self._functions[name]
        return told(await asyncio.to_thread(functions.call, function, given, self._values))


def told(reply: Mapping[str, Any]) -> Observation:
    """Return a reply of output or error as an observation."""
    error = reply.get("error")
    return Observation(
        content=_text(reply.get("output", "")), error=None if error is None else _text(error)
    )


def _text(value: Any) -> str:
    return str(value).encode(errors="replace").decode()


async def _asked(room: Room | None, op: str, **request: Any) -> dict[str, Any]:
    if room is None:
        raise InfrastructureError("the environment is not open")
    return await room.ask(op, **request)


def _exit_code(reply: Mapping[str, Any]) -> int | None:
    code = reply.get("exit_code")
    return code if isinstance(code, int) else None

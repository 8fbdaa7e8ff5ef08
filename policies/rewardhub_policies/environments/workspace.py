"""Workspace: an environment made of toolsets, over one working folder in a sandbox."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from rewardhub import (
    Environment,
    InfrastructureError,
    Judge,
    Observation,
    Sandbox,
    Step,
    Task,
    TaskError,
    ToolCall,
    Turn,
)
from rewardhub_policies.acting import OutsideError
from rewardhub_policies.environments.arguments import read_arguments
from rewardhub_policies.environments.room import Room, job_for, source_digest
from rewardhub_policies.environments.toolset import Toolset
from rewardhub_policies.environments.toolsets import (
    FileTools,
    FunctionTools,
    PythonTools,
    ShellTools,
)
from rewardhub_policies.simulated_user import SimulatedUser, UserTools
from rewardhub_policies.snapshots import digest_of, snapshot

_GIT_DATE = "2026-01-01T00:00:00Z"
_VARIABLES = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "TZ": "UTC",
    "GIT_AUTHOR_NAME": "agent",
    "GIT_AUTHOR_EMAIL": "agent@localhost",
    "GIT_AUTHOR_DATE": _GIT_DATE,
    "GIT_COMMITTER_NAME": "agent",
    "GIT_COMMITTER_EMAIL": "agent@localhost",
    "GIT_COMMITTER_DATE": _GIT_DATE,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TEMPLATE_DIR": "",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "init.defaultBranch",
    "GIT_CONFIG_VALUE_0": "main",
}
"""Commits get fixed names and dates, so that their hashes are the same in each run."""

_CACHES = ("*__pycache__*", "*.pyc", ".git/index", "*/.git/index")
_OWN_FILES = ("__pycache__/", ".pyc")


def _by_name(value: Any) -> Any:
    return {"use": value} if isinstance(value, str) else value


AnyToolset = Annotated[
    ShellTools | FileTools | PythonTools | FunctionTools | UserTools,
    Field(discriminator="use"),
]


class Workspace(Environment):
    """Toolsets over one working folder, which begins with the files of the task.

    ``toolsets`` lists them, by name or with their options: ``shell``, ``files``, ``python``,
    ``tools`` (plain functions), ``user`` (somebody to talk with). A turn without calls goes to the
    user; without a user it is the end. After each step the state is a snapshot of all files,
    the shell's folder and the state of the tools; what changed is in the turn's metadata.
    """

    hidden: ClassVar[tuple[str, ...]] = ("toolsets",)

    toolsets: tuple[Annotated[AnyToolset, BeforeValidator(_by_name)], ...] = ()
    """What there is to work with."""
    needs: tuple[str, ...] = ()
    """Programs that must be in the sandbox: without one the task cannot be tried here."""
    setup: tuple[str, ...] = ()
    """Commands that prepare the folder, each of which must succeed."""
    env: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Variables for all that runs."""
    memory_mb: int = Field(default=512, ge=64)
    """MiB of memory for everything together."""
    disk_mb: int = Field(default=64, ge=1)
    """MiB that may be written."""
    processes: int = Field(default=64, ge=8)
    """Processes and threads at a time."""
    cpu_seconds: float = Field(default=300.0, gt=0)
    """CPU time of the whole attempt."""
    wall_seconds: float = Field(default=3600.0, gt=0)
    """Wall time of the whole attempt, after which the sandbox ends it."""
    ignored: tuple[str, ...] = _CACHES
    """Patterns of paths that are no part of the state, as they differ from run to run."""
    keep_bytes: int = Field(default=1 << 20, ge=0)
    """How many bytes of files the trajectory keeps at the end; what is left out is listed."""

    _room: Room | None = PrivateAttr(default=None)
    _user: SimulatedUser | None = PrivateAttr(default=None)
    _by_tool: dict[str, tuple[Toolset, Mapping[str, Any]]] = PrivateAttr(
        default_factory=dict[str, tuple[Toolset, Mapping[str, Any]]]
    )
    _state: Mapping[str, Any] = PrivateAttr(default_factory=dict[str, Any])
    _identity: Mapping[str, Any] = PrivateAttr(default_factory=dict[str, Any])

    @model_validator(mode="after")
    def _fits(self) -> Workspace:
        uses = [each.use for each in self.toolsets]
        twice = next((use for use in uses if uses.count(use) > 1), None)
        if twice is not None:
            raise ValueError(f"`toolsets` names `{twice}` twice")
        return self

    @property
    def identity(self) -> Mapping[str, Any]:
        """The sandbox, what runs inside, the tools' source, the task's files: once it is reset."""
        return self._identity

    @property
    def _sets(self) -> list[Toolset]:
        return [each for each in self.toolsets if isinstance(each, Toolset)]

    @property
    def _functions(self) -> FunctionTools | None:
        return next((each for each in self._sets if isinstance(each, FunctionTools)), None)

    async def reset(
        self, task: Task, sandbox: Sandbox | None = None, judge: Judge | None = None
    ) -> Turn:
        """Build the folder, run ``setup``, and take the first snapshot.

        Raises:
            TaskError: if the setup fails, or the tools cannot be described.
            InfrastructureError: if no sandbox can be had.
        """
        tools = await self._open(task, sandbox)
        functions = self._functions
        if functions is not None:
            functions.begin(tools if functions.in_sandbox else None)
        self._by_tool = {
            each["function"]["name"]: (one, each) for one in self._sets for each in one.tools()
        }
        described = next((each for each in self.toolsets if isinstance(each, UserTools)), None)
        self._user = SimulatedUser(described, task, judge) if described else None
        opening = self._user.opening if self._user else ""
        state, _ = await self._look()
        return Turn(
            observations=(Observation(content=opening),) if opening else (),
            state=state,
            tools=tuple(each for _, each in self._by_tool.values()),
        )

    async def _open(self, task: Task, sandbox: Sandbox | None) -> tuple[Mapping[str, Any], ...]:
        """Open the room, if any is needed; return the tools of the functions in it."""
        functions = self._functions
        text = functions.text if functions is not None else ""
        identity: dict[str, Any] = {"tools": digest_of(text)} if text else {}
        if self.setup or any(each.in_sandbox for each in self._sets):
            if sandbox is None:
                raise TaskError("this environment needs a sandbox, and none is given")
            identity |= {"sandbox": dict(sandbox.identity), "inside": source_digest()}
            identity["files"] = digest_of(dict(task.files))
        self._identity = identity
        if "sandbox" not in identity or sandbox is None:
            return ()
        job = job_for(
            files=dict(task.files),
            env=_VARIABLES | dict(self.env),
            memory_mb=self.memory_mb,
            disk_mb=self.disk_mb,
            processes=self.processes,
            cpu_seconds=self.cpu_seconds,
            wall_seconds=self.wall_seconds,
        )
        self._room = Room(sandbox, job)
        inside = functions is not None and functions.in_sandbox
        self._room.look_next = not self._first
        begun = await self._room.ask(
            "begin",
            ignored=list(self.ignored),
            source=text if inside else "",
            state=json.loads(json.dumps(functions.state)) if functions and inside else {},
        )
        if "error" in begun:
            raise TaskError(str(begun["error"]))
        for number, command in enumerate(self._first, 1):
            self._room.look_next = number == len(self._first)
            await self._set_up(self._room, command)
        return tuple(begun["tools"])

    @property
    def _first(self) -> tuple[str, ...]:
        """The commands before the policy's first turn."""
        if not self.needs:
            return self.setup
        names = " ".join(map(quote, self.needs))
        told = 'echo "the sandbox has no program $each"'
        check = (
            f'for each in {names}; do command -v "$each" >/dev/null || {{ {told}; exit 1; }}; done'
        )
        return (check, *self.setup)

    async def _set_up(self, room: Room, command: str) -> None:
        reply = await room.ask("shell", command=command, seconds=60.0)
        if reply.get("exit_code") != 0:
            told = str(reply.get("output", "")).strip()[-500:]
            code = reply.get("exit_code")
            raise TaskError(f"`setup` failed (exit code {code}): {command}\n{told}")

    async def act(self, step: Step, calls: Sequence[ToolCall]) -> Turn:
        """Run the calls one after the other, or tell the user what the policy says."""
        observations: list[Observation] = []
        for number, call in enumerate(calls, 1):
            if self._room is not None:
                self._room.look_next = number == len(calls)
            observations.append(await self._call(call))
        done = False
        if not calls:
            said = await self._reply(step.text)
            done = said is None
            if said is not None:
                observations.append(Observation(content=said))
        state, metadata = await self._look()
        return Turn(observations=tuple(observations), done=done, state=state, metadata=metadata)

    async def _reply(self, text: str) -> str | None:
        if self._user is None:
            return None
        try:
            return await self._user.reply(text)
        except InfrastructureError as error:
            raise OutsideError(str(error)) from error

    async def _call(self, call: ToolCall) -> Observation:
        known = self._by_tool.get(call.name)
        if known is None:
            from difflib import get_close_matches

            close = get_close_matches(call.name, self._by_tool, n=1)
            hint = f" Did you mean `{close[0]}`?" if close else f" There are: {self._names()}."
            error = f"no tool is called `{call.name[:80]}`.{hint}"
            return Observation(call_id=call.id, error=error)
        toolset, described = known
        arguments, fault = read_arguments(call, described["function"]["parameters"])
        if fault:
            return Observation(call_id=call.id, error=f"`{call.name}`: {fault}")
        seen = await toolset.call(self._room, call.name, arguments)
        return seen.replace(call_id=call.id)

    def _names(self) -> str:
        return ", ".join(f"`{name}`" for name in sorted(self._by_tool)) or "none"

    async def _look(self) -> tuple[Mapping[str, Any], dict[str, Any]]:
        functions = self._functions
        if self._room is None:
            values = functions.values if functions is not None else {}
            self._state = snapshot(files={}, values=values)
            return self._state, {}
        seen = await self._room.look()
        try:
            inside = functions is None or functions.in_sandbox
            self._state = snapshot(
                files=_texts(seen["files"]),
                folder=str(seen["folder"]),
                values=seen["values"] if inside or functions is None else functions.values,
            )
            metadata: dict[str, Any] = {"changes": _texts(seen["changes"])}
        except (KeyError, TypeError, ValueError) as error:
            raise InfrastructureError(f"the sandbox's program told no state: {error!r}") from None
        if seen.get("left_out"):
            metadata["files_not_hashed"] = seen["left_out"]
        return self._state, metadata

    async def artifacts(self) -> Mapping[str, Any]:
        """Return the ``files`` as the sandbox brings them out, and the last ``state``.

        A file that is no UTF-8 is ``{"base64": ...}``; ``left_out`` lists what found no room, with
        its size.
        """
        state = {"state": dict(self._state)}
        if self._room is None:
            return state
        outcome = await self._room.leave()
        if outcome.status == "sandbox_error":
            raise InfrastructureError(outcome.reason)
        files: dict[str, Any] = {}
        left_out: dict[str, int] = {}
        room = self.keep_bytes
        for path, data in sorted(outcome.files.items()):
            if any(each in path for each in _OWN_FILES):
                continue
            if len(data) > room:
                left_out[path] = len(data)
                continue
            room -= len(data)
            files[path] = _kept(data)
        return {"files": files, **({"left_out": left_out} if left_out else {}), **state}

    async def close(self) -> None:
        """End what runs in the sandbox."""
        room, self._room = self._room, None
        if room is not None:
            await room.close()


def _texts(value: Any) -> dict[str, str]:
    return {str(key): str(each) for key, each in dict(value).items()}


def _kept(data: bytes) -> Any:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


class _Single(Workspace):
    """A workspace of one toolset, whose options stand beside those of the workspace."""

    toolset: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, options: Any) -> Any:
        if not isinstance(options, Mapping) or "toolsets" in options:
            return options
        own = {key: each for key, each in options.items() if key not in Workspace.model_fields}
        rest = {key: each for key, each in options.items() if key in Workspace.model_fields}
        return {**rest, "toolsets": ({"use": cls.toolset, **own},)}


class Shell(_Single):
    """A workspace with a shell. Options: those of `ShellTools`, and of `Workspace`."""

    toolset: ClassVar[str] = "shell"


class Files(_Single):
    """A workspace with files. Options: those of `FileTools`, and of `Workspace`."""

    toolset: ClassVar[str] = "files"


class PythonSession(_Single):
    """A workspace with a Python session. Options: those of `PythonTools`, and of `Workspace`."""

    toolset: ClassVar[str] = "python"


class Functions(_Single):
    """Plain functions as tools. Options: those of `FunctionTools`, and of `Workspace`."""

    hidden: ClassVar[tuple[str, ...]] = ("source", "state")
    toolset: ClassVar[str] = "tools"


class User(_Single):
    """A simulated user. Options: those of `UserTools`."""

    hidden: ClassVar[tuple[str, ...]] = ("says", "plays")
    toolset: ClassVar[str] = "user"

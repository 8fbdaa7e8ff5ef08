"""The program that stays in the sandbox for one attempt, and does what it is asked.

A request is ``{"op": name, "look": false, ...}``, its reply ``{...}``; an ``error`` in a reply is
what the call did wrong, and ``look`` the state afterwards, where it was asked. Nothing that is
said from here is believed: it tells the policy what came back, and graders look at the files that
the sandbox itself brings out.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from rewardhub_policies.environments.inside import children, files, functions
from rewardhub_policies.environments.inside.channel import Channel
from rewardhub_policies.environments.inside.commands import Shell
from rewardhub_policies.environments.inside.interpreter import Interpreter
from rewardhub_policies.environments.inside.walk import Folder

_MOST_REPLY = 900 << 10


class Resident:
    """Answers requests about one working folder."""

    def __init__(self, channel: Channel) -> None:
        self._shell = Shell(dict(os.environ))
        self._python = Interpreter(channel.descriptor)
        self._folder = Folder(os.getcwd(), [])  # noqa: PTH109
        self._tools: dict[str, Callable[..., Any]] = {}
        self._state: dict[str, Any] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one request."""
        name, look = request.pop("op"), request.pop("look")
        operation: Callable[..., dict[str, Any]] = getattr(self, f"do_{name}")
        reply = operation(**request)
        return {**reply, "look": self._look()} if look else reply

    def do_begin(self, ignored: list[str], source: str, state: dict[str, Any]) -> dict[str, Any]:
        """Take in what holds for the attempt; reply with the tools that ``source`` defines."""
        self._folder = Folder(os.getcwd(), ignored)  # noqa: PTH109
        self._state = state
        try:
            self._tools = functions.load(source) if source else {}
            tools = [functions.described(name, each) for name, each in self._tools.items()]
        except functions.DefinitionError as error:
            return {"error": str(error)}
        return {"tools": tools}

    def do_shell(self, command: str, seconds: float) -> dict[str, Any]:
        """Run a command."""
        keep = (self._python.process,) if self._python.process else ()
        return self._shell.run(command, seconds, keep)

    def do_python(self, code: str, seconds: float) -> dict[str, Any]:
        """Run code in the session."""
        return self._python.run(code, seconds)

    def do_file(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do something with a file."""
        try:
            return {"output": files.OPERATIONS[tool](**arguments)}
        except files.ToolError as error:
            return {"error": str(error)}

    def do_call(self, tool: str, arguments: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Call a tool."""
        reply = functions.call(self._tools[tool], arguments, self._state, seconds)
        keep = (self._python.process,) if self._python.process else ()
        children.end_all(keep)
        return reply

    def do_nothing(self) -> dict[str, Any]:
        """Reply, for what comes with it."""
        return {}

    def _look(self) -> dict[str, Any]:
        """Return the state of everything that lasts."""
        folder = os.path.relpath(self._shell.folder, os.getcwd())  # noqa: PTH109
        reply = {**self._folder.look(), "folder": folder, "values": self._state}
        if len(json.dumps(reply)) > _MOST_REPLY:
            reply["changes"] = {"...": f"{len(reply['changes'])} paths changed"}
        return reply


def main() -> NoReturn:
    """Serve until nobody asks any more."""
    channel = Channel()
    children.adopt()
    sys.path[:] = [path for path in sys.path if path != os.getcwd()]  # noqa: PTH109
    resident = Resident(channel)
    while True:
        try:
            request = channel.receive()
        except EOFError:
            os._exit(0)  # the sandbox ends what else there is
        channel.send(resident.answer(request))

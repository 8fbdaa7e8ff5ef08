from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from rewardhub_policies.environments.source import Environments

from rewardhub import Environment, Task, ToolCall
from rewardhub.testing import EnvironmentContract


class _Contract(EnvironmentContract):
    options: ClassVar[Mapping[str, Any]]
    environments: Environments

    @pytest.fixture(autouse=True)
    def _with(self, environments: Environments) -> None:
        self.environments = environments

    def make_task(self) -> Task:
        return Task(id="t", files={"a.txt": "one\n"}, environment=self.options)

    def make_environment(self) -> Environment:
        made = self.environments.of(self.make_task())
        assert made is not None
        return made

    def resources(self) -> Mapping[str, Any]:
        return self.environments.resources


class TestShell(_Contract):
    options: ClassVar[Mapping[str, Any]] = {"use": "shell"}

    def changing_call(self) -> ToolCall:
        return self.call("shell", command="echo more >> a.txt; cat a.txt")


class TestFiles(_Contract):
    options: ClassVar[Mapping[str, Any]] = {"use": "files"}

    def changing_call(self) -> ToolCall:
        return self.call("write_file", path="b.txt", content="two")


class TestPython(_Contract):
    options: ClassVar[Mapping[str, Any]] = {"use": "python"}

    def changing_call(self) -> ToolCall:
        return self.call("python", code="open('b.txt', 'a').write('x')")


class TestFunctions(_Contract):
    options: ClassVar[Mapping[str, Any]] = {
        "use": "tools",
        "source": "def push(n: int, state: dict): state[str(n)] = n\n",
    }

    def changing_call(self) -> ToolCall:
        return self.call("push", n=1)


class TestAllTogether(_Contract):
    options: ClassVar[Mapping[str, Any]] = {
        "use": "workspace",
        "toolsets": ["shell", "files", "python", {"use": "user", "says": ["and?"]}],
        "setup": ["git init -q && git add -A && git commit -qm begin"],
    }

    def changing_call(self) -> ToolCall:
        return self.call("shell", command="git rm -q a.txt && git commit -qm gone && git log")

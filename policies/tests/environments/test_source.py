from typing import Any

import pytest
from rewardhub_policies.environments.source import Environments
from rewardhub_policies.environments.workspace import Shell, Workspace

from rewardhub import Registry, Sandbox, Task, TaskError


def made(registry: Registry, environment: Any) -> Any:
    return Environments(registry).of(Task(id="t", environment=environment))


def test_a_task_without_an_environment_gets_none(registry: Registry) -> None:
    assert made(registry, None) is None


def test_each_attempt_gets_its_own(registry: Registry) -> None:
    first, second = (made(registry, {"use": "shell"}) for _ in range(2))
    assert isinstance(first, Shell)
    assert first is not second


def test_the_rest_of_the_description_are_options(registry: Registry) -> None:
    described = {"use": "workspace", "toolsets": ["shell"], "memory_mb": 99}
    found = made(registry, {**described, "limits": {"steps": 1}, "chat": {"template": "x"}})
    assert isinstance(found, Workspace)
    assert found.memory_mb == 99


@pytest.mark.parametrize(
    ("described", "told"),
    [
        ({}, "says no `use`"),
        ({"use": "shel"}, "Did you mean `shell`"),
        ({"use": "shell", "memory": 1}, "memory"),
        ({"use": "workspace", "tool_sets": ["shell"]}, "Did you mean `toolsets`"),
    ],
)
def test_a_wrong_description_is_the_tasks_fault(
    registry: Registry, described: dict[str, Any], told: str
) -> None:
    with pytest.raises(TaskError, match=told) as error:
        made(registry, described)
    assert "task `t`" in str(error.value)


def test_those_that_are_installed_come_with_a_sandbox(sandbox: Sandbox) -> None:
    assert sandbox.identity  # which skips where there is none
    found = Environments.installed()
    assert list(found.resources) == ["sandbox"]
    found.close()

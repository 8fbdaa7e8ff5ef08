"""The shell tasks of this package: one file each, in ``tasks/``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rewardhub import Step, Task, ToolCall, UsageError

FOLDER = Path(__file__).parent / "tasks"
KINDS = ("files", "git", "python", "text")


def shell_tasks(kind: str = "") -> Iterator[Task]:
    """Yield the tasks in order of name: all, or those of one kind.

    Each has hidden checks (``checks.shell``) and a reference: the ``actions`` that reach its goal.

    Args:
        kind: ``files``, ``git``, ``python`` or ``text``.

    Raises:
        UsageError: if there is no such kind.
    """
    from ruamel.yaml import YAML

    if kind and kind not in KINDS:
        raise UsageError(f"No shell task is of kind `{kind}`: there are {', '.join(KINDS)}.")
    yaml = YAML(typ="safe", pure=True)
    for path in sorted(FOLDER.glob(f"{kind or '*'}-*.yaml")):
        found: dict[str, Any] = yaml.load(path)
        yield Task(**found)


def reference_steps(task: Task) -> list[Step]:
    """Return the actions of a task's reference, one a step, as a policy would take them.

    Raises:
        UsageError: if the reference is no list of actions.
    """
    import json

    reference: Any = task.reference
    try:
        actions = [(each["name"], dict(each["arguments"])) for each in reference["actions"]]
    except (TypeError, KeyError, ValueError):
        raise UsageError(f"The reference of task `{task.id}` has no `actions`.") from None
    calls = [
        ToolCall(id=f"call-{number}", name=name, arguments=json.dumps(given), parsed=given)
        for number, (name, given) in enumerate(actions, 1)
    ]
    return [Step(tool_calls=(call,)) for call in calls]

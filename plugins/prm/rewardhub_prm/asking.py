"""What a reward model is told of a task."""

from __future__ import annotations

from rewardhub import Task


def problem_of(task: Task) -> str:
    """Return the problem as one text; empty where the task has none.

    One message of a user is the problem. Of several messages, those after the system's are written
    one under the other, each with who said it.
    """
    spoken = [each for each in task.messages if each.role not in {"system", "developer"}]
    texts = [(each.role, each.text.strip()) for each in spoken]
    said = [(role, text) for role, text in texts if text]
    if len(said) == 1:
        return said[0][1]
    return "\n\n".join(f"{role.capitalize()}: {text}" for role, text in said)


def chat_of(task: Task) -> list[tuple[str, str]]:
    """Return the messages that hold text, as role and text."""
    texts = [(each.role, each.text.strip()) for each in task.messages]
    return [("system" if role == "developer" else role, text) for role, text in texts if text]

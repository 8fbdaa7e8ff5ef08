"""What goes wrong with an expression, shown where it is."""

from __future__ import annotations

from typing import Any

from rewardhub.errors import RewardhubError

__all__ = ["ExpressionError"]

_BEFORE, _AFTER = 50, 30


class ExpressionError(RewardhubError, ValueError):
    """An expression that cannot be read, bounded or evaluated.

    The message says what is wrong and what to do, then shows the line with a caret below the place.

    Attributes:
        problem: the first part of the message, without the line and the caret.
        text: the whole expression.
        position: the 0-based offset in ``text`` of the mistake; ``len(text)`` is its end.
    """

    def __init__(self, problem: str, text: str, position: int) -> None:
        super().__init__(f"{problem}\n{_pointed_at(text, position)}")
        self.problem = problem
        self.text = text
        self.position = position

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problem, self.text, self.position)


def _pointed_at(text: str, position: int) -> str:
    """Return the line around ``position`` and a second line with a caret under it."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    end = len(text) if end < 0 else end
    left, right = max(start, position - _BEFORE), min(end, position + _AFTER)
    head = "..." if left > start else ""
    tail = "..." if right < end else ""
    line = "".join(character if character.isprintable() else " " for character in text[left:right])
    return f"    {head}{line}{tail}\n    {' ' * (len(head) + position - left)}^"

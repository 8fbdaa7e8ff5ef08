"""What every rule shares: the empty answer, and what a task brings itself."""

from __future__ import annotations

from typing import Any

from rewardhub import Score, TaskError, Trajectory

__all__ = ["answer_of", "check_of", "empty", "short", "texts_in", "well_formed"]

_SHOWN = 80


def answer_of(trajectory: Trajectory) -> str:
    """Return the final text, or an empty one where it is blank."""
    text = trajectory.final_text
    return text if text and not text.isspace() else ""


def empty() -> Score:
    """Return the Score of an empty answer.

    It follows no rule, not even one that only forbids: else saying nothing would be the surest
    way to keep it. The checkers of IFEval hold it so, too.
    """
    return Score.of(0.0, "the answer is empty")


def check_of(trajectory: Trajectory, key: str, option: str) -> Any:
    """Return what the task says under ``checks``, for rules whose ``option`` is not set.

    Raises:
        TaskError: if it says nothing there.
    """
    checks = trajectory.task.checks
    if key not in checks:
        raise TaskError(
            f"the task has no `checks.{key}`, and the spec sets no `{option}`: it needs one of both"
        )
    return checks[key]


def texts_in(value: Any, key: str) -> tuple[str, ...]:
    """Return the texts that a task lists under ``checks.key``; one alone need not be a list.

    Raises:
        TaskError: if they are no texts, or none, or blank.
    """
    texts = (value,) if isinstance(value, str) else value
    if not (isinstance(texts, tuple | list) and texts):
        raise TaskError(f"`checks.{key}` is text or a list of texts, not {value!r:.80}")
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise TaskError(f"`checks.{key}` lists {text!r:.80}, which is no text to look for")
    return tuple(texts)


def well_formed(text: str) -> str:
    """Return ``text`` with U+FFFD for halves of surrogate pairs, which libraries refuse."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def short(text: str) -> str:
    """Return ``text`` on one line, cut to a length that a reason can hold."""
    text = " ".join(text[: 4 * _SHOWN].split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."

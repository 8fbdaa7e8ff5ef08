"""Texts with ``{{ item.x }}`` and ``{{ sample.output_text }}``, as OpenAI's graders write them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from rewardhub.errors import TaskError
from rewardhub.records import Trajectory

_HOLE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_PATH = re.compile(r"(?:\.\w+|\[\d+\])*")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_TEXT, _JSON = "sample.output_text", "sample.output_json"
_ITEM = "item."


class OutputError(Exception):
    """The policy's answer has not got what the template names: the policy's doing."""


class Hole(NamedTuple):
    """A place in a template.

    Attributes:
        source: ``text``, ``json``, ``reference``, ``prompt`` or ``metadata``.
        path: names and numbers that lead into the value.
        written: what stands in the template.
    """

    source: str
    path: tuple[str | int, ...]
    written: str


class Template:
    """A text with holes, checked.

    ``{{ sample.output_text }}`` is the final text, ``{{ sample.output_json.x }}`` a value in the
    JSON that it is; ``{{ item.reference }}`` the task's reference, ``{{ item.prompt }}`` its
    prompt, and any other ``{{ item.x }}`` the field x of the task's metadata. Dots and ``[0]``
    lead into nested values.

    Raises:
        ValueError: for a hole that names anything else.
    """

    def __init__(self, text: str) -> None:
        self._pieces: list[str | Hole] = []
        end = 0
        for found in _HOLE.finditer(text):
            self._pieces += [text[end : found.start()], _hole(found.group(1).strip())]
            end = found.end()
        self._pieces.append(text[end:])

    def fill(self, trajectory: Trajectory) -> str:
        """Return the text for ``trajectory``; what is no text stands there as JSON.

        Raises:
            OutputError: if the answer is no JSON, or lacks what is named in it.
            TaskError: if the task lacks it.
        """
        return "".join(
            piece if isinstance(piece, str) else _filled(piece, trajectory)
            for piece in self._pieces
        )


def _hole(written: str) -> Hole:
    if written == _TEXT:
        return Hole("text", (), written)
    if written.startswith(_JSON):
        return Hole("json", _path(written, written[len(_JSON) :]), written)
    if written.startswith("sample."):
        raise ValueError(
            f"`{{{{ {written} }}}}` cannot be filled: of the sample there are `{_TEXT}` and "
            f"`{_JSON}`"
        )
    if not written.startswith(_ITEM):
        raise ValueError(f"`{{{{ {written} }}}}` must begin with `item.` or `sample.`")
    first, *path = _path(written, written[len("item") :]) or ("",)
    if not isinstance(first, str) or not first:
        raise ValueError(f"`{{{{ {written} }}}}` must name a field of the item")
    if first in ("reference", "prompt"):
        return Hole(first, tuple(path), written)
    return Hole("metadata", (first, *path), written)


def _path(written: str, text: str) -> tuple[str | int, ...]:
    if not _PATH.fullmatch(text):
        raise ValueError(f"`{{{{ {written} }}}}` is no path: write names, dots and `[0]` only")
    return tuple(name or int(index) for name, index in _STEP.findall(text))


def _filled(hole: Hole, trajectory: Trajectory) -> str:
    if hole.source == "text":
        return trajectory.final_text
    if hole.source == "json":
        return _shown(_found(_output_of(trajectory), hole, OutputError("the answer's JSON")))
    task = trajectory.task
    value = getattr(task, hole.source)
    return _shown(_found(value, hole, TaskError("the task")))


def _output_of(trajectory: Trajectory) -> Any:
    try:
        return from_json(trajectory.final_text)
    except ValueError:
        raise OutputError("the answer is no JSON") from None


def _found(value: Any, hole: Hole, error: Exception) -> Any:
    for step in hole.path:
        if isinstance(value, Mapping) and isinstance(step, str):
            value = value.get(step)
        elif (
            isinstance(value, Sequence) and not isinstance(value, str) and step in range(len(value))
        ):
            value = value[int(step)]
        else:
            value = None
    if value is None:
        hint = ""
        if hole.source == "metadata":
            name = hole.path[0]
            hint = f" (a column fills it with `--map task_metadata.{name}={name}`)"
        raise type(error)(f"{error} has no `{hole.written}`{hint}")
    return value


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value).decode()

"""The built-in readers: three shapes of rows, each in JSON lines or in Parquet."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import ValidationError

from rewardhub.builtin.formats.columns import PLACES, Columns, columns_of, read_object, structured
from rewardhub.builtin.formats.cutting import cut
from rewardhub.builtin.formats.messages import (
    Fields,
    as_messages,
    media_in,
    plain_chat,
    split_at_policy,
    steps_of,
    task_messages,
)
from rewardhub.contracts import RawRow, Reader, ReadOptions
from rewardhub.errors import RecordError, RowError, UsageError
from rewardhub.records import Trajectory, explain_validation, read_trajectory
from rewardhub.text import TemplateFacts

_EMPTY_STEP: Fields = {"text": ""}
_validate: Callable[[Fields], Trajectory] = Trajectory.__pydantic_validator__.validate_python


class NativeReader(Reader):
    """Reads Trajectory records, as ``Trajectory.to_json`` writes them, of any schema version."""

    def rows(self, path: Path) -> Iterator[RawRow]:
        """Yield the rows of a file of JSON lines or of a Parquet file."""
        return cut(path)

    def check(self, options: ReadOptions) -> None:
        """Refuse a mapping: a record has its own names."""
        if options.mapping:
            raise UsageError(
                "Native trajectories have fixed field names: leave out `--map`, or name another "
                "reader (`chat`, `completion`)."
            )

    def parse(self, row: RawRow, options: ReadOptions) -> Trajectory:
        """Return the trajectory in ``row``; without an id it gets the row's place as one."""
        has_id = bool(read_object(row).get("id"))
        try:
            trajectory = read_trajectory(row.data)
        except RecordError as error:
            raise RowError(str(error)) from None
        return trajectory if has_id else trajectory.replace(id=_place_of(row, options))


class Attempt(NamedTuple):
    """What a shape finds in its own columns."""

    asked: list[Fields]
    steps: list[Fields]
    truncated: bool
    media: list[Any]


class _ColumnReader(Reader):
    """Reads rows whose columns are fields of ours, by name or by ``--map``.

    Columns that are no field are kept in the trajectory's metadata, under their names. So are
    images and other parts of answers and results that are no text: ``metadata.media`` has an
    entry for each message from the first answer on.
    """

    shape: ClassVar[str]
    own: ClassVar[tuple[str, ...]]

    @abstractmethod
    def _attempt(self, own: Fields, facts: TemplateFacts) -> Attempt:
        """Return what was asked and done, from the columns that only this shape has."""

    def rows(self, path: Path) -> Iterator[RawRow]:
        """Yield the rows of a file of JSON lines or of a Parquet file."""
        return cut(path)

    def check(self, options: ReadOptions) -> None:
        """Refuse a mapping of fields that the shape does not have."""
        self._columns(options)

    def _columns(self, options: ReadOptions) -> Columns:
        return columns_of(tuple(options.mapping.items()), self.shape, self.own)

    def parse(self, row: RawRow, options: ReadOptions) -> Trajectory:
        """Return the trajectory in ``row``."""
        columns = read_object(row)
        if options.mapping:
            columns = self._columns(options).apply(columns)
        own, task, fields = self._placed(columns)
        attempt = self._attempt(own, options.facts)
        if not fields.get("id"):
            fields["id"] = _place_of(row, options)
        if not attempt.asked and not task.get("id"):
            # Without the question nothing says which rows ask the same one.
            task["id"] = fields["id"]
        if attempt.truncated:
            fields.setdefault("status", "truncated")
        if attempt.media:
            fields["metadata"] = {"media": attempt.media, **fields.get("metadata", {})}
        task["messages"] = attempt.asked
        fields["task"] = task
        fields["steps"] = attempt.steps or self._no_steps(own, fields)
        try:
            return _validate(fields)
        except ValidationError as error:
            raise RowError(explain_validation(error, Trajectory)) from None

    def _placed(self, columns: Fields) -> tuple[Fields, Fields, Fields]:
        own: Fields = {}
        task: Fields = {}
        trajectory: Fields = {}
        extra: Fields = {}
        for name, value in columns.items():
            if value is None:
                continue
            if name in self.own:
                own[name] = value
                continue
            place = PLACES.get(name)
            if place is None:
                extra[name] = value
                continue
            target = task if place.target == "task" else trajectory
            target[place.field] = place.convert(name, value) if place.convert else value
        if extra:
            trajectory["metadata"] = {**extra, **trajectory.get("metadata", {})}
        return own, task, trajectory

    def _no_steps(self, own: Fields, fields: Fields) -> list[Fields]:
        status = fields.get("status")
        if status is None:
            column = self.own[-1]
            lack = "has no assistant message" if column in own else "is missing"
            raise RowError(f"`{column}` {lack}; a rollout that broke off says so in `status`")
        return [] if status == "broken" else [_EMPTY_STEP]


class ChatReader(_ColumnReader):
    """Reads chats: ``messages`` in the shape of the OpenAI chat API.

    The messages before the first assistant message are the task's. Each assistant message is a
    step; what follows it is what came back (see `steps_of`). Where earlier assistant messages
    belong to the question (few-shot examples, a history), write completion rows instead, with the
    messages split into ``prompt`` and ``completion``.
    """

    shape = "chat"
    own = ("messages",)

    def _attempt(self, own: Fields, facts: TemplateFacts) -> Attempt:
        given = structured("messages", own.get("messages", []))
        plain = plain_chat(given, facts)
        if plain is not None:
            return Attempt(*plain, [])
        messages = as_messages("messages", given, "user")
        asked, acted = split_at_policy(messages)
        steps, truncated = steps_of(acted, facts)
        return Attempt(task_messages(asked), steps, truncated, media_in(acted))


class CompletionReader(_ColumnReader):
    """Reads ``prompt`` and ``completion``: each a text, a message, or a list of messages.

    A row without a prompt is a task of its own, unless ``task_id`` says otherwise.
    """

    shape = "completion"
    own = ("prompt", "completion")

    def _attempt(self, own: Fields, facts: TemplateFacts) -> Attempt:
        asked = task_messages(as_messages("prompt", own.get("prompt", []), "user"))
        acted = as_messages("completion", own.get("completion", []), "assistant")
        if acted and acted[0]["role"] != "assistant":
            raise RowError(
                f"`completion` begins with an assistant message, not a {acted[0]['role']} message"
            )
        steps, truncated = steps_of(acted, facts)
        return Attempt(asked, steps, truncated, media_in(acted))


def _place_of(row: RawRow, options: ReadOptions) -> str:
    return f"{options.source}:{row.number}"

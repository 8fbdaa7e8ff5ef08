"""What the readers of other projects' formats share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError

from rewardhub.builtin.formats.columns import PLACES, columns_of, read_object
from rewardhub.builtin.formats.foreign.documents import cut_documents
from rewardhub.builtin.formats.foreign.node import Fields, Node, left_of
from rewardhub.builtin.formats.foreign.turns import Turns
from rewardhub.contracts import RawRow, Reader, ReadOptions
from rewardhub.errors import RowError
from rewardhub.records import Trajectory, explain_validation
from rewardhub.text import TemplateFacts


class Draft:
    """A trajectory while a row is read.

    Attributes:
        turns: the messages and steps.
        task: fields of the Task other than messages.
        fields: fields of the Trajectory other than task, steps and metadata.
        metadata: what is made of the row for graders to read, beside what is left of the row.
    """

    def __init__(self, facts: TemplateFacts) -> None:
        self.turns = Turns(facts)
        self.task: Fields = {}
        self.fields: Fields = {}
        self.metadata: Fields = {}

    def complete(self) -> None:
        """Say that the attempt came to its end: without a step it has an empty one."""
        self.fields.setdefault("status", "completed")

    def truncate(self, reason: str) -> None:
        """Say that the policy was cut off; a rollout that broke stays broken."""
        if self.fields.get("status") != "broken":
            self.fields |= {"status": "truncated", "reason": reason}

    def break_off(self, reason: str) -> None:
        """Say that the rollout itself broke: no grader runs, and nobody is blamed but the rig."""
        self.fields |= {"status": "broken", "fault": "infrastructure", "reason": reason}

    def finish(self, rest: Any, mapped: Mapping[str, Any], place: str) -> Trajectory:
        """Return the trajectory.

        Args:
            rest: what is left of the row.
            mapped: fields that ``--map`` fills.
            place: the row's place, the default id.

        Raises:
            RowError: if it holds no turn of the policy, or a value that our records refuse.
        """
        if self.turns.cut_off:
            self.truncate("the reasoning of the last step never ends")
        targets = {"task": self.task, "trajectory": self.fields}
        for name, value in mapped.items():
            target, field, convert = PLACES[name]
            targets[target][field] = convert(name, value) if convert else value
        if not self.fields.get("id"):
            self.fields["id"] = place
        if not self.turns.asked and not self.task.get("id"):
            self.task["id"] = self.fields["id"]  # as for rows without a prompt
        # What the file says keeps its name; what is made of it takes the names that are free.
        made = {**self.metadata, **(rest or {})}
        self.fields["metadata"] = {**made, **self.fields.get("metadata", {})}
        self.fields["task"] = {**self.task, "messages": self.turns.asked}
        self.fields["steps"] = self.turns.steps or self._no_steps()
        try:
            return Trajectory.model_validate(self.fields)
        except ValidationError as error:
            raise RowError(explain_validation(error, Trajectory)) from None
        except UnicodeEncodeError:
            raise RowError("a text of the row holds half of a surrogate pair") from None

    def _no_steps(self) -> list[Fields]:
        if "status" not in self.fields:
            raise RowError("the row holds no turn of the policy, and does not say how it ended")
        return [] if self.fields["status"] == "broken" else [{"text": ""}]


class ForeignReader(Reader):
    """Reads the rows of another project's format; what our records lack goes into metadata.

    Fields that every column reader knows (``reference``, ``checks``, ``id``, ...) can be filled
    with ``--map`` from any place in the row.
    """

    format: ClassVar[str]

    @abstractmethod
    def _read(self, row: Node, draft: Draft) -> None:
        """Take out of ``row`` what the draft can hold."""

    def rows(self, path: Path) -> Iterator[RawRow]:
        """Yield the rows of a file: JSON lines, a JSON array, JSON documents, or Parquet."""
        return cut_documents(path)

    def check(self, options: ReadOptions) -> None:
        """Refuse a mapping of fields that no row has."""
        columns_of(tuple(options.mapping.items()), self.format, ())

    def parse(self, row: RawRow, options: ReadOptions) -> Trajectory:
        """Return the trajectory in ``row``."""
        fields = read_object(row)
        mapped: Fields = {}
        if options.mapping:
            columns = columns_of(tuple(options.mapping.items()), self.format, ())
            applied = columns.apply(fields)
            mapped = {name: applied[name] for name, _, _ in columns.pairs}
        draft = Draft(options.facts)
        self._read(Node(fields), draft)
        return draft.finish(left_of(fields), mapped, f"{options.source}:{row.number}")

"""Reader and Writer: a file format in, a file format out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from rewardhub.errors import RowError
from rewardhub.records import Trajectory
from rewardhub.text import DEFAULT_FACTS, TemplateFacts


# A tuple and not a dataclass: it is made for each row and crosses to another process, and a tuple
# takes half the time for the one and a third for the other.
class RawRow(NamedTuple):
    """One row as it stands in the file: where, and its bytes (JSON unless the format says other).

    Attributes:
        number: line or row number, from 1.
        data: the bytes of the row.
        error: why the row cannot even be cut out of the file (over the length limit), or None.
    """

    number: int
    data: bytes
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How rows become trajectories.

    Attributes:
        mapping: field of ours -> column of the file, from ``--map reference=ground_truth``.
        source: name of the file, the first half of default ids (``answers.jsonl:17``).
        facts: what template and tokenizer added to the texts, for `rewardhub.text.normalise`.
    """

    mapping: Mapping[str, str] = field(default_factory=dict[str, str])
    source: str = ""
    facts: TemplateFacts = DEFAULT_FACTS


class Reader(ABC):
    """Cuts a file into rows, and makes each row a Trajectory.

    Cutting is cheap and happens in one place; parsing may happen in many processes, so a reader
    holds no state between rows.
    """

    @abstractmethod
    def rows(self, path: Path) -> Iterator[RawRow]:
        """Yield the rows of ``path`` in order, in constant memory; bad ones with their error.

        Raises:
            UsageError: if the file is missing, or nothing of it can be read.
        """

    @abstractmethod
    def parse(self, row: RawRow, options: ReadOptions) -> Trajectory:
        """Return the trajectory in ``row``.

        Raises:
            RowError: if it holds none: what is wrong, in one sentence, without file and line.
        """

    def check(self, options: ReadOptions) -> None:  # noqa: B027  # nothing to refuse by default
        """Refuse ``options`` that this reader cannot follow; called before the first row.

        Raises:
            UsageError: for a mapped field that the format does not have.
        """

    def read(self, path: Path, options: ReadOptions) -> Iterator[Trajectory | RowError]:
        """Yield the trajectories of ``path``, and an error for each row that is none."""
        self.check(options)
        for row in self.rows(path):
            try:
                yield self.parse(row, options)
            except RowError as error:
                yield error


class Writer(ABC):
    """Makes another format of a finished ledger."""

    @abstractmethod
    def write(self, rows: Iterable[Mapping[str, Any]], stream: BinaryIO) -> None:
        """Write ``rows`` (ledger rows as JSON values, in order) to ``stream``."""

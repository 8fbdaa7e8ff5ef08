"""Solutions whose steps someone labelled: files of several shapes in, one record out."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewardhub import RowError, UnknownNameError, UsageError

__all__ = ["LabelledRow", "digest_of_problem", "of_splits", "read_labelled"]

RIGHT = 0.5
"""A step is right where its label is at least this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledRow:
    """A solution in steps, with what is known of each.

    Attributes:
        id: names the row; unique among the rows that are read together.
        problem: the text of the question.
        steps: the steps of the solution, at least one.
        labels: for each step how right it is, in [0, 1]; None: nobody said. Where only the first
            wrong step is known, the steps after it have None.
        first_error: index of the first wrong step; None: no step is wrong.
        final_answer_correct: whether the final answer is right; None: nobody said.
        split: the part of the data that the row belongs to.
    """

    id: str
    problem: str
    steps: tuple[str, ...]
    labels: tuple[float | None, ...]
    final_answer_correct: bool | None = None
    split: str = ""

    def __post_init__(self) -> None:
        if not self.steps:
            raise RowError("there are no steps")
        if len(self.labels) != len(self.steps):
            raise RowError(f"there are {len(self.steps)} steps and {len(self.labels)} labels")
        for label in self.labels:
            if label is not None and not 0.0 <= label <= 1.0:
                raise RowError(f"a label lies in [0, 1], and {label} does not")

    @property
    def first_error(self) -> int | None:
        """Index of the first step that is labelled wrong; None: none is."""
        wrong = (at for at, label in enumerate(self.labels) if label is not None and label < RIGHT)
        return next(wrong, None)

    @property
    def has_verdict(self) -> bool:
        """Whether the first wrong step is known: each step up to it, or each step, is labelled."""
        error = self.first_error
        end = len(self.labels) if error is None else error
        return all(label is not None for label in self.labels[:end])

    def up_to_error(self) -> LabelledRow:
        """Return the row with no labels after its first wrong step."""
        error = self.first_error
        if error is None:
            return self
        rest = (None,) * (len(self.labels) - error - 1)
        return replace(self, labels=(*self.labels[: error + 1], *rest))


def labels_of_first_error(error: int | None, steps: int) -> tuple[float | None, ...]:
    """Return the labels of ``steps`` steps of which all that is known is the first wrong one.

    Raises:
        RowError: where there is no such step.
    """
    if error is None:
        return (1.0,) * steps
    if not 0 <= error < steps:
        raise RowError(f"the first wrong step is number {error} from 0, of {steps} steps")
    return (*(1.0,) * error, 0.0, *(None,) * (steps - error - 1))


def read_labelled(paths: Sequence[Path]) -> tuple[LabelledRow, ...]:
    """Return the labelled rows of JSONL files (``.gz`` too), each found by its shape.

    Rows that say of themselves that they can't be used (a bad problem, a labeller who gave up)
    are left out. A row without an id is called after its file and line.

    Raises:
        UsageError: for a file that is missing or empty, a row that is no JSON, of no known shape or
            impossible, or two rows with one id.
    """
    rows: list[LabelledRow] = []
    for path in paths:
        found = list(_rows_of(path))
        if not found:
            raise UsageError(f"`{path}` has no labelled rows.")
        rows += found
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            raise UsageError(f"Two labelled rows are called `{row.id}`: give each its own id.")
        seen.add(row.id)
    return tuple(rows)


def of_splits(rows: Sequence[LabelledRow], splits: Sequence[str]) -> tuple[LabelledRow, ...]:
    """Return the rows of these splits; of all where none is named.

    Raises:
        UnknownNameError: for a split that no row has.
    """
    known = {row.split for row in rows}
    for split in splits:
        if split not in known:
            raise UnknownNameError("split", split, known)
    return tuple(row for row in rows if not splits or row.split in splits)


def _rows_of(path: Path) -> Iterator[LabelledRow]:
    from rewardhub_prm.labelled_shapes import labelled_row

    stem = path.name.split(".")[0]
    for line, text in enumerate(_lines(path), start=1):
        if not text.strip():
            continue
        try:
            row = labelled_row(_json(text), name=f"{stem}:{line}", split=stem)
        except RowError as error:
            raise UsageError(f"{path}:{line}: {error}.") from None
        if row is not None:
            yield row


def _lines(path: Path) -> Iterator[str]:
    if not path.is_file():
        raise UsageError(f"`{path}` {'is no file' if path.exists() else 'does not exist'}.")
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise UsageError(f"`{path}` cannot be read: {error}.") from None
    yield from text.split("\n")


def _json(text: str) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except ValueError as error:
        raise RowError(f"this is no JSON: {error}") from None
    if not isinstance(row, dict):
        raise RowError("a row is a JSON object")
    return row


def plain(problem: str) -> str:
    """Return the letters and digits of ``problem``, small, with one blank between words."""
    text = unicodedata.normalize("NFKC", problem).casefold()
    return " ".join("".join(c if c.isalnum() else " " for c in text).split())


def digest_of_problem(problem: str) -> str:
    """Return what names a problem: equal where only case, spaces and signs differ.

    In a problem without letters, as ``(2 + 2) * 3 =``, signs count.
    """
    signs = "".join(problem.split()) if not any(c.isalpha() for c in problem) else plain(problem)
    return short_digest(signs)


def short_digest(text: str) -> str:
    """Return the digest of ``text`` as 16 hexadecimal digits (BLAKE2b, RFC 7693)."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def number_of(value: Any) -> float:
    """Return a label as a number in [0, 1]: a bool, a number, ``+`` or ``-``.

    Raises:
        RowError: for anything else.
    """
    if value in ("+", "-"):
        return float(value == "+")
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return float(value)
    raise RowError(f"a label is a number in [0, 1], true, false, `+` or `-`, not {value!r}")

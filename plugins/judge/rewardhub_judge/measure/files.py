"""Files of recorded decisions and of labels."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rewardhub import UsageError
from rewardhub_judge.measure.foreign import FORMATS, Format
from rewardhub_judge.measure.rows import PairRow, ScoreRow

__all__ = ["Recorded", "objects_in", "read_recorded"]

NEUTRAL = (
    "a pair (`id`, `labels`, `decisions`, `lengths`) or a scored answer (`id`, `labels`, `votes`, "
    "`length`)"
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a file holds.

    Attributes:
        format: its name: `neutral`, or the benchmark's.
        pairs: compared pairs, or none.
        scores: scored answers, or none; one of the two is empty.
    """

    format: str
    pairs: tuple[PairRow, ...] = ()
    scores: tuple[ScoreRow, ...] = ()

    @property
    def rows(self) -> Sequence[PairRow | ScoreRow]:
        """Whichever there are."""
        return self.pairs or self.scores


def read_recorded(path: Path, columns: Mapping[str, str]) -> Recorded:
    """Return the decisions recorded in a file.

    Args:
        path: JSON Lines, also gzipped, in the neutral format or in one of `FORMATS`.
        columns: field of the neutral format -> the file's own name of it.

    Raises:
        UsageError: for the first mistake, with its line.
    """
    rows: list[PairRow | ScoreRow] = []
    lines: dict[str, int] = {}
    kind: Format | None = None
    for number, found in objects_in(path):
        renamed = _renamed(found, columns)
        if not rows:
            kind = _format_of(renamed)
        row = _row(path, number, renamed, kind)
        before = lines.setdefault(row.id, number)
        if before != number:
            raise UsageError(
                f"{path}: lines {before} and {number} are both called `{row.id}`. Each row has an "
                "id of its own; repeats of one question go into one row."
            )
        if rows and type(row) is not type(rows[0]):
            raise UsageError(
                f"{path}, line {number}: pairs and scored answers stand in one file. Make two."
            )
        rows.append(row)
    if not rows:
        raise UsageError(f"{path} holds no rows. A row is {NEUTRAL}.")
    recorded = Recorded(
        format=kind.name if kind else "neutral",
        pairs=tuple(row for row in rows if isinstance(row, PairRow)),
        scores=tuple(row for row in rows if isinstance(row, ScoreRow)),
    )
    _check_values(path, recorded.scores)
    return recorded


def objects_in(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield line number and object of each line of a JSON Lines file, gzipped or not.

    Raises:
        UsageError: if it cannot be read, or a line is no JSON object.
    """
    from pydantic_core import from_json

    for number, line in enumerate(_data(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = from_json(line, allow_inf_nan=True)
        except ValueError as error:
            raise UsageError(f"{path}, line {number}: {error}.") from None
        if not isinstance(found, dict):
            raise UsageError(f"{path}, line {number}: it is no JSON object.")
        yield number, found


def _data(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except (OSError, EOFError, zlib.error) as error:
        told = getattr(error, "strerror", None) or error
        raise UsageError(f"{path} cannot be read: {told}.") from None


def _renamed(row: Mapping[str, Any], columns: Mapping[str, str]) -> Mapping[str, Any]:
    taken = {column: field for field, column in columns.items()}
    return {taken.get(key, key): value for key, value in row.items()} if taken else row


def _format_of(row: Mapping[str, Any]) -> Format | None:
    """Return the foreign format of a row; None for the neutral one."""
    return next((each for each in FORMATS if each.keys <= row.keys()), None)


def _row(
    path: Path, number: int, row: Mapping[str, Any], kind: Format | None
) -> PairRow | ScoreRow:
    try:
        if kind is not None:
            return kind.read(row)
        if "decisions" in row:
            return PairRow.model_validate_json(_json(row))
        if "votes" in row:
            return ScoreRow.model_validate_json(_json(row))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{path}, line {number}: `{place}`: {first['msg']}.") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        name = kind.name if kind else "neutral"
        raise UsageError(
            f"{path}, line {number}: it is no row of {name}, as the first line is "
            f"({type(error).__name__}: {error})."
        ) from None
    raise UsageError(
        f"{path}, line {number}: it has the keys {', '.join(sorted(row))}. A row is {NEUTRAL}; "
        "`--map FIELD=COLUMN` says which column holds a field."
    )


def _json(row: Mapping[str, Any]) -> bytes:
    # Lists become tuples only where JSON is validated; NaN stays NaN, to be refused by its place.
    from pydantic_core import to_json

    return to_json(dict(row), inf_nan_mode="constants")


def _check_values(path: Path, rows: Sequence[ScoreRow]) -> None:
    """Refuse numbers beside words: they are on no common scale."""
    kinds: dict[bool, str] = {}
    for row in rows:
        for value in (*row.labels, *(vote for votes in row.votes.values() for vote in votes)):
            if value is not None:
                kinds.setdefault(isinstance(value, str), f"`{value}` (row `{row.id}`)")
    if len(kinds) > 1:
        raise UsageError(
            f"{path}: {kinds[False]} is a number and {kinds[True]} a word. Labels and votes are all"
            " numbers, or all words of one menu."
        )

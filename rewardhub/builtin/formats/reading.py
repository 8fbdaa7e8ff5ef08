"""The trajectories of a file, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from rewardhub.builtin.formats.recognise import reader_for
from rewardhub.contracts import ReadOptions
from rewardhub.errors import RowError
from rewardhub.host import Registry, discover
from rewardhub.records import EMPTY, Trajectory


def read_trajectories(
    path: Path,
    *,
    registry: Registry | None = None,
    reader: str | None = None,
    mapping: Mapping[str, str] = EMPTY,
    strict: bool = True,
) -> Iterator[Trajectory]:
    """Yield the trajectories of a file in constant memory, as `rewardhub score` reads them.

    Args:
        path: a file of any format that a reader recognises.
        registry: who can read; the default is all that is installed.
        reader: the name of a reader, where the file does not tell.
        mapping: field of ours -> column, as ``{"reference": "ground_truth"}``.
        strict: whether a row that is no trajectory ends the reading; else it is left out.

    Raises:
        UsageError: if there is no such file, or nothing can read it.
        RowError: for a row that is no trajectory, with file and row, if ``strict``.
    """
    known = discover() if registry is None else registry
    by = reader_for(path, known, named=reader, mapping=mapping).card.reader()
    options = ReadOptions(mapping=mapping, source=path.name)
    by.check(options)
    for row in by.rows(path):
        try:
            yield by.parse(row, options)
        except RowError as error:
            if strict:
                raise RowError(f"{path}, row {row.number}: {error}") from None

"""Finding one row of a run: its line in the ledger, and the trajectory in the input."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rewardhub.engine.folder import FAILURES
from rewardhub.engine.index import head_of
from rewardhub.engine.rows import row_digest
from rewardhub.errors import RewardhubError, RowError, UsageError, did_you_mean
from rewardhub.records import Trajectory, dump_json
from rewardhub.report.scored import ScoredRun

_SUGGESTED_FROM = 20_000
"""How many ids of a ledger are compared with one that is not in it."""


def find_line(run: ScoredRun, name: str) -> bytes:
    """Return the ledger's line for a trajectory, reading line by line.

    Args:
        run: the run.
        name: its id, or its place (``answers.jsonl:17``).

    Raises:
        UsageError: if there is none, with the close ids.
    """
    id_needle = b'"id":' + dump_json(name)
    places = _places(run, name)
    place_needles = [b'"source":%d,"row":%d,' % place for place in places]
    there = b""
    with run.ledger.open("rb") as lines:
        for line in lines:
            if id_needle in line and _is_whole(line) and head_of(line)["id"] == name:
                return line
            if any(needle in line for needle in place_needles) and _is_whole(line):
                head = head_of(line)
                if (head["source"], head["row"]) in places:
                    there = line
    if there:
        return there
    raise UsageError(_not_found(run, name, places))


def _is_whole(line: bytes) -> bool:
    return line.endswith(b"\n")


def _places(run: ScoredRun, name: str) -> list[tuple[int, int]]:
    file, _, row = name.rpartition(":")
    if not file or not row.isdecimal():
        return []
    paths = [run.input(source) for source in range(len(run.described["inputs"]))]
    wanted = Path(file)
    return [
        (source, int(row))
        for source, path in enumerate(paths)
        if path in {wanted, wanted.resolve()} or path.name == file
    ]


def _not_found(run: ScoredRun, name: str, places: list[tuple[int, int]]) -> str:
    failures = run.path / FAILURES
    wanted = {(run.input(source).name, row) for source, row in places}
    if wanted and failures.is_file():
        with failures.open("rb") as bad_rows:
            for line in filter(_is_whole, bad_rows):
                failure: dict[str, Any] = json.loads(line)
                if (Path(failure["source"]).name, failure["row"]) in wanted:
                    return f"`{name}` is no trajectory: {failure['error']}"
    with run.ledger.open("rb") as lines:
        heads = (head_of(line) for line in lines if _is_whole(line))
        ids = [head["id"] for head in itertools.islice(heads, _SUGGESTED_FROM)]
    example = f" An id is, for example, `{ids[0]}`." if ids else " Its ledger is empty."
    return f"`{run.path}` has no trajectory `{name}`.{did_you_mean(name, ids) or example}"


def trajectory_at(run: ScoredRun, line: Mapping[str, Any]) -> Trajectory | str:
    """Return the trajectory behind a ledger line, or why it cannot be read any more."""
    path = run.input(line["source"])
    if not path.is_file():
        return f"`{path}` is gone"
    try:
        reader, options = run.reading(line["source"])
        row = next((row for row in reader.rows(path) if row.number == line["row"]), None)
        if row is None or row_digest(row.data) != line["digest"]:
            return f"`{path}` has changed since"
        return reader.parse(row, options)
    except RowError as error:
        return f"row {line['row']} of `{path}` cannot be read: {error}"
    except RewardhubError as error:
        return str(error)

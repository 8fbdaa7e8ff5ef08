"""Finding one row of a run: its line in the ledger, and the trajectory in the input."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardhub.contracts import ReadOptions
from rewardhub.engine.folder import FAILURES, LEDGER, read_run
from rewardhub.engine.index import head_of
from rewardhub.engine.rows import row_digest
from rewardhub.errors import RewardhubError, RowError, UsageError, did_you_mean
from rewardhub.host import ReaderCard, Registry
from rewardhub.records import Trajectory, dump_json
from rewardhub.text import DEFAULT_FACTS, TemplateFacts

_SUGGESTED_FROM = 20_000
"""How many ids of a ledger are compared with one that is not in it."""


@dataclass(frozen=True)
class RunFiles:
    """A run folder that is only read.

    Attributes:
        path: the folder.
        described: what its run.json says.
    """

    path: Path
    described: Mapping[str, Any]

    @property
    def ledger(self) -> Path:
        """The ledger's path."""
        return self.path / LEDGER

    def input(self, source: int) -> Path:
        """Return the path of an input, by its number."""
        return Path(self.described["inputs"][source]["path"])

    def named(self, source: int) -> str:
        """Return the name of an input, as default ids have it: the shortest that is unique."""
        paths = [Path(each["path"]) for each in self.described["inputs"]]
        same = [path.name for path in paths].count(paths[source].name)
        return paths[source].name if same == 1 else str(paths[source])


def open_run(path: Path) -> RunFiles:
    """Return the run in a folder.

    Raises:
        UsageError: if it is no run folder.
        LedgerError: if its run.json is damaged.
    """
    described = read_run(path)
    if described is None or not (path / LEDGER).is_file():
        what = "is no run folder" if path.is_dir() else "does not exist"
        raise UsageError(f"`{path}` {what}: name the one that `rewardhub score` tells.")
    return RunFiles(path, described)


def find_line(run: RunFiles, name: str) -> bytes:
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


def _places(run: RunFiles, name: str) -> list[tuple[int, int]]:
    file, _, row = name.rpartition(":")
    if not file or not row.isdecimal():
        return []
    paths = [Path(each["path"]) for each in run.described["inputs"]]
    wanted = Path(file)
    return [
        (source, int(row))
        for source, path in enumerate(paths)
        if path in {wanted, wanted.resolve()} or path.name == file
    ]


def _not_found(run: RunFiles, name: str, places: list[tuple[int, int]]) -> str:
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


def trajectory_at(run: RunFiles, line: Mapping[str, Any], registry: Registry) -> Trajectory | str:
    """Return the trajectory behind a ledger line, or why it cannot be read any more."""
    each = run.described["inputs"][line["source"]]
    path = Path(each["path"])
    if not path.is_file():
        return f"`{path}` is gone"
    try:
        reader = registry.get(ReaderCard, each["reader"]).card.reader()
        rows = reader.rows(path)
        row = next((row for row in rows if row.number == line["row"]), None)
        if row is None or row_digest(row.data) != line["digest"]:
            return f"`{path}` has changed since"
        facts = run.described.get("facts")
        options = ReadOptions(
            mapping=run.described["mapping"],
            source=run.named(line["source"]),
            facts=TemplateFacts(**facts) if facts else DEFAULT_FACTS,
        )
        return reader.parse(row, options)
    except RowError as error:
        return f"row {line['row']} of `{path}` cannot be read: {error}"
    except RewardhubError as error:
        return str(error)

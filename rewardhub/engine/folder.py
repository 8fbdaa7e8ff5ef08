"""The run folder: the ledger, what could not be read, and all that is needed to run again.

```text
run.json          the spec as resolved, versions, inputs, options
rewards.jsonl     the ledger: one line per trajectory, appended in order
failures.jsonl    rows that were no trajectories, with file, row and reason
summary.json      counts, once the run is complete
previous.jsonl    the ledger before the reward file changed; its Scores are used where they hold
```
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from rewardhub.engine.graders import specs_of
from rewardhub.errors import LedgerError
from rewardhub.records import SCHEMA_VERSION, digest_of, dump_json
from rewardhub.spec.model import RewardSpec

LEDGER = "rewards.jsonl"
FAILURES = "failures.jsonl"
PREVIOUS = "previous.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One input file: its path, and the name of the reader that reads it."""

    path: Path
    reader: str

    def to_json(self) -> dict[str, Any]:
        """Return what tells whether the file is still the same."""
        stat = self.path.stat()
        return {
            "path": str(self.path.resolve()),
            "reader": self.reader,
            "size": stat.st_size,
            "modified": stat.st_mtime,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run is to do; equal plans continue each other.

    Attributes:
        reward: the resolved reward file.
        inputs: the files, in order.
        mapping: field -> column, for the readers.
        facts: template facts for the readers, or None.
    """

    reward: RewardSpec
    inputs: tuple[Input, ...]
    mapping: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Any] | None = None

    def name_of(self, source: int) -> str:
        """Return what rows of an input are named by: its file's name, or path if two are equal."""
        path = self.inputs[source].path
        names = [each.path.name for each in self.inputs]
        return path.name if names.count(path.name) == 1 else str(path)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as it stands in ``run.json``."""
        return {
            "schema_version": SCHEMA_VERSION,
            "spec": dict(self.reward.raw),
            "digest": self.reward.digest,
            "parts": parts_of(self.reward),
            "inputs": [each.to_json() for each in self.inputs],
            "mapping": dict(self.mapping),
            "facts": dict(self.facts) if self.facts else None,
            "environment": environment(),
        }


def parts_of(reward: RewardSpec) -> dict[str, dict[str, str]]:
    """Return spec digest -> part id -> identity of its grader and options."""
    return {
        spec.digest: {entry.id: entry.identity for entry in spec.entries}
        for spec in specs_of(reward)
    }


def environment() -> dict[str, str]:
    """Return the versions that a run depends on."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version(), "platform": sys.platform}
    for name in ("rewardhub-core", "pydantic", "pluggy"):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


class RunFolder:
    """One run folder, held by one process at a time.

    Raises:
        LedgerError: if another process holds it, or if it is no run folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(path / "run.lock")

    def close(self) -> None:
        """Let another process have the folder."""
        self._lock.close()

    @property
    def ledger(self) -> Path:
        """The ledger's path."""
        return self.path / LEDGER

    def read(self) -> dict[str, Any] | None:
        """Return what ``run.json`` says, or None for a new folder."""
        return read_run(self.path)

    def begin(self, plan: Plan) -> None:
        """Write ``run.json``; a ledger of another plan becomes the previous one."""
        described = plan.to_json()
        before = self.read()
        if before is None and self.ledger.exists():
            raise LedgerError(f"`{self.path}` has a ledger and no run.json: it is no run folder.")
        if before is not None and not _same(before, described):
            self.set_aside()
        write_whole(self.path / "run.json", json.dumps(described, indent=1).encode())

    def finished(self, plan: Plan) -> dict[str, Any] | None:
        """Return the summary of a complete run of this very plan, or None."""
        before = self.read()
        same = before is not None and _same(before, plan.to_json())
        return self.summary() if same else None

    def set_aside(self) -> None:
        """Make the ledger the previous one, whose Scores are used where they hold."""
        before = self.read()
        if before is not None and self.ledger.exists() and self.ledger.stat().st_size:
            cut_torn_line(self.ledger)
            earlier = self.previous()
            if earlier is not None and self.summary() is None and _same_rows(earlier[1], before):
                # That run was not complete, so the one before it knows rows that it does not.
                _append(self.ledger, earlier[0])
                before = {**before, "parts": {**earlier[1]["parts"], **before["parts"]}}
            else:
                self.ledger.replace(self.path / PREVIOUS)
            write_whole(self.path / "previous.json", json.dumps(before).encode())
        for name in ("summary.json", LEDGER):
            (self.path / name).unlink(missing_ok=True)

    def previous(self) -> tuple[Path, dict[str, Any]] | None:
        """Return the previous ledger and its ``run.json``, or None."""
        ledger, described = self.path / PREVIOUS, self.path / "previous.json"
        if not ledger.exists() or not described.exists():
            return None
        return ledger, json.loads(described.read_bytes())

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Note that the run is complete."""
        write_whole(self.path / "summary.json", json.dumps(summary, indent=1).encode())

    def summary(self) -> dict[str, Any] | None:
        """Return the summary of a complete run, or None."""
        try:
            found: dict[str, Any] = json.loads((self.path / "summary.json").read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return found


def read_run(path: Path) -> dict[str, Any] | None:
    """Return what the ``run.json`` of a folder says, or None if there is none.

    Raises:
        LedgerError: if it is damaged.
    """
    try:
        found: dict[str, Any] = json.loads((path / "run.json").read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        raise LedgerError(
            f"`{path / 'run.json'}` is damaged. Name another folder with `--run`."
        ) from None
    return found


def _same(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    keys = ("digest", "parts", "inputs", "mapping", "facts")
    return digest_of([before.get(key) for key in keys]) == digest_of([now[key] for key in keys])


def _same_rows(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether two runs number the same rows alike, and read them alike."""
    places = [[(each["path"], each["reader"]) for each in run["inputs"]] for run in (before, now)]
    ways = [(run["mapping"], run["facts"]) for run in (before, now)]
    return places[0] == places[1] and ways[0] == ways[1]


def _append(ledger: Path, to: Path) -> None:
    cut_torn_line(to)
    with ledger.open("rb") as source, to.open("ab") as target:
        shutil.copyfileobj(source, target)


def cut_torn_line(path: Path) -> int:
    """Cut what follows the last line end of ``path``; return how many bytes that were."""
    size = path.stat().st_size
    with path.open("rb+") as file:
        end = size
        while end:
            start = max(0, end - 65536)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end < size:
            file.truncate(end)
    return size - end


def ledger_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a ledger as JSON values; a torn last line is left out."""
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield json.loads(line)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there as a whole or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_bytes(data)
    part.replace(path)


def failure_line(source: str, row: int, error: str) -> bytes:
    """Return one line of ``failures.jsonl``."""
    return dump_json({"source": source, "row": row, "error": error}) + b"\n"


def _lock(path: Path) -> IO[bytes]:
    file = path.open("ab")
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise LedgerError(
            f"Another process is writing to `{path.parent}`. Wait for it, or name another folder "
            "with `--run`."
        ) from None
    return file

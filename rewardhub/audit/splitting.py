"""Holding tasks out: which are trained on and which are not, so that nothing leaks."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rewardhub.audit.near_duplicates import NumberRule, cluster
from rewardhub.errors import UsageError
from rewardhub.records import EMPTY, Task, digest_of, dump_json

Side = Literal["train", "held-out"]
SIDES: tuple[Side, Side] = ("train", "held-out")

REPORT = "split.json"
LISTED = 50
"""How many near-duplicate clusters a report lists, the largest first."""

_TRAINED = frozenset({"train", "training"})
_SAID_TO_ALL = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitSettings:
    """How tasks are split.

    Attributes:
        held_out: the share that is held out, in (0, 1).
        threshold: how alike two tasks are at least to be kept together, in [0.5, 1].
        numbers: ``keep``: another number is another word; ``mask``: all numbers are one word.
        keep: whether a task that has a split already keeps it.
    """

    held_out: float = 0.1
    threshold: float = 0.6
    numbers: NumberRule = "keep"
    keep: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.held_out < 1:
            raise UsageError(
                f"`--held-out {self.held_out:g}`: the share that is held out lies between 0 and 1, "
                "as 0.1. To train on all tasks, or on none, needs no split."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """Tasks with their sides.

    Attributes:
        tasks: in their order, with `Task.split` set to ``train`` or ``held-out``.
        clusters: of near-duplicates, the largest first: the ids of each, two or more.
        repeated: how many rows repeated a task that was there before; they are left out.
        moved: ids of tasks that had another split before.
        crowded: how many tasks stand in a crowd of half-alike ones: see `near_duplicates`.
        settings: what it was made by.
    """

    tasks: Sequence[Task]
    clusters: Sequence[Sequence[str]]
    repeated: int
    moved: Sequence[str]
    crowded: int
    settings: SplitSettings

    @property
    def counts(self) -> dict[Side, int]:
        """How many tasks there are on each side."""
        found = Counter(task.split for task in self.tasks)
        return {side: found[side] for side in SIDES}

    @property
    def share(self) -> float:
        """The share that is held out in fact."""
        return self.counts["held-out"] / len(self.tasks)

    @property
    def domains(self) -> dict[str, dict[Side, int]]:
        """The same counts by domain, sorted."""
        found = Counter((task.domain, task.split) for task in self.tasks)
        names = sorted({task.domain for task in self.tasks})
        return {name: {side: found[name, side] for side in SIDES} for name in names}

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON."""
        sides = {task.id: task.split for task in self.tasks}
        return {
            "tasks": len(self.tasks),
            **{str(side): count for side, count in self.counts.items()},
            "asked": self.settings.held_out,
            "share": self.share,
            "threshold": self.settings.threshold,
            "numbers": self.settings.numbers,
            "domains": self.domains,
            "repeated": self.repeated,
            "moved": list(self.moved),
            "crowded": self.crowded,
            "clusters": len(self.clusters),
            "clustered": sum(map(len, self.clusters)),
            "largest": [
                {"split": sides[ids[0]], "size": len(ids), "tasks": list(ids[:LISTED])}
                for ids in self.clusters[:LISTED]
            ],
        }


def split_tasks(tasks: Iterable[Task], settings: SplitSettings) -> Division:
    """Return each task once, with the side that it is on.

    Tasks that are nearly the same stand on one side, and so does whatever is connected with them.
    The side of such a cluster hangs on the digest of its tasks' contents (messages, files and
    reference, without case and white space) and the share alone: neither on the order of the
    tasks, nor on ids, nor on the other tasks. So further tasks move an old one only where they join
    its cluster; with ``keep`` not even then, unless the cluster was on both sides: all of it is
    then trained on, for a part of it may have been.

    All tasks are in memory at once.

    Raises:
        UsageError: if there is no task, two tasks of one id differ, or one side has none.
    """
    each, repeated = _once(tasks)
    if not each:
        raise UsageError("There is no task to split.")
    clusters = cluster(map(text_of, each), threshold=settings.threshold, numbers=settings.numbers)
    members: dict[int, list[Task]] = {}
    for task, first in zip(each, clusters.of, strict=True):
        members.setdefault(first, []).append(task)
    sides = {first: _side_of(found, settings) for first, found in members.items()}
    placed = [
        task.replace(split=sides[first]) for task, first in zip(each, clusters.of, strict=True)
    ]
    sizable = sorted((found for found in members.values() if len(found) > 1), key=len, reverse=True)
    made = Division(
        tasks=placed,
        clusters=[[task.id for task in found] for found in sizable],
        repeated=repeated,
        moved=[
            old.id
            for old, new in zip(each, placed, strict=True)
            if old.split and _known_side(old) != new.split
        ],
        crowded=clusters.crowded,
        settings=settings,
    )
    _refuse_an_empty_side(made, len(members))
    return made


def text_of(task: Task) -> str:
    """Return what makes a task another one: what was said in it, and its files.

    What the system says is left out where anybody else speaks: it is the same for many tasks.
    """
    spoken = [message for message in task.messages if message.role not in _SAID_TO_ALL]
    texts = [message.text for message in spoken or task.messages]
    files = (f"{path}\n{text}" for path, text in sorted(task.files.items()))
    found = "\n".join((*texts, *files))
    return found if found.strip() else task.id


def content_of(task: Task) -> str:
    """Return the digest of a task's messages, files and reference, without case and space."""
    said = [[message.role, _normal(message.text)] for message in task.messages]
    files = {path: _normal(text) for path, text in task.files.items()}
    reference = task.reference
    wanted = _normal(reference) if isinstance(reference, str) else reference
    return digest_of([said, files, wanted])


def write_split(division: Division, folder: Path) -> tuple[Path, ...]:
    """Write ``train.jsonl``, ``held-out.jsonl`` and the report; return the paths.

    Each file is written whole before it takes the place of an older one.

    Raises:
        UsageError: if the folder's place is taken by a file.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"`{folder}` is a file: name a folder with `--out DIR`.")
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for side in SIDES:
        rows = (task.to_json() for task in division.tasks if task.split == side)
        written.append(_write(folder / f"{side}.jsonl", rows))
    return (*written, _write(folder / REPORT, [dump_json(division.to_json())]))


def _write(path: Path, rows: Iterable[bytes]) -> Path:
    half = path.with_name(f".{path.name}.part")
    with half.open("wb") as file:
        file.writelines(row + b"\n" for row in rows)
    half.replace(path)
    return path


def _once(tasks: Iterable[Task]) -> tuple[list[Task], int]:
    """Return each task once, and how many repeated another.

    Raises:
        UsageError: if two tasks share an id and differ in more than split and metadata.
    """
    found: dict[str, tuple[Task, str]] = {}
    repeated = 0
    for number, task in enumerate(tasks, 1):
        content = task.replace(split=None, metadata=EMPTY).digest
        if task.id not in found:
            found[task.id] = (task, content)
        elif found[task.id][1] == content:
            repeated += 1
        else:
            raise UsageError(
                f"Two tasks are called `{task.id}` and differ (the later one is task {number}). "
                "Give each its own id: results are found by it."
            )
    return [task for task, _ in found.values()], repeated


def _side_of(members: Sequence[Task], settings: SplitSettings) -> Side:
    if settings.keep:
        known = {_known_side(task) for task in members if task.split}
        if known:
            return "train" if "train" in known else "held-out"
    lowest = min(content_of(task) for task in members)
    place = int(digest_of(["held-out", lowest])[:13], 16) / 16**13
    return "held-out" if place < settings.held_out else "train"


def _known_side(task: Task) -> Side:
    return "train" if task.split in _TRAINED else "held-out"


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _refuse_an_empty_side(made: Division, clusters: int) -> None:
    empty = next((side for side in SIDES if not made.counts[side]), None)
    if empty is None:
        return
    tasks = len(made.tasks)
    largest = max(map(len, made.clusters), default=1)
    if largest > tasks / 2:
        advice = (
            f"{largest} of {tasks} tasks are one cluster of near-duplicates, which stays together. "
            "Raise `--threshold`, or keep numbers apart with `--numbers keep`, if these tasks are "
            "different ones."
        )
    else:
        advice = (
            f"There are {clusters} clusters of near-duplicates to choose from: add tasks, or "
            "another share."
        )
    raise UsageError(f"No task would be on the side `{empty}`. {advice}")

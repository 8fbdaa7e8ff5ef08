"""Run folders as decisions: what the parts of a reward gave, against labels in a file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rewardhub import UnknownNameError, UsageError
from rewardhub_judge.measure.files import Recorded, objects_in
from rewardhub_judge.measure.foreign import preferred
from rewardhub_judge.measure.rows import Choice, Decisions, PairRow, ScoreRow, Value

__all__ = ["LEDGER", "read_labels", "read_run"]

LEDGER = "rewards.jsonl"
WHOLE = "reward"
"""What the reward itself is called among the parts."""

_CHOICES: Mapping[Any, Choice] = {"first": "first", "second": "second", "tie": "tie"}
_BECAME: Mapping[Any, Choice] = {"won": "first", "lost": "second", "tied": "tie"}

Row = Mapping[str, Any]
Labels = Mapping[str, tuple[Value, ...]]


def read_run(
    folder: Path, labels: Path, columns: Mapping[str, str], parts: Sequence[str]
) -> Recorded:
    """Return what parts of a reward gave to the rows of a run, with the labels of a file.

    Labels that are ``first``, ``second`` and ``tie`` belong to groups of two, in the order in which
    they were read, and make pairs; others belong to trajectories. A part that abstained or failed
    gave no verdict; one that was skipped was not asked.

    Args:
        folder: a run folder.
        labels: JSON Lines with ``id`` and ``label`` or ``labels``; more columns do not matter.
        columns: ``id``, ``label`` or ``labels`` -> the file's own name of it.
        parts: ids of parts, or ``reward``; none: the parts whose graders are this pack's.

    Raises:
        UsageError: if one of the two cannot be read, or they do not go together.
    """
    rows = _ledger(folder)
    told = read_labels(labels, columns)
    measured = _parts(rows, parts)
    of_groups = set().union(*told.values()) <= _CHOICES.keys()
    by_name = _groups(rows) if of_groups else {row["id"]: [row] for row in rows}
    kind = "group" if of_groups else "trajectory"
    unknown = [name for name in told if name not in by_name]
    if unknown:
        raise UnknownNameError(
            f"{kind} of the run", unknown[0], list(by_name),
            where=f"{labels}; {len(unknown)} of its {len(told)} ids are not in {folder}",
        )  # fmt: skip
    if not of_groups:
        return Recorded(format="run", scores=tuple(_scored(row, told, measured) for row in rows))
    large = next((name for name in told if len(by_name[name]) != 2), None)
    if large is not None:
        raise UsageError(
            f"The group `{large}` has {len(by_name[large])} members in {folder}, and {labels} says "
            "which of two is better. Label pairs, or give each trajectory a label of its own."
        )
    pairs = (_pair(name, by_name[name], label, measured) for name, label in told.items())
    return Recorded(format="run", pairs=tuple(pairs))


def read_labels(path: Path, columns: Mapping[str, str]) -> Labels:
    """Return id -> labels; a row whose label is null has none.

    Raises:
        UsageError: for the first mistake, with its line.
    """
    names = {field: columns.get(field, field) for field in ("id", "label", "labels")}
    found: dict[str, tuple[Value, ...]] = {}
    lines: dict[str, int] = {}
    for number, row in objects_in(path):
        if names["id"] not in row or not (names["label"] in row or names["labels"] in row):
            raise UsageError(
                f"{path}, line {number}: a label has `{names['id']}` and `{names['label']}` (or "
                f"`{names['labels']}`, a list), and this has {', '.join(sorted(row))}. "
                "`--map label=COLUMN` says which column it is."
            )
        name = str(row[names["id"]])
        if name in lines:
            raise UsageError(
                f"{path}: lines {lines[name]} and {number} both label `{name}`. Several labels of "
                "one row are a list, `labels`."
            )
        lines[name] = number
        values = row[names["labels"]] if names["labels"] in row else [row[names["label"]]]
        found[name] = tuple(_label(path, number, value) for value in values if value is not None)
    if not any(found.values()):
        raise UsageError(f"{path} holds no labels.")
    return found


def _label(path: Path, number: int, value: Any) -> Value:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return float(value)
    raise UsageError(f"{path}, line {number}: a label is a number or a word, not {value!r}.")


def _ledger(folder: Path) -> list[Row]:
    path = folder / LEDGER
    if not path.is_file():
        raise UsageError(
            f"{folder} is no run folder: it has no {LEDGER}. `rewardhub score ... --run {folder}` "
            "makes one."
        )
    rows = [row for _, row in objects_in(path)]
    if not rows:
        raise UsageError(f"The run {folder} has scored nothing: its failures.jsonl says why.")
    return sorted(rows, key=lambda row: (row["source"], row["row"]))


def _groups(rows: Sequence[Row]) -> Mapping[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["group"], []).append(row)
    return found


def _parts(rows: Sequence[Row], wanted: Sequence[str]) -> Sequence[str]:
    known = {each["id"]: each for row in rows for each in _scored_parts(row)}
    for name in wanted:
        if name != WHOLE and name not in known:
            raise UnknownNameError("part", name, [*known, WHOLE], where="--part")
    own = [name for name, each in known.items() if each["score"]["grader"].startswith("judge/")]
    if not wanted and not own:
        names = ", ".join(f"`{name}`" for name in [*known, WHOLE])
        raise UsageError(
            f"No part of this run asked a judge. Say which to measure: --part {names}."
        )
    return wanted or own


def _scored_parts(row: Row) -> Iterator[Row]:
    """Yield the parts of a row that have a Score."""
    yield from (part for part in row["reward"]["parts"] if part["score"] is not None)


def _values(row: Row, measured: Sequence[str]) -> dict[str, float | None]:
    """Return part -> its value; None where it has none, nothing where it was not asked."""
    values = {part["id"]: part["score"]["value"] for part in _scored_parts(row)}
    values[WHOLE] = row["reward"]["value"]
    return {name: values[name] for name in measured if name in values}


def _scored(row: Row, labels: Labels, measured: Sequence[str]) -> ScoreRow:
    return ScoreRow(
        id=row["id"],
        cluster=row["group"],
        labels=labels.get(row["id"], ()),
        votes={name: (value,) for name, value in _values(row, measured).items()},
    )


def _pair(
    name: str, rows: Sequence[Row], labels: Sequence[Value], measured: Sequence[str]
) -> PairRow:
    first, second = (_values(row, measured) for row in rows)
    decisions: dict[str, Decisions] = {}
    for part in measured:
        if part in first and part in second:
            decisions[part] = _in_both_orders(rows[0], part) or Decisions(
                given=(_preferred(first[part], second[part]),)
            )
    return PairRow(id=name, labels=tuple(_CHOICES[label] for label in labels), decisions=decisions)


def _preferred(first: float | None, second: float | None) -> Choice | None:
    return None if first is None or second is None else preferred(first, second)


def _in_both_orders(row: Row, part: str) -> Decisions | None:
    """Return what a pairwise judge said in both orders, where its evidence tells."""
    found = next((each for each in _scored_parts(row) if each["id"] == part), None)
    bouts = found["score"]["evidence"].get("bouts") if found else None
    if not isinstance(bouts, list) or len(bouts) != 1 or "as_first" not in bouts[0]:
        return None
    bout = bouts[0]
    return Decisions(
        given=(_BECAME.get(bout["as_first"]),), swapped=(_BECAME.get(bout["as_second"]),)
    )

"""Where the values that are measured come from: a model, or a file."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from rewardhub import Score, UnknownNameError, UsageError
from rewardhub_prm.carriers import Carrier, Solution
from rewardhub_prm.labelled import LabelledRow, digest_of_problem
from rewardhub_prm.measure_figures import ValuedRow
from rewardhub_prm.opening import files_of, open_local, preset_name
from rewardhub_prm.presets import PresetName
from rewardhub_prm.train import CARD

__all__ = ["ask_model", "read_values", "training_of", "unseen", "write_values"]

_CHUNK = 32


def ask_model(
    rows: Sequence[LabelledRow],
    model: str,
    *,
    preset: PresetName | Literal["auto"] = "auto",
    device: str = "auto",
    dtype: str = "auto",
    max_tokens: int | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[ValuedRow, ...]:
    """Return the rows with the values that a model gives to their steps.

    A row with a step too long for the model has no values.

    Raises:
        UsageError: for a model that does not fit, or that gives no numbers.
        InfrastructureError: if its device broke.
    """
    files = files_of(model, revision=None, weights=True)
    carrier = open_local(
        files, preset_name(preset, files), device=device, dtype=dtype, max_tokens=max_tokens
    )
    try:
        return tuple(_ask(rows, carrier, tell))
    finally:
        carrier.close()


def _ask(
    rows: Sequence[LabelledRow], carrier: Carrier, tell: Callable[[str], None]
) -> list[ValuedRow]:
    found: list[ValuedRow] = []
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        solutions = [Solution(row.problem, row.steps) for row in chunk]
        for row, said in zip(chunk, asyncio.run(carrier.values(solutions)), strict=True):
            if isinstance(said, Score):
                if said.status == "failed":
                    raise UsageError(f"The row `{row.id}` has no values: {said.reason}.")
                found.append(ValuedRow(row=row, values=None))
            else:
                found.append(ValuedRow(row=row, values=said.steps))
        tell(f"{len(found)} of {len(rows)} rows have values")
    return found


def read_values(
    rows: Sequence[LabelledRow], path: Path, *, among: Sequence[LabelledRow] = ()
) -> tuple[ValuedRow, ...]:
    """Return the rows with the values of a JSONL file: ``{"id": ..., "values": [...]}`` a row.

    ``values`` has a number in [0, 1] or null for each step; or it is null: the model said nothing.
    The file may have values of other rows, too, if they are ``among`` those that were read.

    Raises:
        UsageError: for a file that is missing or no such JSON, an id that is there twice or that no
            row has, a row without values, and values that are not as many as the steps.
    """
    values = _values_of(path)
    known = {row.id for row in (*rows, *among)}
    unknown = next((name for name in values if name not in known), None)
    if unknown is not None:
        raise UnknownNameError("labelled row", unknown, known, where=str(path))
    missing = [row.id for row in rows if row.id not in values]
    if missing:
        raise UsageError(
            f"{path} has no values for {len(missing)} of {len(rows)} rows, `{missing[0]}` first."
        )
    for row in rows:
        own = values[row.id]
        if own is not None and len(own) != len(row.steps):
            raise UsageError(
                f"{path}: the row `{row.id}` has {len(row.steps)} steps and {len(own)} values."
            )
    return tuple(ValuedRow(row=row, values=values[row.id]) for row in rows)


def write_values(rows: Sequence[ValuedRow], path: Path) -> None:
    """Write values as `read_values` reads them."""
    lines = (json.dumps({"id": each.row.id, "values": each.values}) for each in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def training_of(model: str) -> dict[str, Any]:
    """Return what the training card in a model's folder says; empty where there is none."""
    path = Path(model).expanduser() / CARD
    if not path.is_file():
        return {}
    try:
        card = json.loads(path.read_bytes())
        _seen(card)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(f"{path} is no card of a training: {error!r}.") from None
    return dict(card)


def unseen(rows: Sequence[LabelledRow], card: dict[str, Any]) -> tuple[LabelledRow, ...]:
    """Return the rows whose problems the training did not look at."""
    seen = _seen(card) if card else frozenset[str]()
    return tuple(row for row in rows if digest_of_problem(row.problem) not in seen)


def _seen(card: dict[str, Any]) -> frozenset[str]:
    parts = card["parts"]
    return frozenset((*parts["training"]["problems"], *parts["validation"]["problems"]))


def _values_of(path: Path) -> dict[str, tuple[float | None, ...] | None]:
    if not path.is_file():
        raise UsageError(f"`{path}` {'is no file' if path.exists() else 'does not exist'}.")
    found: dict[str, tuple[float | None, ...] | None] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            name, values = str(row["id"]), row["values"]
            own = None if values is None else tuple(map(_value, values))
        except (ValueError, TypeError, KeyError) as error:
            raise UsageError(
                f'{path}:{number}: a row is {{"id": ..., "values": [...]}}: {error}.'
            ) from None
        if name in found:
            raise UsageError(f"{path}:{number}: `{name}` is there twice.")
        found[name] = own
    return found


def _value(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"a value is a number in [0, 1], not {value!r}")
    if not 0 <= value <= 1:
        raise ValueError(f"a value lies in [0, 1], and {value} does not")
    return float(value)

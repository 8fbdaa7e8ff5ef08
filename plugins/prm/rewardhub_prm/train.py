"""`rewardhub prm train`: a head that tells right steps from wrong ones, on labelled rows."""

from __future__ import annotations

import importlib.metadata
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from rewardhub import ModelFiles, UsageError, device_of
from rewardhub_prm.labelled import RIGHT, LabelledRow, digest_of_problem
from rewardhub_prm.presets import Aggregation
from rewardhub_prm.train_base import Base, load_base, quiet
from rewardhub_prm.train_fit import (
    Epoch,
    Example,
    HeadAlone,
    Learner,
    Schedule,
    WholeModel,
    fit,
    seeded,
)
from rewardhub_prm.train_parts import part_rows
from rewardhub_prm.windows import TooLong, windows

__all__ = ["CARD", "Trained", "Training", "examples_of", "train"]

CARD = "rewardhub_prm_training.json"
"""In the model's folder: what it was trained on, how, and how it went."""

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How a head is trained.

    Attributes:
        validate: the share of the problems that training stops by.
        hold_out: the share of the problems that is not looked at: to measure on.
        hard: labels are rounded to 0 and 1; otherwise a step may be half right.
        after_error: whether the labels after a row's first wrong step count. They do not unless
            asked: what follows from an error is neither right nor wrong by itself.
        balanced: whether wrong and right steps count the same in all.
        frozen: only the head learns, on features that the model gives once.
        layers: how many of the model's layers are kept, from the first on; None: all.
        separator: text after each step, where its value is read; None: the separator token.
        max_tokens: how many tokens the model is given at most; longer rows are cut into windows
            of whole steps, as `prm/steps` reads them.
        aggregate: what makes one value of the steps' values when the model is used.
        device: as in `rewardhub.device_of`.
        schedule: how long and how fast.
    """

    validate: float
    hold_out: float
    hard: bool
    after_error: bool
    balanced: bool
    frozen: bool
    layers: int | None
    separator: str | None
    max_tokens: int | None
    aggregate: Aggregation
    device: str
    schedule: Schedule

    def __post_init__(self) -> None:
        if not (0 <= self.validate < 1 and 0 <= self.hold_out < 1):
            raise UsageError("`--validate` and `--hold-out` are shares from 0 to below 1.")
        if self.validate + self.hold_out >= 1:
            raise UsageError("`--validate` and `--hold-out` leave nothing to train on.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """What a training came to.

    Attributes:
        folder: the model, in the preset `generic`.
        parts: ``training``, ``validation`` and ``held out`` rows.
        epochs: the passes.
        kept: the number of the epoch whose weights were kept.
        card: what was written to `CARD`.
    """

    folder: Path
    parts: Mapping[str, Sequence[LabelledRow]]
    epochs: Sequence[Epoch]
    kept: int
    card: Mapping[str, Any]


def train(
    rows: Sequence[LabelledRow],
    base: str,
    out: Path,
    plan: Training,
    *,
    data: Sequence[Mapping[str, Any]] = (),
    tell: Tell = lambda _: None,
) -> Trained:
    """Train a head on ``rows`` and save it with its model in ``out``, for the preset `generic`.

    Rows are parted by problem: all attempts at equal or nearly equal problems are in one part. On
    a CPU, equal arguments and an equal number of threads give equal weights.

    Args:
        rows: labelled solutions.
        base: folder or hub name of the model that the head is put on.
        out: a folder that is not there yet, or is empty.
        plan: how.
        data: what the card says of the files that the rows came from.
        tell: is told how it goes on.

    Raises:
        UsageError: for rows without labels or with one kind of label only, a part that is empty, a
            base that does not fit, and an ``out`` that holds something.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"`{out}` holds something already: name a new folder.")
    parts = part_rows(
        [row if plan.after_error else row.up_to_error() for row in rows],
        {"validation": plan.validate, "held out": plan.hold_out},
        rest="training",
        seed=plan.schedule.seed,
    )
    counts = {name: _counts(part) for name, part in parts.items()}
    _check(rows, counts, plan)
    started = time.monotonic()
    files = ModelFiles.find(base)
    with seeded(plan.schedule.seed):
        loaded = load_base(
            files,
            device=device_of(plan.device),
            separator=plan.separator,
            layers=plan.layers,
            max_tokens=plan.max_tokens,
            aggregate=plan.aggregate,
        )
        training = examples_of(parts["training"], loaded, hard=plan.hard, tell=tell)
        validation = examples_of(parts["validation"], loaded, hard=plan.hard, tell=tell)
        epochs, kept = _fit(loaded, training, validation, plan, tell)
    _save(loaded, out)
    card = {
        **_described(files, plan, data),
        "parts": {name: {**counts[name], **_problems(part)} for name, part in parts.items()},
        "epochs": [asdict(epoch) for epoch in epochs],
        "kept_epoch": kept,
        "seconds": round(time.monotonic() - started, 1),
    }
    write_card(out, card)
    return Trained(folder=out, parts=parts, epochs=epochs, kept=kept, card=card)


_DISTRIBUTIONS = ("rewardhub-core", "rewardhub-prm", "torch", "transformers")


def _described(
    files: ModelFiles, plan: Training, data: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    return {
        "format_version": 1,
        "base": {"name": files.name, "digest": files.digest},
        "data": list(data),
        "plan": asdict(plan),
        "versions": {name: importlib.metadata.version(name) for name in _DISTRIBUTIONS},
    }


def write_card(folder: Path, card: Mapping[str, Any]) -> None:
    """Write `CARD` into a model's folder."""
    text = json.dumps(card, indent=2, ensure_ascii=False)
    (folder / CARD).write_text(f"{text}\n", encoding="utf-8")


def _fit(
    base: Base,
    training: Sequence[Example],
    validation: Sequence[Example],
    plan: Training,
    tell: Tell,
) -> tuple[list[Epoch], int]:
    if not training:
        raise UsageError("No row of the training part fits into the model.")
    class_weights = _class_weights(training) if plan.balanced else (1.0, 1.0)
    learner: Learner
    if not plan.frozen:
        learner = WholeModel(base.model, base.device)
        return fit(
            learner, training, validation, plan.schedule, class_weights=class_weights, tell=tell
        )
    learner = HeadAlone(base.model, base.head, base.device)
    learner.read(training, validation, batch_tokens=plan.schedule.batch_tokens, tell=tell)
    found = fit(
        learner, training, validation, plan.schedule, class_weights=class_weights, tell=tell
    )
    learner.finish()
    return found


def examples_of(
    rows: Sequence[LabelledRow], base: Base, *, hard: bool, tell: Tell
) -> list[Example]:
    """Return what the model reads, row after row, in windows where a row is too long for it.

    A row with a step that does not fit by itself is left out, and ``tell`` is told how many are.
    """
    found: list[Example] = []
    left_out = 0
    for row in rows:
        cut = windows(base.preset, base.text, row.problem, row.steps, limit=base.limit, cut=True)
        if isinstance(cut, TooLong):
            left_out += 1
            continue
        for window in cut:
            labelled = [
                (position, float(label >= RIGHT) if hard else label)
                for position, step in zip(window.row.positions, window.steps, strict=True)
                if (label := row.labels[step]) is not None
            ]
            if labelled:
                positions, labels = zip(*labelled, strict=True)
                found.append(Example(window.row.ids, positions, labels))
    if left_out:
        tell(f"{left_out} of {len(rows)} rows are left out: one step alone is over the limit")
    return found


def _class_weights(examples: Sequence[Example]) -> tuple[float, float]:
    """Return what a wrong and a right step count, so that both kinds count the same in all.

    Where rows that did not fit took one kind with them, both count 1.
    """
    labels = [label for each in examples for label in each.labels]
    right = sum(labels)
    wrong = len(labels) - right
    return (len(labels) / (2 * wrong), len(labels) / (2 * right)) if wrong and right else (1.0, 1.0)


def _counts(rows: Sequence[LabelledRow]) -> dict[str, int]:
    labels = [label for row in rows for label in row.labels if label is not None]
    kinds: Counter[Literal["right", "wrong"]] = Counter(
        "right" if label >= RIGHT else "wrong" for label in labels
    )
    return {"rows": len(rows), "right_steps": kinds["right"], "wrong_steps": kinds["wrong"]}


def _problems(rows: Sequence[LabelledRow]) -> dict[str, list[str]]:
    return {"problems": sorted({digest_of_problem(row.problem) for row in rows})}


def _check(
    rows: Sequence[LabelledRow], counts: Mapping[str, Mapping[str, int]], plan: Training
) -> None:
    """Refuse rows that nothing can be learnt from.

    Raises:
        UsageError: with what is missing.
    """
    if not any(label is not None for row in rows for label in row.labels):
        raise UsageError("No step of the rows is labelled: there is nothing to learn from.")
    training = counts["training"]
    for kind in ("right", "wrong"):
        if not training[f"{kind}_steps"]:
            raise UsageError(
                f"No step of the training part ({training['rows']} rows) is labelled {kind}: a "
                "head needs both kinds. Add rows, or leave more of them to training."
            )
    for part, share in (("validation", plan.validate), ("held out", plan.hold_out)):
        if share and not counts[part]["rows"]:
            raise UsageError(
                f"The part `{part}` is empty: the rows have too few problems. Add rows, give it a "
                "larger share, or 0 to go without it."
            )


def _save(base: Base, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with quiet():
        base.model.save_pretrained(out)
        base.tokenizer.save_pretrained(out)
    base.preset.form.save(out)

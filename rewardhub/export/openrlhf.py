"""A curriculum as data sets of OpenRLHF.

```text
stage-1.jsonl      prompts of the easiest band: prompt, label, datasource, weight, pass_rate
stage-2.jsonl ...  of the next ones; an empty band has no file
aside.jsonl        tasks that are not trained on, each with the reason
curriculum.json    settings, runs, stages, and the options for the trainer
```

The row format is that of OpenRLHF 0.11 (`datasets/prompts_dataset.py`): ``prompt`` is a list of
messages, ``label`` the text of a `Label`, ``datasource`` names the metrics. Other columns are
ignored there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardhub.engine.folder import write_whole
from rewardhub.errors import UsageError
from rewardhub.export.curriculum import ASIDE, Candidate, Curriculum
from rewardhub.records import SCHEMA_VERSION
from rewardhub.records.base import dump_json
from rewardhub.report.shelf import Shelf

INDEX = "curriculum.json"
NOT_TRAINED_ON = "aside.jsonl"
NO_DOMAIN = "default"
"""What OpenRLHF calls prompts without a source."""

_DECIMALS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFile:
    """One data set.

    Attributes:
        path: the file; ``tasks``: how many prompts it has.
        easiest: the highest expected pass rate in it; ``hardest``: the lowest.
        probability: how often a prompt is drawn from it, for all its prompts together.
    """

    path: Path
    tasks: int
    easiest: float
    hardest: float
    probability: float

    def to_json(self) -> dict[str, Any]:
        """Return the stage as JSON."""
        return {
            "file": self.path.name,
            "tasks": self.tasks,
            "pass_rates": [self.hardest, self.easiest],
            "probability": self.probability,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was written.

    Attributes:
        folder: where.
        stages: the data sets, the easiest first.
        options: what the trainer is told, so that prompts are drawn by weight.
    """

    folder: Path
    stages: tuple[StageFile, ...]
    options: str

    @property
    def epoch(self) -> int:
        """About how many prompts one epoch draws: until every data set was drawn as a whole.

        OpenRLHF blends data sets with `interleave_datasets(..., "all_exhausted")`.
        """
        if len(self.stages) == 1:
            return self.stages[0].tasks
        return round(max(stage.tasks / stage.probability for stage in self.stages))


def check_folder(folder: Path) -> None:
    """Refuse a folder that a curriculum cannot be written to; called before the runs are read.

    Raises:
        UsageError: if it holds other things, or if the trainer could not read its name.
    """
    if any(each in str(folder) for each in ",@ "):
        raise UsageError(
            f"`--out {folder}`: OpenRLHF splits the names of data sets at commas and `@`, and a "
            "shell at spaces. Name another folder."
        )
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"`--out {folder}` is a file: name a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / INDEX).is_file():
        raise UsageError(
            f"`--out {folder}` holds other things than a curriculum: name a new folder."
        )


def write_curriculum(curriculum: Curriculum, folder: Path, shelf: Shelf) -> Written:
    """Write the data sets of a curriculum; one that is there is replaced.

    Args:
        curriculum: what to write.
        folder: where; it is made.
        shelf: has the prompts.

    Raises:
        UsageError: as `check_folder`.
    """
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / INDEX).unlink(missing_ok=True)  # from here on the folder is no whole curriculum
    bands = {
        folder / f"stage-{number}.jsonl": band
        for number, band in enumerate(curriculum.stages, start=1)
        if band
    }
    for stale in set(folder.glob("stage-*.jsonl")) - bands.keys():
        stale.unlink()
    for path, band in bands.items():
        _write_lines(path, (_row(each, shelf) for each in band))
    _write_lines(folder / NOT_TRAINED_ON, map(_aside_row, curriculum.aside))
    shares = _probabilities([[each.difficulty.weight for each in band] for band in bands.values()])
    stages = tuple(
        StageFile(
            path=path,
            tasks=len(band),
            easiest=band[0].difficulty.pass_rate,
            hardest=band[-1].difficulty.pass_rate,
            probability=share,
        )
        for (path, band), share in zip(bands.items(), shares, strict=True)
    )
    written = Written(folder=folder, stages=stages, options=_options(stages))
    write_whole(folder / INDEX, json.dumps(_index(curriculum, written), indent=1).encode())
    return written


def _write_lines(path: Path, lines: Iterator[bytes]) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}")
    with part.open("wb") as file:
        file.writelines(line + b"\n" for line in lines)
    part.replace(path)


def _row(candidate: Candidate, shelf: Shelf) -> bytes:
    kept = shelf.get(candidate.name)
    assert kept is not None  # `make_curriculum` keeps the prompt of all that is not set aside
    return dump_json(
        {
            **json.loads(kept),
            "datasource": candidate.domain or NO_DOMAIN,
            "weight": candidate.difficulty.weight,
            "pass_rate": candidate.difficulty.pass_rate,
        }
    )


def _aside_row(candidate: Candidate) -> bytes:
    assert candidate.aside is not None
    told = {"reason": candidate.aside, "says": ASIDE[candidate.aside]}
    return dump_json({**candidate.to_json(), **told})


def _probabilities(weights: list[list[float]]) -> list[float]:
    """Return the share of each band, rounded so that the sum is 1 all the same."""
    total = sum(map(sum, weights))
    shares = [round(sum(band) / total, _DECIMALS) for band in weights]
    largest = shares.index(max(shares))
    rest = sum(shares[:largest] + shares[largest + 1 :])
    shares[largest] = round(1.0 - rest, _DECIMALS)
    return shares


def _options(stages: tuple[StageFile, ...]) -> str:
    files = ",".join(str(stage.path) for stage in stages)
    drawn = ",".join(f"{stage.probability:.{_DECIMALS}g}" for stage in stages)
    mixed = f" --data.prompt_probs {drawn}" if len(stages) > 1 else ""
    return (
        f"--data.prompt_dataset {files}{mixed} --data.prompt_split train "
        "--data.input_key prompt --data.label_key label --data.apply_chat_template"
    )


def _index(curriculum: Curriculum, written: Written) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "settings": curriculum.settings.to_json(),
        "runs": [{"run": str(path), "spec": digest} for path, digest in curriculum.runs],
        "stages": [stage.to_json() for stage in written.stages],
        "aside": dict(sorted(curriculum.reasons.items())),
        "changed": curriculum.changed,
        "options": written.options,
        "epoch": written.epoch,
    }

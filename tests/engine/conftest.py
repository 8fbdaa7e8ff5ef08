"""Registries of plugin files that workers can load, specs in few words, and runs over files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from rewardhub.engine import Engine, Input, Outcome, Plan, Run, RunFolder
from rewardhub.engine.folder import ledger_rows
from rewardhub.host import GraderCard, Manifest, Registry, from_manifest, registry_of
from rewardhub.records import Reward, Score, Trajectory, read_reward
from rewardhub.spec import RewardSpec, Spec, load
from rewardhub.spec.model import Entry

LOOSE = Path(__file__).parent / "loose"


@pytest.fixture(scope="session")
def loose() -> Callable[..., Registry]:
    """Return a function: the registry of plugin files beside these tests, or of any paths."""

    def make(*files: str | Path) -> Registry:
        paths = tuple(
            str(LOOSE / f"{each}.py" if isinstance(each, str) else each) for each in files
        )
        registry = from_manifest(Manifest(discover=False, loose=paths))
        assert not [plugin.error for plugin in registry.plugins if plugin.error]
        return registry

    return make


@pytest.fixture(scope="session")
def plain(loose: Callable[..., Registry]) -> Registry:
    """Return the registry of the well-behaved graders in `loose/plain.py`."""
    return loose("plain")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return an empty file in which graders note their calls."""
    path = tmp_path / "calls.log"
    path.touch()
    return path


@pytest.fixture(scope="session")
def spec_of() -> Callable[..., dict[str, Any]]:
    """Return a function that makes the content of a reward file with one stage of ``graders``."""

    def make(*graders: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
        first = graders[0]
        name = first.get("as") or first["use"].rpartition("/")[2].replace("-", "_")
        stage = {"name": "only", "graders": [dict(each) for each in graders], **fields}
        return {
            "rewardhub": 1,
            "name": "test",
            "range": [-9, 9],
            "success": f"{name} == 1",
            "stages": [stage],
        }

    return make


@pytest.fixture(scope="session")
def entry_of(spec_of: Callable[..., dict[str, Any]]) -> Callable[..., Entry]:
    """Return a function: the only entry of a spec with the grader of a card."""

    def make(card: GraderCard, **fields: Any) -> Entry:
        spec = load(spec_of({"use": card.name, **fields}), registry_of(card))
        assert isinstance(spec, Spec)
        (entry,) = spec.entries
        return entry

    return make


@dataclass(frozen=True)
class Done:
    """A run that has ended: how, and what stands in its folder."""

    outcome: Outcome
    folder: Path

    @property
    def rows(self) -> list[dict[str, Any]]:
        return list(ledger_rows(self.folder / "rewards.jsonl"))

    @property
    def rewards(self) -> dict[str, Reward]:
        """Trajectory id -> Reward, in the order of the ledger."""
        return {row["id"]: read_reward(json.dumps(row["reward"])) for row in self.rows}

    @property
    def values(self) -> list[float | None]:
        return [reward.value for reward in self.rewards.values()]

    @property
    def failures(self) -> list[dict[str, Any]]:
        lines = (self.folder / "failures.jsonl").read_bytes().splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="session")
def write_rows() -> Callable[[Path, Iterable[Trajectory]], Path]:
    """Return a function that writes trajectories to a file of JSON lines."""

    def write(path: Path, trajectories: Iterable[Trajectory]) -> Path:
        path.write_bytes(b"".join(each.to_json() + b"\n" for each in trajectories))
        return path

    return write


@pytest.fixture(scope="session")
def run_files() -> Callable[..., Done]:
    """Return a function that runs a reward file over native files into a run folder."""

    def run(
        reward: RewardSpec | Mapping[str, Any],
        registry: Registry,
        folder: Path,
        *files: Path,
        workers: int = 1,
        cache: Any = False,
        mapping: Mapping[str, str] | None = None,
        reader: str = "native",
        **how: Any,
    ) -> Done:
        spec = load(reward, registry) if isinstance(reward, Mapping) else reward
        inputs = tuple(Input(path=path, reader=reader) for path in files)
        plan = Plan(reward=spec, inputs=inputs, mapping=mapping or {})
        held = RunFolder(folder)
        try:
            with Engine(
                spec, registry=registry, workers=workers, isolate=True, cache=cache
            ) as engine:
                return Done(Run(engine, plan, held, **how).execute(), folder)
        finally:
            held.close()

    return run


@pytest.fixture(scope="session")
def bare() -> Callable[[Reward], Reward]:
    """Return a function that takes the times out of a Reward: what must be equal everywhere."""

    def strip(reward: Reward) -> Reward:
        parts = tuple(
            replace(part, score=None if part.score is None else _timeless(part.score))
            for part in reward.parts
        )
        return replace(reward, parts=parts)

    return strip


def _timeless(score: Score) -> Score:
    evidence = {key: value for key, value in score.evidence.items() if key != "traceback"}
    return replace(score, seconds=0.0, evidence=evidence)


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again as often as always, without waiting."""
    from rewardhub.engine import faults

    for fault, retry in faults.RETRIES.items():
        monkeypatch.setitem(faults.RETRIES, fault, faults.Retry((0.0,) * len(retry.pauses)))

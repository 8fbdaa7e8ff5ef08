"""What a worker process is told, and what it is spared."""

from __future__ import annotations

from pathlib import Path

from rewardhub.engine import Cache
from rewardhub.engine.manifest import manifest_of, read_manifest
from rewardhub.host import GraderCard, ReaderCard, discover
from rewardhub.spec import load
from rewardhub.spec.model import Spec

SPEC = {
    "rewardhub": 1,
    "name": "plain",
    "version": 1,
    "success": "steps == 1",
    "stages": [{"name": "cost", "graders": [{"use": "cost/steps", "options": {"budget": 5}}]}],
}


def test_a_worker_can_load_the_reward_with_what_it_is_told(tmp_path: Path) -> None:
    registry = discover()
    reward = load(SPEC, registry)
    cache = Cache(tmp_path / "cache")
    told, source, kept = read_manifest(manifest_of(registry, reward, ["chat"], cache))
    again = load(source, told)
    assert isinstance(again, Spec)
    assert again.digest == reward.digest  # type: ignore[union-attr]
    assert "chat" in told.all(ReaderCard)
    assert kept is not None
    assert kept.path == cache.path


def test_packs_that_the_reward_does_not_use_are_left_out() -> None:
    registry = discover()
    assert "math/equivalent" in registry.all(GraderCard)
    told, _, _ = read_manifest(manifest_of(registry, load(SPEC, registry), [], None))
    assert "cost/steps" in told.all(GraderCard)
    assert "math/equivalent" not in told.all(GraderCard)


def test_loose_files_are_always_there() -> None:
    file = Path(__file__).parent / "loose" / "plain.py"
    registry = discover(loose=[file])
    told, _, _ = read_manifest(manifest_of(registry, load(SPEC, registry), [], None))
    assert str(file.resolve()) in [each.name for each in told.plugins if not each.blocked]

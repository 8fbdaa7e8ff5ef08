"""What a worker process is told of this one: which plugins, which reward file, which cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from rewardhub.engine import wire
from rewardhub.engine.cache import Cache
from rewardhub.engine.graders import specs_of
from rewardhub.host import (
    JudgeCard,
    Manifest,
    ModelCard,
    PluginSource,
    ReaderCard,
    Registry,
    SandboxCard,
    from_manifest,
)
from rewardhub.spec.model import RewardSpec


def manifest_of(
    registry: Registry, reward: RewardSpec, readers: Iterable[str], cache: Cache | None
) -> bytes:
    """Return what a worker needs to know.

    Args:
        registry: what is installed here. Packs that the work does not need are left out: importing
            them all would take most of the time in which a worker starts.
        reward: what it grades by.
        readers: names of the readers whose rows it gets.
        cache: where it keeps dear Scores.
    """
    needed = {owner.name for owner in _owners(registry, reward, readers)}
    distributions = {each.distribution for each in registry.plugins if each.name in needed}
    spare = tuple(
        each.name
        for each in registry.plugins
        if not needed & {each.name} and not distributions & {each.name, each.distribution}
    )
    manifest = replace(registry.manifest, block=(*registry.manifest.block, *spare))
    return wire.to_bytes(
        {
            "discover": manifest.discover,
            "block": manifest.block,
            "loose": manifest.loose,
            "modules": manifest.modules,
            "reward": reward.raw,
            "cache": str(cache.path) if cache else None,
        }
    )


def _owners(
    registry: Registry, reward: RewardSpec, readers: Iterable[str]
) -> Iterator[PluginSource]:
    for reader in readers:
        yield registry.get(ReaderCard, reader).owner
    for spec in specs_of(reward):
        for entry in spec.entries:
            yield entry.registered.owner
        for resource in spec.resources.values():
            for kind in (SandboxCard, JudgeCard, ModelCard):
                found: Any = registry.all(kind).get(resource.use)
                if found is not None:
                    yield found.owner
    yield registry.plugins[0]  # the built-ins


def read_manifest(manifest: bytes) -> tuple[Registry, Any, Cache | None]:
    """Return the registry, the reward file as `load` takes it, and the cache."""
    fields = wire.from_bytes(manifest)
    registry = from_manifest(
        Manifest(
            fields["discover"],
            tuple(fields["block"]),
            tuple(fields["loose"]),
            tuple(fields["modules"]),
        )
    )
    cache = Cache(Path(fields["cache"])) if fields["cache"] else None
    return registry, fields["reward"], cache

"""The plugins of this repository: the built-ins, the packs under plugins/, and policies/."""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from rewardhub.host import Card, PluginSource, Registry, registry_of

ROOT = Path(__file__).parents[2]

C = TypeVar("C", bound=Card)


@dataclass(frozen=True, slots=True)
class Owned:
    """Who brings a card: a distribution, as ``rewardhub-math``."""

    distribution: str
    module: str


@cache
def packs() -> tuple[Owned, ...]:
    """Return the packs of this repository, whether they are installed or not."""
    return tuple(_packs())


def _projects() -> list[Path]:
    return [*sorted(ROOT.glob("plugins/*/pyproject.toml")), ROOT / "policies" / "pyproject.toml"]


def _packs() -> Iterator[Owned]:
    for path in _projects():
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        for module in project.get("entry-points", {}).get("rewardhub", {}).values():
            yield Owned(project["name"], module)


@cache
def registry() -> Registry:
    """Return a registry of the built-ins and the packs, and of nothing else."""
    for path in _projects():
        if str(path.parent) not in sys.path:
            sys.path.append(str(path.parent))
    return registry_of(*(importlib.import_module(each.module) for each in packs()))


def owner_of(source: PluginSource) -> str:
    """Return the distribution that a plugin belongs to."""
    known = {each.module: each.distribution for each in packs()}
    return known.get(source.name, "rewardhub-core")


def brought(card: type[Card]) -> dict[str, list[str]]:
    """Return distribution -> the names of its cards of one kind."""
    found: dict[str, list[str]] = {}
    for name, each in registry().all(card).items():
        found.setdefault(owner_of(each.owner), []).append(name)
    return found

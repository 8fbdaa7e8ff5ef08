"""The commands that packs add, listed without importing a pack that was listed before.

`rewardhub --help` should take no longer because ten packs are installed. So what they offered is
remembered in the cache folder until a distribution, or a file of its package, changes. Only the
list comes from there: a command that is called is always looked up for real.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rewardhub.cli.session import Session
from rewardhub.errors import NameClashError, RewardhubError


class Command(NamedTuple):
    """A command that is imported when it is called; ``target`` is ``package.module:app``."""

    name: str
    target: str
    help: str


def commands_of_plugins(session: Session, own: set[str]) -> list[Command]:
    """Return the commands that plugins offer, in alphabetical order.

    Args:
        session: has the registry.
        own: names that are rewardhub's; a plugin that claims one is told of, and passed over.
    """
    from rewardhub.host import CommandCard

    try:
        cards = session.registry.all(CommandCard)
    except RewardhubError as error:
        session.warn(str(error))
        return []
    for name in own & set(cards):
        session.warn(str(NameClashError("command", name, ("builtin", cards[name].owner.name))))
    return [
        Command(name, registered.card.target, registered.card.help)
        for name, registered in cards.items()
        if name not in own
    ]


def listed_commands(session: Session, own: set[str]) -> list[Command]:
    """Return the same for a list of commands, from the last time where nothing has changed."""
    if session.loose:
        return commands_of_plugins(session, own)
    installed = [list(each) for each in _installed()]
    if not installed:
        return []
    key = [installed, list(session.blocked)]
    path = _folder() / "commands.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        remembered = json.loads(path.read_bytes())
        if remembered["key"] == key:
            return [Command(*each) for each in remembered["commands"]]
    found = commands_of_plugins(session, own)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps({"key": key, "commands": found}), encoding="utf-8")
        part.replace(path)
    return found


def _installed() -> Iterator[tuple[Any, ...]]:
    for point in importlib.metadata.entry_points(group="rewardhub"):
        distribution = point.dist
        if point.name != "builtin" and distribution is not None:
            stamp = _stamp(point.value.partition(":")[0].partition(".")[0])
            yield point.name, point.value, distribution.name, distribution.version, stamp


def _stamp(package: str) -> int:
    """Return when a file of the package was last changed: an editable install has one version."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return 0
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    files = [file for folder in folders for file in Path(folder).glob("*.py")]
    return max((file.stat().st_mtime_ns for file in files), default=0)


def _folder() -> Path:
    if folder := os.environ.get("REWARDHUB_CACHE"):
        return Path(folder)
    import platformdirs

    return Path(platformdirs.user_cache_dir("rewardhub"))

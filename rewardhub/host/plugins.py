"""Finding plugins: installed packs by entry point, loose files by path."""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import json
import logging
import sys
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from rewardhub.errors import PluginError, UsageError

ENTRY_POINTS = "rewardhub"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PluginSource:
    """Where a plugin comes from, and whether it could be loaded.

    Attributes:
        name: of the entry point, or the path of a loose file.
        distribution: that brought it; the path for a loose file.
        version: of the distribution.
        source: digest of its source for loose files and editable installs, else empty: an edit
            of the code is then an edit of every grader in it.
        error: why it could not be loaded, with the last lines of the traceback, or None.
        blocked: whether it was left out by name.
    """

    name: str
    distribution: str = ""
    version: str = ""
    source: str = ""
    error: str | None = None
    blocked: bool = False

    @property
    def label(self) -> str:
        """How it is named to people: ``rewardhub-math 0.1.0 (math)``."""
        if not self.distribution or self.distribution == self.name:
            return self.name
        return f"{self.distribution} {self.version} ({self.name})".replace("  ", " ")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A plugin source and the module or object behind it; None if it could not be loaded."""

    source: PluginSource
    plugin: object | None


def installed_plugins(block: Iterable[str] = ()) -> Iterator[Loaded]:
    """Yield every plugin of the entry-point group ``rewardhub``; broken ones with their error."""
    blocked = set(block)
    points = importlib.metadata.entry_points(group=ENTRY_POINTS)
    for point in sorted(points, key=lambda point: (point.name != "builtin", point.name)):
        distribution = point.dist
        name = distribution.name if distribution else ""
        version = distribution.version if distribution else ""
        if point.name in blocked or name in blocked:
            yield Loaded(PluginSource(point.name, name, version, blocked=True), None)
            continue
        try:
            module: Any = point.load()
            digest = _editable_digest(distribution, module) if distribution else ""
        except (Exception, SystemExit):  # noqa: BLE001  # whatever a pack raises is remembered
            yield Loaded(PluginSource(point.name, name, version, error=_last_lines()), None)
            continue
        yield Loaded(PluginSource(point.name, name, version, digest), module)


def loose_plugin(path: Path) -> Loaded:
    """Return the plugin in one Python file; with its error if the file does not import.

    Raises:
        UsageError: if there is no such file.
    """
    if not path.is_file():
        raise UsageError(f"There is no plugin file `{path}`.")
    code = path.read_bytes()
    digest = hashlib.blake2b(code, digest_size=16).hexdigest()
    name = f"rewardhub_loose_{path.stem}_{digest[:8]}"
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise UsageError(f"`{path}` is no Python file: a plugin file ends in `.py`.")
    source = PluginSource(str(path), str(path), "", digest)
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module  # dataclasses and pickle look their module up there
    try:
        # Not by the loader: it would take yesterday's bytecode for an edit of the same second.
        exec(compile(code, path, "exec"), vars(module))  # noqa: S102
    except (Exception, SystemExit):  # noqa: BLE001  # remembered like a broken pack
        del sys.modules[name]
        return Loaded(PluginSource(str(path), str(path), error=_last_lines()), None)
    return Loaded(source, module)


def module_plugin(name: str) -> Loaded:
    """Return the plugin that is an importable module; with its error if it does not import."""
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit):  # noqa: BLE001  # remembered like a broken pack
        return Loaded(PluginSource(name, error=_last_lines()), None)
    return Loaded(PluginSource(name), module)


def _last_lines() -> str:
    return traceback.format_exc(limit=-4).strip()


def _editable_digest(distribution: importlib.metadata.Distribution, module: Any) -> str:
    """Return the digest of the module's package where the install is editable, else ``""``."""
    if not _is_editable(distribution) or not isinstance(module, ModuleType):
        return ""
    if distribution.name == "rewardhub-core":
        return ""
    top = sys.modules.get(module.__name__.partition(".")[0], module)
    roots = [Path(path) for path in getattr(top, "__path__", [])]
    files = [(root, file) for root in roots for file in sorted(root.rglob("*.py"))]
    if not files and getattr(top, "__file__", None):
        single = Path(str(top.__file__))
        files = [(single.parent, single)]
    digest = hashlib.blake2b(digest_size=16)
    for root, file in files:
        source = file.read_bytes()
        digest.update(f"{file.relative_to(root).as_posix()}\0{len(source)}\0".encode() + source)
    return digest.hexdigest()


def _is_editable(distribution: importlib.metadata.Distribution) -> bool:
    text = distribution.read_text("direct_url.json")
    if not text:
        return False
    try:
        return bool(json.loads(text).get("dir_info", {}).get("editable"))
    except ValueError as error:
        raise PluginError(f"direct_url.json of {distribution.name} is broken: {error}") from None

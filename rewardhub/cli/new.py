"""`rewardhub new`: begin a new pack."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import re
from collections.abc import Iterator
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

from rewardhub.errors import UsageError

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST = 40
_ENDING = ".template"
OUR_DOMAINS = frozenset(
    {"agent", "cad", "code", "core", "cost", "data", "docs", "judge", "math", "policies", "prm"}
    | {"rules", "terminal", "training"}
)
"""What `rewardhub-NAME` distributions of this project are called, and will be."""


def create_pack(name: str, folder: Path) -> Path:
    """Write a new pack, ready to be installed and tested, and return its folder.

    Args:
        name: the domain of its graders: lower case, digits, single hyphens. The distribution is
            called ``rewardhub-NAME`` and the package ``rewardhub_NAME``.
        folder: where the pack's own folder, called ``name``, is made.

    Raises:
        UsageError: if the name will not do, is taken, or there is such a folder already.
    """
    _check_name(name)
    target = folder / name
    if target.exists():
        raise UsageError(f"There is already a `{target}`. Choose another name or another folder.")
    package = f"rewardhub_{name.replace('-', '_')}"
    names = {"name": name, "package": package, "test": package.removeprefix("rewardhub_")}
    for path, template in _templates(importlib.resources.files("rewardhub.cli") / "templates/pack"):
        written = target / Template(path).substitute(names)
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(Template(template).substitute(names), encoding="utf-8")
    return target


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise UsageError(
            f"A pack is named after its domain in lower case, digits and single hyphens, at most "
            f"{_LONGEST} characters, as `style` or `unit-tests`, not `{name}`."
        )
    installed = importlib.metadata.entry_points(group="rewardhub")
    if name in OUR_DOMAINS or name in {point.name for point in installed}:
        raise UsageError(f"There is already a pack called `{name}`. Choose another name.")


def _templates(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each template below ``folder``; both have ``$names``."""
    for entry in folder.iterdir():
        path = f"{prefix}{entry.name}"
        if entry.is_dir():
            yield from _templates(entry, f"{path}/")
        elif path.endswith(_ENDING):
            yield path.removesuffix(_ENDING), entry.read_text(encoding="utf-8")

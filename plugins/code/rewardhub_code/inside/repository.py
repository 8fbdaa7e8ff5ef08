"""Runs the tests of a tree of files beside its code, by pytest. Standard library + pytest.

The first message is ``{"paths": [...], "names": [...], "roots": [...], "arguments": [...]}``: the
files of the tests, the tests that are run, where they import from, and further arguments. Results
follow as in `scripts`, named as in `pytests`.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest
from _pytest.config import Config, _prepareconfig  # pyright: ignore[reportPrivateUsage]

from rewardhub_code.inside import clock, plain, pytests, scripts, serve
from rewardhub_code.inside.channel import Channel


class Chosen:
    """Runs the named tests and no others."""

    def __init__(self, names: list[str]) -> None:
        self._names = frozenset(names)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what is not named."""
        items[:] = [item for item in items if item.nodeid.removeprefix("work/") in self._names]


def configure(folder: Path, paths: list[str], arguments: list[str]) -> Config:
    """Return pytest's configuration: the tree's own counts, but for its ``addopts``."""
    own = ["-s", f"--rootdir={folder}", f"--confcutdir={folder}", "--override-ini=addopts="]
    without = ["-p", "no:terminal", "-p", "no:cacheprovider"]
    config = _prepareconfig([*without, *own, *arguments, *paths])
    config._do_configure()  # pyright: ignore[reportPrivateUsage]
    return config


def main() -> None:
    """Run the tests of the first message."""
    channel = Channel.open()
    clock.shift()
    request = plain.loads(channel.receive())
    random.seed(serve.SEED)
    folder = Path.cwd()
    roots = [str(folder / root) if root else str(folder) for root in request["roots"]]
    sys.path[:0] = [root for root in roots if Path(root).is_dir()]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    paths = [str(folder / path) for path in request["paths"] if (folder / path).is_file()]
    config = configure(folder, paths, request["arguments"])
    reporter = pytests.Reporter(channel, collect=False, order=0)
    pytests.run(config, paths, Chosen(request["names"]), reporter)
    scripts.finish(channel)

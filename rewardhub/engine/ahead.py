"""Starting what worker processes need while the reward file is still being read."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager

from rewardhub.engine.workers.launch import Launcher, launcher_here

PRELOAD = ("rewardhub.engine.worker",)
"""What all workers need, imported once."""


@contextmanager
def workers_ahead() -> Generator[Launcher]:
    """Yield a launcher for an `Engine` that has begun to import what its workers need.

    The command line uses it: reading specs and packs takes as long as that import, and there is
    more than one core. A launcher that no engine has used is closed at the end.
    """
    with closing(launcher_here(PRELOAD)) as launcher:
        launcher.prepare()
        yield launcher

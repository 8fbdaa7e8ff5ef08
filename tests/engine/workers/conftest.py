from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="package", autouse=True)
def _targets_on_path() -> Iterator[None]:
    """Let pools import worker_targets: workers get the search path of the pool's process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
        yield

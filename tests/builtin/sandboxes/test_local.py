"""The local sandbox: what every sandbox promises, as root where the tests run as root."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from rewardhub.builtin.sandboxes.local import LocalSandbox
from rewardhub.contracts import Sandbox
from rewardhub.testing import SandboxContract

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with closing(LocalSandbox(slots=1)) as sandbox:
        sandbox.open()
        yield sandbox


class TestLocalSandbox(SandboxContract):
    """See `SandboxContract`."""

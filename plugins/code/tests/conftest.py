"""The sandboxes that the graders are tried in: each that this machine can run."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from rewardhub import InfrastructureError, Job, Sandbox, SandboxCard, UsageError, discover

BACKENDS = ("local", "docker")


def opened(name: str) -> Sandbox:
    """Return a sandbox that has run a first job; skip where there is none."""
    options: dict[str, Any] = {}
    if name == "docker":
        options["host"] = os.environ.get("REWARDHUB_DOCKER", "")
    sandbox = discover().get(SandboxCard, name).card.sandbox(**options)
    try:
        sandbox.open()
        ran = sandbox.run(Job(source="print(1)"))
    except (InfrastructureError, UsageError) as error:
        sandbox.close()
        pytest.skip(f"needs {name.capitalize()}, which cannot run here: {error}")
    assert ran.stdout == "1\n", ran
    return sandbox


@pytest.fixture(scope="session", params=BACKENDS)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Each backend in turn, for what must hold on all of them."""
    made = opened(request.param)
    yield made
    made.close()


@pytest.fixture(scope="session")
def local() -> Iterator[Sandbox]:
    """The backend that needs no daemon, for what does not depend on the backend."""
    made = opened("local")
    yield made
    made.close()

"""The sandbox that environments are tried in."""

from collections.abc import Iterator
from typing import Any

import pytest
from rewardhub_policies.environments.source import Environments

from rewardhub import (
    InfrastructureError,
    Job,
    Registry,
    Sandbox,
    SandboxCard,
    UsageError,
    discover,
)


@pytest.fixture(scope="session")
def registry() -> Registry:
    """All that is installed."""
    return discover()


@pytest.fixture(scope="session")
def sandbox(registry: Registry) -> Iterator[Sandbox]:
    """The sandbox that needs no daemon, with two slots; skip where it cannot run."""
    card: Any = registry.get(SandboxCard, "local").card
    made = card.sandbox(slots=2)
    try:
        made.open()
        made.run(Job(source="pass"))
    except (InfrastructureError, UsageError) as error:
        made.close()
        pytest.skip(f"needs the local sandbox, which cannot run here: {error}")
    yield made
    made.close()


@pytest.fixture(scope="session")
def environments(registry: Registry, sandbox: Sandbox) -> Environments:
    """Makes the environments of tasks, in the local sandbox."""
    return Environments(registry, {"sandbox": sandbox})

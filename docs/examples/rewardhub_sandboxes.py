from collections.abc import Iterator, Mapping
from typing import Any

from rewardhub import InfrastructureError, Job, Options, Outcome, Sandbox, SandboxCard, hookimpl


class RemoteSandbox(Options, Sandbox):
    """Runs jobs on a machine elsewhere."""

    address: str
    """Where that machine is."""

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"sandbox": "remote", "address": self.address}

    def run(self, job: Job) -> Outcome:
        raise InfrastructureError(f"{self.address} does not answer")  # send the job there


@hookimpl
def rewardhub_sandboxes() -> Iterator[SandboxCard]:
    yield SandboxCard(name="example-remote", sandbox=RemoteSandbox)

"""What the tests of a sandbox have in common."""

from __future__ import annotations

import json
from typing import Any

from rewardhub.contracts import Job, Outcome, Sandbox

MEBIBYTE = 1 << 20


class SandboxRuns:
    """Runs Python in the sandbox that is tested.

    Attributes:
        python: the interpreter inside, for jobs with a command.
    """

    python: str = "python3"

    def run(self, sandbox: Sandbox, source: str, **limits: Any) -> Outcome:
        """Run Python and return its outcome, which the sandbox itself did not break."""
        outcome = sandbox.run(Job(source=source, **limits))
        assert outcome.status != "sandbox_error", outcome.reason
        return outcome

    def told(self, sandbox: Sandbox, source: str, **limits: Any) -> Any:
        """Run Python that ends well and prints JSON; return that."""
        outcome = self.run(sandbox, source, **limits)
        assert outcome.status == "ok", (outcome.status, outcome.reason, outcome.stderr)
        return json.loads(outcome.stdout)

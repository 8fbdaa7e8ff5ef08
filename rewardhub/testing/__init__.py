"""A kit for authors of plugins: fakes, cases, conformance; also as pytest fixtures.

```python
from rewardhub.testing import check_cases, grade, make_trajectory
```

pytest loads the plugin of this package into every run, also where nobody uses it, so names are
imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewardhub.host import registry_of
    from rewardhub.testing.bench import grade
    from rewardhub.testing.cases import Case
    from rewardhub.testing.check import check_cases
    from rewardhub.testing.conformance import ReaderContract, WriterContract
    from rewardhub.testing.environments import EnvironmentContract
    from rewardhub.testing.fakes import (
        CallingWorkers,
        FakeJudge,
        FakeSandbox,
        fake_judge,
        fake_sandbox,
    )
    from rewardhub.testing.judges import JudgeContract
    from rewardhub.testing.make import make_task, make_trajectory
    from rewardhub.testing.openai_answers import ChatAnswer, ChatRequest, EndpointFault
    from rewardhub.testing.openai_server import OpenAIServer
    from rewardhub.testing.policies import PolicyContract
    from rewardhub.testing.sandboxes import SandboxContract
    from rewardhub.testing.tiny_model import tiny_language_model

__all__ = [
    "CallingWorkers",
    "Case",
    "ChatAnswer",
    "ChatRequest",
    "EndpointFault",
    "EnvironmentContract",
    "FakeJudge",
    "FakeSandbox",
    "JudgeContract",
    "OpenAIServer",
    "PolicyContract",
    "ReaderContract",
    "SandboxContract",
    "WriterContract",
    "check_cases",
    "fake_judge",
    "fake_sandbox",
    "grade",
    "make_task",
    "make_trajectory",
    "registry_of",
    "tiny_language_model",
]

_LAZY = {
    "CallingWorkers": "rewardhub.testing.fakes",
    "Case": "rewardhub.testing.cases",
    "ChatAnswer": "rewardhub.testing.openai_answers",
    "ChatRequest": "rewardhub.testing.openai_answers",
    "EndpointFault": "rewardhub.testing.openai_answers",
    "EnvironmentContract": "rewardhub.testing.environments",
    "FakeJudge": "rewardhub.testing.fakes",
    "FakeSandbox": "rewardhub.testing.fakes",
    "JudgeContract": "rewardhub.testing.judges",
    "OpenAIServer": "rewardhub.testing.openai_server",
    "PolicyContract": "rewardhub.testing.policies",
    "ReaderContract": "rewardhub.testing.conformance",
    "SandboxContract": "rewardhub.testing.sandboxes",
    "WriterContract": "rewardhub.testing.conformance",
    "check_cases": "rewardhub.testing.check",
    "fake_judge": "rewardhub.testing.fakes",
    "fake_sandbox": "rewardhub.testing.fakes",
    "grade": "rewardhub.testing.bench",
    "make_task": "rewardhub.testing.make",
    "make_trajectory": "rewardhub.testing.make",
    "registry_of": "rewardhub.host",
    "tiny_language_model": "rewardhub.testing.tiny_model",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module `rewardhub.testing` has no `{name}`")
    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__

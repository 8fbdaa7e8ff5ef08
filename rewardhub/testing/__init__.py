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
    from rewardhub.testing.fakes import (
        CallingWorkers,
        FakeJudge,
        FakeSandbox,
        fake_judge,
        fake_sandbox,
    )
    from rewardhub.testing.make import make_task, make_trajectory
    from rewardhub.testing.sandboxes import SandboxContract

__all__ = [
    "CallingWorkers",
    "Case",
    "FakeJudge",
    "FakeSandbox",
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
]

_LAZY = {
    "CallingWorkers": "rewardhub.testing.fakes",
    "Case": "rewardhub.testing.cases",
    "FakeJudge": "rewardhub.testing.fakes",
    "FakeSandbox": "rewardhub.testing.fakes",
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
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module `rewardhub.testing` has no `{name}`")
    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__

"""A kit for authors of plugins: fakes, cases, conformance; also as pytest fixtures.

```python
from rewardhub.testing import check_cases, grade, make_trajectory
```
"""

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

__all__ = [
    "CallingWorkers",
    "Case",
    "FakeJudge",
    "FakeSandbox",
    "ReaderContract",
    "WriterContract",
    "check_cases",
    "fake_judge",
    "fake_sandbox",
    "grade",
    "make_task",
    "make_trajectory",
    "registry_of",
]

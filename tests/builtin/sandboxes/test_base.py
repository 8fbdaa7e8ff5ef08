"""What a sandbox with slots refuses, and when it starts anything."""

from __future__ import annotations

from typing import Any

import pytest

from rewardhub.builtin.sandboxes.base import Kind, PooledSandbox
from rewardhub.builtin.sandboxes.line import Line
from rewardhub.contracts import Job, Preload
from rewardhub.errors import InfrastructureError, UsageError


class Counting(PooledSandbox):
    """Counts the lines that are asked for; there are none."""

    def _open_line(self, kind: Kind) -> Line:
        vars(self).setdefault("kinds", []).append(kind)
        raise InfrastructureError("none today")


@pytest.mark.parametrize(
    "job",
    [
        Job(memory_mb=5000),
        Job(memory_mb=0),
        Job(processes=10_000),
        Job(disk_mb=-1),
        Job(cpu_seconds=1e9),
        Job(wall_seconds=0),
        Job(files={"../up": ""}),
        Job(files={"/abs": ""}),
        Job(files={"": ""}),
        Job(files={"a\0b": ""}),
        Job(collect=("a/../../b",)),
        Job(env={"A=B": "c"}),
        Job(env={"A": "b\0"}),
        Job(command=("ls",), preload=Preload(name="x", source="")),
    ],
)
def test_a_job_that_no_sandbox_can_run_is_refused_before_it_starts(job: Job) -> None:
    sandbox = Counting(slots=1)
    with pytest.raises(UsageError):
        sandbox.run(job)
    assert "kinds" not in vars(sandbox)


def test_nothing_starts_before_the_first_job() -> None:
    with Counting(slots=1) as sandbox:
        assert "kinds" not in vars(sandbox)


def test_a_slot_is_free_again_if_its_line_cannot_be_made() -> None:
    with Counting(slots=1) as sandbox:
        for _ in range(3):
            with pytest.raises(InfrastructureError, match="none today"):
                sandbox.run(Job(source="pass"))
        assert len(vars(sandbox)["kinds"]) == 3


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({}, Kind()),
        ({"cpu_seconds": 1.0, "stdin": "x", "env": {"A": "b"}}, Kind()),
        ({"env": {"PYTHONHASHSEED": "5"}}, Kind(hash_seed="5")),
        (
            {"preload": Preload(name="x", source="y")},
            Kind(preload=Preload(name="x", source="y")),
        ),
    ],
)
def test_jobs_share_a_line_unless_they_need_another_start(
    change: dict[str, Any], kind: Kind
) -> None:
    with Counting(slots=1) as sandbox:
        with pytest.raises(InfrastructureError):
            sandbox.run(Job(source="pass", **change))
        assert vars(sandbox)["kinds"] == [kind]

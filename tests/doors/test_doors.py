from __future__ import annotations

import pytest

from rewardhub.contracts import DEFAULT_READS, narrower
from rewardhub.doors import FILLS


@pytest.mark.parametrize("door", sorted(FILLS))
def test_every_door_fills_the_default_reads_and_the_checks(door: str) -> None:
    assert narrower((*DEFAULT_READS, "task.checks.code"), FILLS[door]) == ()


@pytest.mark.parametrize("door", ["http", "function"])
def test_an_answer_alone_has_no_calls_and_no_cost(door: str) -> None:
    paths = ("steps.reasoning", "steps.seconds", "steps.tool_calls", "tokens")
    assert narrower(paths, FILLS[door]) == ("steps.seconds", "steps.tool_calls", "tokens")


@pytest.mark.parametrize("door", ["offline", "agent"])
def test_a_whole_record_has_everything(door: str) -> None:
    paths = ("steps", "steps.state", "tool_calls", "tokens", "artifacts", "policy", "group_size")
    assert narrower(paths, FILLS[door]) == ()

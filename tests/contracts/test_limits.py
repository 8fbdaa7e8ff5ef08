"""Limits on graded work."""

import pytest

from rewardhub import Limits


@pytest.mark.parametrize("name", ["cpu_seconds", "wall_seconds", "memory_mb"])
@pytest.mark.parametrize("value", [0, -1])
def test_refuses_a_limit_that_nothing_can_keep(name, value):
    with pytest.raises(ValueError, match=f"{name} must be above 0"):
        Limits(**{name: value})


def test_takes_no_limit():
    assert Limits(cpu_seconds=None, wall_seconds=None, memory_mb=None).memory_mb is None

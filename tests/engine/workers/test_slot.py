from __future__ import annotations

from pathlib import Path

import pytest

from rewardhub.contracts.limits import Limits
from rewardhub.engine.workers import WorkerPool, slot
from rewardhub.engine.workers.slot import Reference

SHORT = Limits(wall_seconds=0.1)


def test_compares_canaries_with_the_fastest_at_the_start() -> None:
    reference = Reference()
    assert not reference.is_slow(1000.0)
    for seconds in (0.3, 0.1, 0.2):
        reference.learn(seconds)
    assert not reference.is_slow(0.4)
    assert reference.is_slow(0.6)


def test_says_that_the_machine_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slot, "_SLOW", 0.0)
    with WorkerPool(1, target="worker_targets:run_source", manifest=b"") as pool:
        source = b"import time; time.sleep(600)"
        result = pool.submit(source, limits=SHORT, canary=True).result(60)
    assert result.canary_seconds is not None
    assert result.slow_machine


def test_blames_the_machine_that_can_run_no_canary(tmp_path: Path) -> None:
    ticket = tmp_path / "ticket"
    ticket.touch()
    target = "worker_targets:with_ticket"
    with WorkerPool(1, target=target, manifest=str(ticket).encode()) as pool:
        result = pool.submit(b"", limits=SHORT, canary=True).result(60)
    assert (result.end, result.canary_seconds, result.slow_machine) == ("wall", None, True)

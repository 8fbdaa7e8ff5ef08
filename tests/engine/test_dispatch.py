"""What worker processes come back with, and calls from threads into them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rewardhub.contracts import Grader, Limits, Verdict
from rewardhub.engine import Engine
from rewardhub.engine.dispatch import PoolWorkers, how_it_ended, score_of_result
from rewardhub.engine.faults import SlowMachineError
from rewardhub.engine.workers import Result
from rewardhub.errors import InfrastructureError, LimitError
from rewardhub.host import GraderCard, Registry
from rewardhub.records import Score, Trajectory, write_record
from rewardhub.spec.model import Entry

TRACEBACK = "Traceback (most recent call last):\n  File ...\n"


class Plain(Grader):
    def grade(self, trajectory: Trajectory) -> Verdict:
        return 1.0


@pytest.fixture(scope="module")
def entry(entry_of: Callable[..., Entry]) -> Entry:
    return entry_of(GraderCard(name="test/plain", grader=Plain))


def test_a_reply_is_the_score(entry: Entry) -> None:
    score = Score.of(0.5, "half")
    assert score_of_result(Result(end="reply", payload=write_record(score)), entry) == score


def test_what_a_worker_raised_is_the_graders_fault(entry: Entry) -> None:
    detail = f"{TRACEBACK}KeyboardInterrupt: stop\n"
    score = score_of_result(Result(end="raised", detail=detail, seconds=2.0), entry)
    assert (score.status, score.fault, score.seconds) == ("failed", "grader", 2.0)
    assert score.reason == "`test/plain` broke: KeyboardInterrupt: stop"
    assert score.evidence["traceback"] == detail


@pytest.mark.parametrize("end", ["cpu", "wall", "memory", "died", "survivors"])
def test_a_limit_is_left_to_the_rule(end: Any, entry: Entry) -> None:
    with pytest.raises(LimitError, match="it was so") as caught:
        score_of_result(Result(end=end, detail="it was so"), entry)
    assert caught.value.kind == end
    assert not isinstance(caught.value, SlowMachineError)


def test_a_limit_on_a_slow_machine_says_so(entry: Entry) -> None:
    with pytest.raises(SlowMachineError):
        score_of_result(Result(end="wall", detail="took long", slow_machine=True), entry)


def test_a_closed_pool_is_the_infrastructure(entry: Entry) -> None:
    with pytest.raises(InfrastructureError):
        score_of_result(Result(end="closed"), entry)


@pytest.mark.parametrize(
    ("detail", "says"),
    [
        ("used more than 2 s of CPU time", "used more than 2 s of CPU time"),
        (f"was refused\n{TRACEBACK}MemoryError: nested too deeply\n", "nested too deeply"),
        (f"was refused\n{TRACEBACK}MemoryError\n", "was refused"),
        ("", ""),
    ],
)
def test_a_limit_is_told_in_one_line(detail: str, says: str) -> None:
    assert how_it_ended(Result(end="memory", detail=detail)) == says


# --- calls from threads ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def workers(
    loose: Callable[..., Registry], spec_of: Callable[..., dict[str, Any]]
) -> Iterator[PoolWorkers]:
    with Engine(spec_of({"use": "plain/length"}), registry=loose("plain"), workers=1) as engine:
        yield PoolWorkers(engine.pool, Limits(cpu_seconds=5))


def test_a_call_runs_in_another_process(workers: PoolWorkers) -> None:
    assert workers.call(os.getpid) != os.getpid()
    assert workers.call(max, 7, 2) == 7
    assert workers.call(int, "ff", base=16) == 255


def test_what_a_call_raises_is_raised_here(workers: PoolWorkers) -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        workers.call(divmod, 1, 0)


def test_a_call_over_a_limit_is_a_limit(workers: PoolWorkers) -> None:
    from time import sleep

    with pytest.raises(LimitError, match="longer than 0.2 s"):
        workers.limited(wall_seconds=0.2).call(sleep, 600)
    with pytest.raises(LimitError, match="exited with status 3"):
        workers.call(os._exit, 3)

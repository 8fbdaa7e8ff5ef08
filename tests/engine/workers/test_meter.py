from __future__ import annotations

from collections.abc import Container, Iterable

import pytest

from rewardhub.contracts.limits import Limits
from rewardhub.engine.workers.meter import Breach, Meter
from rewardhub.engine.workers.watch import Process

MIB = 2**20


class Machine:
    """A worker with process id 1 and its descendants, on a clock that stands still."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.worker: Process | None = Process(1, 0.0, 0, alive=True)
        self.children: list[Process] = []
        self.shared = 0

    def use(self, *, cpu: float = 0.0, memory: int = 0) -> None:
        self.worker = Process(1, cpu, memory * MIB, alive=True)

    def monotonic(self) -> float:
        return self.now

    def read(self, pid: int) -> Process | None:
        return self.worker

    def descendants(self, pid: int, *, without: Container[int] = ()) -> list[Process]:
        return self.children

    def memory_of(self, family: Iterable[Process]) -> int:
        return sum(process.memory_bytes for process in family) - self.shared


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr("rewardhub.engine.workers.meter.time", machine)
    return machine


def metered(machine: Machine, limits: Limits, *, before: float = 0.0) -> Meter:
    return Meter(machine, 1, limits, cpu_seconds=before)


def test_finds_nothing_within_the_limits(machine: Machine) -> None:
    meter = metered(machine, Limits(cpu_seconds=2, wall_seconds=5, memory_mb=100))
    machine.now += 5
    machine.use(cpu=2.0, memory=100)
    assert meter.look() is None
    assert (meter.cpu_seconds, meter.memory_mb, meter.seconds) == (2.0, 100.0, 5.0)


def test_finds_too_much_cpu_time(machine: Machine) -> None:
    meter = metered(machine, Limits(cpu_seconds=2))
    machine.use(cpu=2.5)
    assert meter.look() == Breach("cpu", "used more than 2 s of CPU time")


def test_counts_from_what_was_used_before(machine: Machine) -> None:
    meter = metered(machine, Limits(cpu_seconds=2), before=10.0)
    machine.use(cpu=11.5)
    assert meter.look() is None
    assert meter.cpu_seconds == 1.5


def test_adds_up_the_family(machine: Machine) -> None:
    meter = metered(machine, Limits(cpu_seconds=2, memory_mb=100))
    machine.use(cpu=1.5, memory=60)
    machine.children = [Process(2, 1.0, 30 * MIB, alive=True)]
    breach = meter.look()
    assert breach is not None
    assert (breach.end, meter.memory_mb) == ("cpu", 90.0)


def test_finds_too_much_wall_time(machine: Machine) -> None:
    meter = metered(machine, Limits(wall_seconds=5))
    machine.now += 5.1
    assert meter.look() == Breach("wall", "took longer than 5 s")


def test_finds_too_much_memory(machine: Machine) -> None:
    meter = metered(machine, Limits(memory_mb=100))
    machine.use(memory=101)
    assert meter.look() == Breach("memory", "used more than 100 MB of memory")


def test_counts_shared_memory_once(machine: Machine) -> None:
    meter = metered(machine, Limits(memory_mb=100))
    machine.use(memory=80)
    machine.children = [Process(2, 0.0, 80 * MIB, alive=True)]
    machine.shared = 70 * MIB
    assert meter.look() is None
    assert meter.memory_mb == 90.0


def test_remembers_the_most_memory(machine: Machine) -> None:
    meter = metered(machine, Limits())
    for memory in (10, 300, 20):
        machine.use(memory=memory)
        meter.look()
    assert meter.memory_mb == 300.0


def test_knows_no_memory_before_the_first_look(machine: Machine) -> None:
    assert metered(machine, Limits()).memory_mb is None


def test_finds_too_many_processes(machine: Machine) -> None:
    meter = metered(machine, Limits())
    machine.children = [Process(pid, 0.0, 0, alive=True) for pid in range(2, 300)]
    assert meter.look() == Breach("memory", "started more than 256 processes")


@pytest.mark.parametrize("worker", [None, Process(1, 0.0, 0, alive=False)])
def test_finds_a_dead_worker(machine: Machine, worker: Process | None) -> None:
    meter = metered(machine, Limits())
    machine.worker = worker
    assert meter.look() == Breach("died", "")


def test_finds_nothing_without_limits(machine: Machine) -> None:
    meter = metered(machine, Limits(cpu_seconds=None, wall_seconds=None, memory_mb=None))
    machine.use(cpu=1e6, memory=10**6)
    machine.now += 1e6
    assert meter.look() is None


def test_holds_a_narrower_bound_until_it_is_taken_back(machine: Machine) -> None:
    meter = metered(machine, Limits(cpu_seconds=10))
    machine.use(cpu=5.0)
    meter.narrow(1, 1.0, None, cpu_now=5.0)
    machine.use(cpu=6.5)
    assert meter.look() == Breach("cpu", "used more than 1 s of CPU time")
    meter.widen(1)
    assert meter.look() is None


def test_looks_at_the_latest_when_a_bound_ends(machine: Machine) -> None:
    meter = metered(machine, Limits())
    meter.narrow(1, None, 0.001, cpu_now=0.0)
    assert meter.pause == pytest.approx(0.001)


def test_looks_more_often_once_memory_gets_short(machine: Machine) -> None:
    meter = metered(machine, Limits(memory_mb=100))
    machine.use(memory=10)
    meter.look()
    far = meter.pause
    machine.use(memory=60)
    meter.look()
    assert meter.pause < far / 5


def test_believes_the_worker_about_its_cpu_time(machine: Machine) -> None:
    meter = metered(machine, Limits(), before=1.0)
    meter.heard(3.5)
    assert meter.cpu_seconds == 2.5

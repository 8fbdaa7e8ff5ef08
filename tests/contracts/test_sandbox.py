"""Whose fault an outcome is, and what follows from `start`."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable
from contextlib import contextmanager

import pytest

from rewardhub.contracts import Job, Outcome, Program, ProgramEndedError, Sandbox
from rewardhub.errors import InfrastructureError

OK = Outcome(status="ok", exit_code=0)
WALL = Outcome(status="timeout", limit="wall", reason="ran longer than 30 s")
CPU = Outcome(status="timeout", limit="cpu")
BROKE = Outcome(status="sandbox_error", reason="the fork server is gone")


class Scripted(Sandbox):
    """Plays outcomes in order, and writes down what was asked of it."""

    def __init__(self, outcomes: Iterable[Outcome], canary: str = "") -> None:
        self.outcomes = list(outcomes)
        self.trouble = canary
        self.log: list[str] = []

    def start(self, *jobs: Job) -> tuple[Program, ...]:
        return tuple(Ended(self.outcomes.pop(0), self.log) for _ in jobs)

    def play(self) -> Outcome:
        self.log.append("play")
        return self.run(Job())

    @contextmanager
    def alone(self) -> Generator[None]:
        self.log.append("alone")
        yield
        self.log.append("together")

    def canary(self) -> str:
        self.log.append("canary")
        return self.trouble


class Ended(Program):
    def __init__(self, outcome: Outcome, log: list[str]) -> None:
        self.outcome = outcome
        self.log = log

    def send(self, message: bytes) -> None:
        del message

    def receive(self) -> bytes:
        raise ProgramEndedError(self.outcome)

    def finish(self) -> Outcome:
        return self.outcome

    def kill(self) -> Outcome:
        self.log.append("left")
        return self.outcome


def test_run_and_arun_start_one_program_and_leave_it_ended() -> None:
    sandbox = Scripted([OK, CPU])
    assert sandbox.run(Job()) is OK
    assert asyncio.run(sandbox.arun(Job())) is CPU
    assert sandbox.log == ["left", "left"]


def test_a_program_that_ended_says_how() -> None:
    (program,) = Scripted([WALL]).start(Job())
    with pytest.raises(ProgramEndedError, match="ran longer than 30 s") as caught:
        program.receive()
    assert caught.value.outcome is WALL


@pytest.mark.parametrize("outcome", [OK, CPU, Outcome(status="oom"), Outcome(status="killed")])
def test_what_is_plain_is_played_once(outcome: Outcome) -> None:
    sandbox = Scripted([outcome])
    assert sandbox.fairly(sandbox.play) is outcome
    assert sandbox.log == ["play", "left"]


def test_a_wall_limit_is_played_again_alone_and_a_quick_canary_confirms_it() -> None:
    sandbox = Scripted([WALL, WALL])
    assert sandbox.fairly(sandbox.play) is WALL
    assert sandbox.log == ["play", "left", "alone", "play", "left", "canary", "together"]


def test_a_wall_limit_that_does_not_come_again_is_forgotten() -> None:
    sandbox = Scripted([WALL, OK])
    assert sandbox.fairly(sandbox.play) is OK
    assert "canary" not in sandbox.log


def test_a_slow_canary_makes_a_wall_limit_the_fault_of_the_machine() -> None:
    sandbox = Scripted([WALL, WALL], canary="took 9 s instead of 0.01 s")
    with pytest.raises(InfrastructureError, match=r"longer than 30 s; .*: took 9 s"):
        sandbox.fairly(sandbox.play)


def test_a_sandbox_that_breaks_once_is_tried_again() -> None:
    sandbox = Scripted([BROKE, OK])
    assert sandbox.fairly(sandbox.play) is OK


@pytest.mark.parametrize("outcomes", [[BROKE, BROKE], [BROKE, WALL, BROKE], [WALL, BROKE]])
def test_a_sandbox_that_breaks_again_beside_a_good_canary_was_attacked(
    outcomes: list[Outcome],
) -> None:
    sandbox = Scripted(outcomes)
    outcome = sandbox.fairly(sandbox.play)
    assert outcome.status == "killed"
    assert "the fork server is gone" in outcome.tampered[0]
    assert not sandbox.outcomes


@pytest.mark.parametrize("outcomes", [[BROKE, BROKE], [WALL, BROKE]])
def test_a_sandbox_that_breaks_for_the_canary_too_is_infrastructure(
    outcomes: list[Outcome],
) -> None:
    sandbox = Scripted(outcomes, canary="it broke as well")
    with pytest.raises(InfrastructureError, match="fork server is gone; .* it broke as well"):
        sandbox.fairly(sandbox.play)


def test_a_backend_without_channels_says_so() -> None:
    class Plain(Sandbox):
        def run(self, job: Job) -> Outcome:
            del job
            return OK

    plain = Plain()
    assert plain.run(Job()) is OK
    assert plain.canary() == ""
    with plain.alone(), pytest.raises(InfrastructureError, match="use `local` or `docker`"):
        plain.start(Job())

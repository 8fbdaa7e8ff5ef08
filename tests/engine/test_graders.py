"""Graders and resources: opened once, closed once, where they grade."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from rewardhub.contracts import Grader, Job, Options, Outcome, Sandbox
from rewardhub.engine import Engine
from rewardhub.host import GraderCard, Registry, SandboxCard, registry_of
from rewardhub.records import Trajectory
from rewardhub.testing import make_trajectory

SpecOf = Callable[..., dict[str, Any]]


def _texts(*lengths: int) -> list[Trajectory]:
    return [make_trajectory("x" * length) for length in lengths]


def test_a_grader_is_opened_once_and_closed_once_where_it_grades(
    plain: Registry, spec_of: SpecOf, log: Path
) -> None:
    spec = spec_of({"use": "plain/keeps", "options": {"log": str(log)}})
    with Engine(spec, registry=plain) as engine:
        assert [reward.value for reward in engine.score_all(_texts(1, 2))] == [1.0, 1.0]
    mine = psutil.Process().pid
    assert log.read_text().splitlines() == [
        f"{what} {mine}" for what in ("open", "grade", "grade", "close")
    ]


def test_entries_with_equal_options_share_one_instance(
    plain: Registry, spec_of: SpecOf, log: Path
) -> None:
    keeps = {"use": "plain/keeps", "options": {"log": str(log)}}
    spec = spec_of({**keeps, "as": "one"}, {**keeps, "as": "two", "weight": 3})
    with Engine(spec, registry=plain) as engine:
        assert engine.score(make_trajectory("x")).value == 1.0
    assert [line.split()[0] for line in log.read_text().splitlines()] == [
        "open", "grade", "grade", "close",
    ]  # fmt: skip


def test_the_specs_of_a_route_share_their_graders(
    plain: Registry, spec_of: SpecOf, log: Path
) -> None:
    keeps = spec_of({"use": "plain/keeps", "options": {"log": str(log)}})
    route = {"by": "task.domain", "math": keeps, "code": keeps}
    with Engine({"rewardhub": 1, "route": route}, registry=plain) as engine:
        rewards = [engine.score(make_trajectory("x", domain=name)) for name in ("math", "code")]
    assert [reward.value for reward in rewards] == [1.0, 1.0]
    assert log.read_text().count("open") == log.read_text().count("close") == 1


class Opens(Options, Sandbox):
    def open(self) -> None:
        EVENTS.append("open sandbox")

    def close(self) -> None:
        EVENTS.append("close sandbox")

    def run(self, job: Job) -> Outcome:
        return Outcome(status="ok")

    async def arun(self, job: Job) -> Outcome:
        return self.run(job)


class Fragile(Grader):
    breaks: str = ""

    def open(self) -> None:
        EVENTS.append("open grader")
        if self.breaks == "open":
            raise OSError("no such model")

    def close(self) -> None:
        EVENTS.append("close grader")
        if self.breaks == "close":
            raise OSError("cannot close")

    def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> float:
        return 1.0


EVENTS: list[str] = []


def _fragile(breaks: str, spec_of: SpecOf) -> Engine:
    EVENTS.clear()
    cards = (
        GraderCard(name="test/fragile", grader=Fragile),
        SandboxCard(name="opens", sandbox=Opens),
    )
    entry = {"use": "test/fragile", "options": {"breaks": breaks}}
    spec = spec_of(entry) | {"resources": {"sandbox": {"use": "opens"}}}
    return Engine(spec, registry=registry_of(*cards))


def test_resources_are_opened_before_and_closed_after_the_graders(spec_of: SpecOf) -> None:
    with _fragile("", spec_of) as engine:
        assert engine.score(make_trajectory("x")).value == 1.0
    assert EVENTS == ["open sandbox", "open grader", "close grader", "close sandbox"]


def test_what_was_opened_is_closed_if_a_grader_does_not_open(spec_of: SpecOf) -> None:
    with pytest.raises(OSError, match="no such model"):
        _fragile("open", spec_of).open()
    assert EVENTS == ["open sandbox", "open grader", "close sandbox"]


def test_all_the_rest_is_closed_if_a_grader_does_not_close(spec_of: SpecOf) -> None:
    engine = _fragile("close", spec_of)
    engine.score(make_trajectory("x"))
    with pytest.raises(OSError, match="cannot close"):
        engine.close()
    assert EVENTS[-1] == "close sandbox"
    assert "rewardhub-engine" not in [thread.name for thread in threading.enumerate()]


def test_a_thread_that_never_ends_keeps_nobody_from_closing(spec_of: SpecOf) -> None:
    stuck = threading.Event()

    class Stuck(Grader):
        def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> float:
            stuck.wait(600)
            return 1.0

    cards = (
        GraderCard(name="test/stuck", grader=Stuck),
        SandboxCard(name="opens", sandbox=Opens),
    )
    entry = {"use": "test/stuck", "limits": {"wall_seconds": 0.05}}
    spec = spec_of(entry) | {"resources": {"sandbox": {"use": "opens"}}}
    with Engine(spec, registry=registry_of(*cards)) as engine:
        reward = engine.score(make_trajectory("x"))
    assert (reward.value, reward.fault) == (None, "grader")
    assert "longer than 0.05 s" in reward.reason
    left = [each for each in threading.enumerate() if each.name == "rewardhub-grader"]
    assert left
    assert all(each.daemon for each in left)
    stuck.set()
    for thread in left:
        thread.join()

"""Each resource has its own concurrency, rate and budget, whoever uses it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rewardhub.contracts import (
    Grader,
    Job,
    Judge,
    JudgeReply,
    Model,
    Options,
    Outcome,
    Program,
    Sandbox,
)
from rewardhub.engine import Engine
from rewardhub.engine.metering import Meter, metered
from rewardhub.errors import InfrastructureError
from rewardhub.host import GraderCard, JudgeCard, SandboxCard, registry_of
from rewardhub.records import Trajectory
from rewardhub.spec.model import ResourceEntry
from rewardhub.testing import make_trajectory

SpecOf = Callable[..., dict[str, Any]]


class Crowd:
    """Counts how many are inside at once."""

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0
        self.calls = 0
        self.lock = threading.Lock()

    def enter(self) -> None:
        with self.lock:
            self.calls += 1
            self.inside += 1
            self.most = max(self.most, self.inside)

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1


CROWD = Crowd()


class Busy(Options, Sandbox):
    """Takes a moment, and counts who is inside."""

    level: str = "one"

    def run(self, job: Job) -> Outcome:
        CROWD.enter()
        time.sleep(0.01)
        CROWD.leave()
        return Outcome(status="ok", stdout=str(job.stdin))

    async def arun(self, job: Job) -> Outcome:
        CROWD.enter()
        await asyncio.sleep(0.01)
        CROWD.leave()
        return Outcome(status="ok", stdout=str(job.stdin))


class Talks(Options, Judge):
    async def ask(
        self, messages: Sequence[Any], *, schema: Any = None, seed: Any = None
    ) -> JudgeReply:
        CROWD.enter()
        await asyncio.sleep(0.01)
        CROWD.leave()
        return JudgeReply(text="1", data=seed)


class Weights(Options, Model):
    def forward(self, inputs: Sequence[str], **parameters: Any) -> Sequence[Any]:
        CROWD.enter()
        CROWD.leave()
        return [(each, parameters) for each in inputs]


@pytest.fixture(autouse=True)
def _new_crowd() -> None:
    CROWD.__init__()  # type: ignore[misc]


def _entry(resource: Any, **limits: Any) -> ResourceEntry:
    return ResourceEntry(name="box", use="busy", resource=resource, **limits)


def test_without_limits_a_resource_is_itself() -> None:
    busy = Busy()
    assert metered(_entry(busy)) is busy


def test_a_metered_resource_looks_like_the_one_behind_it() -> None:
    box: Any = metered(_entry(Busy(level="two"), max_concurrency=1))
    assert (box.level, box.kind, dict(box.identity)) == ("two", "sandbox", {})
    assert box.run(Job(stdin="x")).stdout == "x"
    assert asyncio.run(box.arun(Job(stdin="y"))).stdout == "y"


def test_no_more_calls_at_a_time_than_allowed_from_threads() -> None:
    box: Any = metered(_entry(Busy(), max_concurrency=2))
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(box.run, [Job()] * 16))
    assert (CROWD.calls, CROWD.most) == (16, 2)


def test_no_more_calls_at_a_time_than_allowed_from_coroutines() -> None:
    judge: Any = metered(_entry(Talks(), max_concurrency=2))

    async def ask_all() -> list[Any]:
        return list(await asyncio.gather(*(judge.ask([], seed=seed) for seed in range(16))))

    assert [reply.data for reply in asyncio.run(ask_all())] == list(range(16))
    assert (CROWD.calls, CROWD.most) == (16, 2)


class Idle(Program):
    def send(self, message: bytes) -> None:
        del message

    def receive(self) -> bytes:
        return b"here"

    def finish(self) -> Outcome:
        return Outcome(status="ok")

    def kill(self) -> Outcome:
        return Outcome(status="killed")


class Talking(Options, Sandbox):
    def start(self, *jobs: Job) -> tuple[Program, ...]:
        return tuple(Idle() for _ in jobs)


def test_a_program_keeps_its_place_until_it_and_its_partners_have_ended() -> None:
    box: Any = metered(_entry(Talking(), max_concurrency=1))
    first, second = box.start(Job(), Job())
    first.send(b"")
    assert first.receive() == b"here"
    later = threading.Thread(target=box.run, args=(Job(),))
    later.start()
    assert (first.finish().status, first.kill().status) == ("ok", "killed")
    later.join(0.2)
    assert later.is_alive()
    second.kill()
    later.join(30)
    assert not later.is_alive()


def test_programs_that_cannot_start_give_their_place_back() -> None:
    class Broken(Options, Sandbox):
        pass

    box: Any = metered(_entry(Broken(), max_concurrency=1))
    for _ in range(3):
        with pytest.raises(InfrastructureError, match="whole programs only"):
            box.start(Job())


def test_a_call_that_raises_gives_its_place_back() -> None:
    meter = Meter(_entry(Busy(), max_concurrency=1))
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            meter.run(lambda: 1 / 0)
    assert meter.run(lambda: "in") == "in"


def test_a_budget_ends() -> None:
    model: Any = metered(_entry(Weights(), max_calls=2))
    assert model.forward(["a"], depth=3) == [("a", {"depth": 3})]
    model.forward(["b"])
    with pytest.raises(InfrastructureError, match="`box` is used up: max_calls is 2"):
        model.forward(["c"])
    assert CROWD.calls == 2


def test_calls_are_spread_over_the_minute() -> None:
    meter = Meter(_entry(Busy(), max_per_minute=60.0))
    waits = [meter.admit() for _ in range(4)]
    assert waits[0] == 0.0
    # The n-th call starts n seconds after the first, whenever it came.
    assert all(count - 1 < wait <= count for count, wait in enumerate(waits[1:], start=1))


# --- through the engine ---------------------------------------------------------------------------


class Runs(Grader):
    def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> float:
        return float(sandbox.run(Job()).status == "ok")


class Asks(Grader):
    async def grade(self, trajectory: Trajectory, judge: Judge) -> float:
        return float((await judge.ask([])).text)


CARDS = (
    GraderCard(name="test/runs", grader=Runs),
    GraderCard(name="test/asks", grader=Asks),
    SandboxCard(name="busy", sandbox=Busy),
    JudgeCard(name="talks", judge=Talks),
)
BOX = {"use": "busy"}
JUDGE = {"use": "talks"}


@pytest.mark.parametrize(
    ("use", "resources"),
    [("test/runs", {"sandbox": BOX}), ("test/asks", {"judge": JUDGE})],
)
def test_graders_share_the_limits_of_their_resource(
    use: str, resources: dict[str, Any], spec_of: SpecOf
) -> None:
    limited = {name: {**resource, "max_concurrency": 2} for name, resource in resources.items()}
    spec = spec_of({"use": use, "as": "one"}, {"use": use, "as": "two"}) | {"resources": limited}
    with Engine(spec, registry=registry_of(*CARDS)) as engine:
        values = [
            reward.value for reward in engine.score_all(make_trajectory("x") for _ in range(8))
        ]
    assert values == [1.0] * 8
    assert (CROWD.calls, CROWD.most) == (16, 2)


@pytest.mark.usefixtures("no_pauses")
def test_a_budget_that_is_used_up_leaves_the_rest_unscored(spec_of: SpecOf) -> None:
    spec = spec_of({"use": "test/asks"}) | {"resources": {"judge": {**JUDGE, "max_calls": 3}}}
    with Engine(spec, registry=registry_of(*CARDS)) as engine:
        rewards = list(engine.score_all(make_trajectory("x") for _ in range(5)))
    assert sorted(str(reward.value) for reward in rewards) == ["1.0"] * 3 + ["None"] * 2
    assert {reward.fault for reward in rewards if reward.value is None} == {"infrastructure"}
    assert CROWD.calls == 3


def test_equal_resources_of_a_route_have_one_budget(spec_of: SpecOf) -> None:
    one = spec_of({"use": "test/runs"}) | {"resources": {"sandbox": {**BOX, "max_calls": 2}}}
    route = {"rewardhub": 1, "route": {"by": "task.domain", "math": one, "code": one}}
    with Engine(route, registry=registry_of(*CARDS)) as engine:
        for domain in ("math", "code"):
            assert engine.score(make_trajectory("x", domain=domain)).value == 1.0
    assert CROWD.calls == 2


def test_a_parameter_may_be_bound_to_a_resource_of_another_name(spec_of: SpecOf) -> None:
    resources = {"small": {**BOX, "level": "small"}, "large": {**BOX, "level": "large"}}
    spec = spec_of({"use": "test/runs", "bind": {"sandbox": "large"}}) | {"resources": resources}
    with Engine(spec, registry=registry_of(*CARDS)) as engine:
        assert engine.score(make_trajectory("x")).value == 1.0
    assert CROWD.calls == 1


def test_waiting_for_a_turn_is_not_counted_against_the_limit(spec_of: SpecOf) -> None:
    limited = {**JUDGE, "max_per_minute": 40.0}  # one in 1.5 s, so the second waits as long
    entry = {"use": "test/asks", "limits": {"wall_seconds": 1.0}}
    spec = spec_of(entry) | {"resources": {"judge": limited}}
    with Engine(spec, registry=registry_of(*CARDS)) as engine:
        rewards = list(engine.score_all(make_trajectory("x") for _ in range(2)))
    assert [reward.value for reward in rewards] == [1.0] * 2
    assert CROWD.calls == 2

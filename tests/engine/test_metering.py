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
    Usage,
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
        self,
        messages: Sequence[Any],
        *,
        schema: Any = None,
        seed: Any = None,
        logprobs: int = 0,
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
    box: Any = metered(_entry(Busy(), max_concurrency=2))

    async def run_all() -> list[Any]:
        return list(await asyncio.gather(*(box.arun(Job(stdin=f"{n}")) for n in range(16))))

    assert [outcome.stdout for outcome in asyncio.run(run_all())] == [f"{n}" for n in range(16)]
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
    meter = Meter(_entry(Busy(), max_per_minute=1200.0))
    starts = [meter.run(time.monotonic) for _ in range(4)]
    # The n-th call starts n twentieths of a second after the first, at the earliest.
    assert all(later - starts[0] >= n / 20 - 1e-3 for n, later in enumerate(starts))


# --- the queue ------------------------------------------------------------------------------------


async def _order(meter: Meter, names: Sequence[str], cancelled: Sequence[str] = ()) -> list[str]:
    """Return the order in which turns come to those who wait while another one is inside."""
    came: list[str] = []

    async def come(name: str) -> None:
        turn = await meter.atake()
        came.append(name)
        turn.end()

    first = await meter.atake()
    tasks = {name: asyncio.create_task(come(name)) for name in names}
    await asyncio.sleep(0)
    for name in cancelled:
        tasks[name].cancel()
    first.end()
    await asyncio.gather(*tasks.values(), return_exceptions=True)
    return came


def test_turns_come_in_the_order_of_arrival() -> None:
    meter = Meter(_entry(Busy(), max_concurrency=1))
    names = [f"{n}" for n in range(200)]
    assert asyncio.run(_order(meter, names)) == names


def test_whoever_gives_up_waiting_holds_up_nobody() -> None:
    meter = Meter(_entry(Busy(), max_concurrency=1))
    assert asyncio.run(_order(meter, ["a", "b", "c", "d"], cancelled=["a", "c"])) == ["b", "d"]
    assert meter.run(lambda: "in") == "in"


def test_threads_and_coroutines_stand_in_one_queue() -> None:
    meter = Meter(_entry(Busy(), max_concurrency=1))
    inside = meter.take()
    came: list[str] = []

    async def come() -> None:
        turn = await meter.atake()
        came.append("coroutine")
        turn.end()

    def on_thread() -> None:
        turn = meter.take()
        came.append("thread")
        turn.end()

    async def both() -> None:
        thread = threading.Thread(target=on_thread)
        thread.start()
        waiting = asyncio.create_task(come())
        await asyncio.sleep(0.01)
        inside.end()
        await waiting
        thread.join(10)

    asyncio.run(both())
    assert sorted(came) == ["coroutine", "thread"]


# --- tokens and money -----------------------------------------------------------------------------


def _usage(tokens: int, cost: float = 0.0) -> Usage:
    return Usage(prompt_tokens=tokens, cost=cost)


@pytest.mark.parametrize(
    ("limits", "usage"),
    [({"max_tokens": 100}, _usage(60)), ({"max_cost": 1.0}, _usage(0, 0.6))],
)
def test_a_call_that_might_pass_a_budget_waits_for_what_others_give_back(
    limits: dict[str, Any], usage: Usage
) -> None:
    meter = Meter(_entry(Talks(), **limits))

    async def both() -> list[str]:
        events: list[str] = []
        first = await meter.atake(usage)
        second = asyncio.create_task(meter.atake(usage))
        await asyncio.sleep(0.01)
        events.append("in" if second.done() else "waits")
        first.end(_usage(1, 0.01))
        (await second).end()
        events.append("in")
        return events

    assert asyncio.run(both()) == ["waits", "in"]


@pytest.mark.parametrize(
    ("limits", "usage", "message"),
    [
        ({"max_tokens": 100}, _usage(60), "max_tokens is 100"),
        ({"max_cost": 1.0}, _usage(0, 0.6), "max_cost is 1.0"),
        ({"max_calls": 1}, _usage(0), "max_calls is 1"),
    ],
)
def test_a_budget_that_nobody_gives_back_is_used_up(
    limits: dict[str, Any], usage: Usage, message: str
) -> None:
    meter = Meter(_entry(Talks(), **limits))
    meter.take(usage).end(usage)
    with pytest.raises(InfrastructureError, match=f"`box` is used up: {message}") as caught:
        meter.take(usage)
    assert not caught.value.passing
    assert (meter.calls, meter.used) == (1, usage)


def test_all_who_wait_are_told_that_a_budget_is_used_up() -> None:
    meter = Meter(_entry(Talks(), max_tokens=100))

    async def crowd() -> list[Any]:
        first = await meter.atake(_usage(60))
        others = [asyncio.create_task(meter.atake(_usage(60))) for _ in range(20)]
        await asyncio.sleep(0.01)
        first.end(_usage(60))
        return await asyncio.gather(*others, return_exceptions=True)

    assert {type(each) for each in asyncio.run(crowd())} == {InfrastructureError}


def test_a_turn_that_is_given_back_counts_nothing() -> None:
    meter = Meter(_entry(Talks(), max_calls=1, max_tokens=100))
    meter.take(_usage(90)).give_back()
    meter.take(_usage(90)).end(_usage(90))
    assert (meter.calls, meter.used.prompt_tokens) == (1, 90)


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("rewardhub.engine.metering.time", made)
    return made


def test_tokens_are_counted_in_each_minute(clock: Clock) -> None:
    meter = Meter(_entry(Talks(), max_tokens_per_minute=100))
    meter.take(_usage(60)).end(_usage(60))
    clock.now += 30
    meter.take(_usage(40)).end(_usage(30))

    async def comes_in_time() -> bool:
        waiting = asyncio.create_task(meter.atake(_usage(11)))
        await asyncio.sleep(0.01)
        if waiting.done():
            waiting.result().end(_usage(11))
            return True
        waiting.cancel()
        return False

    assert not asyncio.run(comes_in_time())
    clock.now += 29.9
    assert not asyncio.run(comes_in_time())
    clock.now += 0.1  # the first call is a minute ago
    assert asyncio.run(comes_in_time())


def test_a_call_over_the_tokens_of_a_minute_never_comes_in_turn() -> None:
    meter = Meter(_entry(Talks(), max_tokens_per_minute=100))
    with pytest.raises(InfrastructureError, match="may use 101 tokens, and max_tokens_per_minute"):
        meter.take(_usage(101))
    meter.take(_usage(100)).end()


# --- through the engine ---------------------------------------------------------------------------


class Runs(Grader):
    def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> float:
        return float(sandbox.run(Job()).status == "ok")


class Asks(Grader):
    seed: int = 0

    async def grade(self, trajectory: Trajectory, judge: Judge) -> float:
        question = {"role": "user", "content": trajectory.final_text}
        return float((await judge.ask([question], seed=self.seed)).text)


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
    second = {"use": use, "as": "two", "options": {"seed": 1} if "judge" in resources else {}}
    spec = spec_of({"use": use, "as": "one"}, second) | {"resources": limited}
    with Engine(spec, registry=registry_of(*CARDS)) as engine:
        values = [
            reward.value for reward in engine.score_all(make_trajectory(f"{n}") for n in range(8))
        ]
    assert values == [1.0] * 8
    assert (CROWD.calls, CROWD.most) == (16, 2)


def test_a_budget_that_is_used_up_leaves_the_rest_unscored(spec_of: SpecOf) -> None:
    spec = spec_of({"use": "test/asks"}) | {"resources": {"judge": {**JUDGE, "max_calls": 3}}}
    with Engine(spec, registry=registry_of(*CARDS)) as engine:
        rewards = list(engine.score_all(make_trajectory(f"{n}") for n in range(5)))
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
        rewards = list(engine.score_all(make_trajectory(f"{n}") for n in range(2)))
    assert [reward.value for reward in rewards] == [1.0] * 2
    assert CROWD.calls == 2

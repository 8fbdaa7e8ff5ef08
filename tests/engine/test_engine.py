"""Scoring in this process: from anywhere, in order, with every shape of grader."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from rewardhub.contracts import Grader, GroupGrader, Job, Options, Outcome, Sandbox
from rewardhub.engine import Engine
from rewardhub.engine import engine as engine_module
from rewardhub.errors import InfrastructureError, SpecError, UsageError
from rewardhub.host import GraderCard, Registry, SandboxCard, hookimpl, registry_of
from rewardhub.records import Reward, Trajectory
from rewardhub.testing import make_trajectory

SpecOf = Callable[..., dict[str, Any]]


def _texts(*lengths: int) -> list[Trajectory]:
    return [make_trajectory("x" * length) for length in lengths]


LENGTH = {"use": "plain/length"}
LATER = {"use": "plain/later"}


# --- from anywhere --------------------------------------------------------------------------------


@pytest.mark.parametrize("use", ["plain/length", "plain/later"])
def test_scores_from_a_plain_call(use: str, plain: Registry, spec_of: SpecOf) -> None:
    with Engine(spec_of({"use": use}), registry=plain) as engine:
        assert engine.score(make_trajectory("x" * 5)).value == 0.5


@pytest.mark.parametrize("use", ["plain/length", "plain/later"])
def test_scores_from_a_running_loop(use: str, plain: Registry, spec_of: SpecOf) -> None:
    async def both(engine: Engine) -> tuple[Reward, Reward]:
        return engine.score(make_trajectory("x" * 5)), await engine.ascore(make_trajectory("x"))

    with Engine(spec_of({"use": use}), registry=plain) as engine:
        blocking, waiting = asyncio.run(both(engine))
    assert (blocking.value, waiting.value) == (0.5, 0.1)


@pytest.mark.parametrize("use", ["plain/length", "plain/later"])
def test_scores_from_many_threads_at_once(use: str, plain: Registry, spec_of: SpecOf) -> None:
    trajectories = _texts(*range(11)) * 20
    with (
        Engine(spec_of({"use": use}), registry=plain) as engine,
        ThreadPoolExecutor(8) as threads,
    ):
        values = [reward.value for reward in threads.map(engine.score, trajectories)]
    assert values == [length / 10 for length in range(11)] * 20


def test_many_coroutines_wait_at_once(plain: Registry, spec_of: SpecOf) -> None:
    async def all_of_them(engine: Engine) -> list[Reward]:
        return list(await asyncio.gather(*(engine.ascore(each) for each in _texts(*range(11)))))

    with Engine(spec_of(LATER), registry=plain) as engine:
        rewards = asyncio.run(all_of_them(engine))
    assert [reward.value for reward in rewards] == [length / 10 for length in range(11)]


def test_opens_by_the_first_use(plain: Registry, spec_of: SpecOf) -> None:
    engine = Engine(spec_of(LENGTH), registry=plain)
    assert engine.score(make_trajectory("x" * 10)).value == 1.0
    engine.close()


def test_works_again_after_it_was_closed(plain: Registry, spec_of: SpecOf) -> None:
    both = spec_of(LATER, {"use": "plain/batch"})
    engine = Engine(both, registry=plain)
    for _ in range(2):
        with engine:
            assert [reward.value for reward in engine.score_all(_texts(1, 5))] == [0.1, 0.5]


def test_closing_twice_is_no_error(plain: Registry, spec_of: SpecOf) -> None:
    engine = Engine(spec_of(LATER), registry=plain)
    engine.score(make_trajectory("x"))
    engine.close()
    engine.close()


@pytest.mark.parametrize("workers", [0, -1])
def test_an_engine_needs_a_worker(workers: int, plain: Registry, spec_of: SpecOf) -> None:
    with pytest.raises(UsageError, match=f"not {workers}"):
        Engine(spec_of(LENGTH), registry=plain, workers=workers)


def test_mistakes_of_the_reward_file_come_before_anything_runs(
    plain: Registry, spec_of: SpecOf
) -> None:
    with pytest.raises(SpecError, match="plain/lenght"):
        Engine(spec_of({"use": "plain/lenght"}), registry=plain)


def test_a_registry_in_memory_says_what_workers_would_need(spec_of: SpecOf) -> None:
    class Contained(Grader):
        def grade(self, trajectory: Trajectory) -> float:
            return 1.0

    card = GraderCard(name="test/contained", grader=Contained, runs_in="process")
    with (
        Engine(spec_of({"use": "test/contained"}), registry=registry_of(card)) as engine,
        pytest.raises(UsageError, match="loose="),
    ):
        engine.score(make_trajectory("x"))


# --- many, in order -------------------------------------------------------------------------------


class Late(Grader):
    """The longer the answer, the sooner it is done."""

    async def grade(self, trajectory: Trajectory) -> float:
        await asyncio.sleep((10 - len(trajectory.final_text)) / 200)
        return len(trajectory.final_text) / 10


@pytest.fixture
def late(spec_of: SpecOf) -> Iterator[Engine]:
    card = GraderCard(name="test/late", grader=Late)
    with Engine(spec_of({"use": "test/late"}), registry=registry_of(card)) as engine:
        yield engine


def test_all_rewards_come_in_the_order_of_the_trajectories(late: Engine) -> None:
    values = [reward.value for reward in late.score_all(_texts(*range(11)))]
    assert values == [length / 10 for length in range(11)]


@pytest.mark.parametrize("is_async", [False, True])
def test_all_rewards_come_in_order_on_a_loop(is_async: bool, late: Engine) -> None:
    async def later() -> AsyncIterator[Trajectory]:
        for each in _texts(*range(11)):
            await asyncio.sleep(0)
            yield each

    async def collect() -> list[float | None]:
        given = later() if is_async else _texts(*range(11))
        return [reward.value async for reward in late.ascore_all(given)]

    assert asyncio.run(collect()) == [length / 10 for length in range(11)]


def test_equal_trajectories_are_legal(late: Engine) -> None:
    (one,) = _texts(7)
    assert [reward.value for reward in late.score_all([one, one, one])] == [0.7] * 3


@pytest.mark.parametrize("use", ["plain/length", "plain/later"])
def test_a_reward_is_there_before_the_input_ends(
    use: str, plain: Registry, spec_of: SpecOf
) -> None:
    seen: list[Reward] = []

    def endless() -> Iterator[Trajectory]:
        while not seen:
            yield make_trajectory("x")
            time.sleep(0.001)

    with Engine(spec_of({"use": use}), registry=plain) as engine:
        for reward in engine.score_all(endless()):
            seen.append(reward)
    assert seen


def test_no_more_than_a_window_is_under_way(
    monkeypatch: pytest.MonkeyPatch, spec_of: SpecOf
) -> None:
    released = threading.Event()
    taken: list[int] = []

    class Held(Grader):
        async def grade(self, trajectory: Trajectory) -> float:
            while not released.is_set():
                await asyncio.sleep(0.005)
            return 1.0

    def given() -> Iterator[Trajectory]:
        for number in range(20):
            taken.append(number)
            if number == 4:
                threading.Timer(0.1, release).start()
            yield make_trajectory("x")

    def release() -> None:
        most.append(len(taken))
        released.set()

    most: list[int] = []
    monkeypatch.setattr(engine_module, "WINDOW", 5)
    registry = registry_of(GraderCard(name="test/held", grader=Held))
    with Engine(spec_of({"use": "test/held"}), registry=registry) as engine:
        assert len(list(engine.score_all(given()))) == 20
    assert most == [5]


def test_leaving_early_gives_up_what_nobody_waits_for(spec_of: SpecOf) -> None:
    ends: Counter[str] = Counter()
    both_wait = asyncio.Event()

    class Patient(Grader):
        async def grade(self, trajectory: Trajectory) -> float:
            if trajectory.final_text == "first":
                await both_wait.wait()
                return 1.0
            ends["begun"] += 1
            if ends["begun"] == 2:
                both_wait.set()
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                ends["cancelled"] += 1
                raise
            return 0.0

    registry = registry_of(GraderCard(name="test/patient", grader=Patient))
    with Engine(spec_of({"use": "test/patient"}), registry=registry) as engine:
        answers = (make_trajectory(text) for text in ("first", "second", "third"))
        rewards = engine.score_all(answers)
        assert next(rewards).value == 1.0
        rewards.close()  # type: ignore[attr-defined]  # it is a generator
    assert ends == {"begun": 2, "cancelled": 2}


# --- every shape ----------------------------------------------------------------------------------

RESOURCES = {"sandbox": {"use": "echo"}, "judge": {"use": "oracle"}}


@pytest.mark.parametrize(
    ("use", "resources"),
    [
        ("plain/length", []),
        ("plain/later", []),
        ("plain/batch", []),
        ("plain/sandboxed", ["sandbox"]),
        ("plain/judged", ["judge"]),
    ],
)
def test_grades_by_every_shape(
    use: str, resources: list[str], plain: Registry, spec_of: SpecOf
) -> None:
    spec = spec_of({"use": use}) | {"resources": {name: RESOURCES[name] for name in resources}}
    with Engine(spec, registry=plain) as engine:
        assert [reward.value for reward in engine.score_all(_texts(1, 5, 10))] == [0.1, 0.5, 1.0]


def test_grades_in_workers(plain: Registry, spec_of: SpecOf, log: Path) -> None:
    contained = {"use": "plain/contained"}
    guarded = {"use": "plain/guarded", "options": {"log": str(log)}}
    with Engine(spec_of(contained, guarded), registry=plain, workers=1) as engine:
        easy, hard = engine.score_all([make_trajectory("easy"), make_trajectory("hard")])
        mine = psutil.Process().pid
        by_guarded = [reward.part("guarded").score for reward in (easy, hard)]
    assert (easy.value, hard.value) == (0.4, 0.4)
    pids = [score.evidence["pid"] for score in by_guarded if score is not None]
    assert pids[0] == mine
    assert pids[1] != mine


def test_a_call_to_workers_has_its_own_limits(plain: Registry, spec_of: SpecOf) -> None:
    with Engine(spec_of({"use": "plain/guarded"}), registry=plain, workers=1) as engine:
        reward = engine.score(make_trajectory("hard and endless"))
    score = reward.part("guarded").score
    assert score is not None
    assert (score.status, score.value) == ("graded", 0.0)
    assert "0.2 s of CPU time" in score.reason


def test_nothing_is_graded_here_where_the_engine_is_isolated(
    plain: Registry, spec_of: SpecOf, log: Path
) -> None:
    spec = spec_of({"use": "plain/keeps", "options": {"log": str(log)}})
    with Engine(spec, registry=plain, workers=1, isolate=True) as engine:
        assert engine.score(make_trajectory("x")).value == 1.0
        assert engine.score(make_trajectory("x")).value == 1.0
    assert str(psutil.Process().pid) not in log.read_text()
    assert [line.split()[0] for line in log.read_text().splitlines()] == [
        "open", "grade", "grade", "close",
    ]  # fmt: skip


# --- what comes from outside ----------------------------------------------------------------------


class Flaky(Options, Sandbox):
    """Down for the first calls."""

    down: int

    def run(self, job: Job) -> Outcome:
        CALLS["run"] += 1
        if CALLS["run"] <= self.down:
            raise InfrastructureError("no sandbox is left")
        return Outcome(status="ok")

    async def arun(self, job: Job) -> Outcome:
        return self.run(job)


class Runs(Grader):
    def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> float:
        return float(sandbox.run(Job()).status == "ok")


class RunsLater(Grader):
    async def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> float:
        return float((await sandbox.arun(Job())).status == "ok")


class Compares(GroupGrader):
    async def grade_group(
        self, trajectories: Sequence[Trajectory], sandbox: Sandbox
    ) -> list[float]:
        await sandbox.arun(Job())
        return [1.0 for _ in trajectories]


CALLS: Counter[str] = Counter()


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize("grader", [Runs, RunsLater, Compares])
@pytest.mark.parametrize(("down", "value", "tries"), [(0, 1.0, 0), (2, 1.0, 2), (9, None, 3)])
def test_what_breaks_outside_is_tried_again(
    grader: Any, down: int, value: float | None, tries: int, spec_of: SpecOf
) -> None:
    CALLS.clear()
    cards = (
        GraderCard(name="test/runs", grader=grader),
        SandboxCard(name="flaky", sandbox=Flaky),
    )
    spec = spec_of({"use": "test/runs"}) | {
        "resources": {"sandbox": {"use": "flaky", "down": down}}
    }
    with Engine(spec, registry=registry_of(*cards)) as engine:
        reward = engine.score(make_trajectory("x"))
    score = reward.part("runs").score
    assert score is not None
    assert (reward.value, reward.fault) == (value, None if value else "infrastructure")
    told = score.evidence.get("tries", ())
    assert len(told) == tries
    assert all("no sandbox is left" in each["reason"] for each in told)
    assert CALLS["run"] == tries + 1


# --- routes and broken rollouts -------------------------------------------------------------------


def test_a_route_picks_the_spec_by_the_task(plain: Registry, spec_of: SpecOf) -> None:
    math = spec_of(LENGTH) | {"name": "math"}
    code = spec_of({**LENGTH, "options": {"budget": 20}}) | {"name": "code"}
    route = {"rewardhub": 1, "route": {"by": "task.domain", "math": math, "code": code}}
    with Engine(route, registry=plain) as engine:
        rewards = [
            engine.score(make_trajectory("x" * 10, domain=name)) for name in ("math", "code", "?")
        ]
    assert [(reward.value, reward.spec.name) for reward in rewards[:2]] == [
        (1.0, "math"), (0.5, "code"),
    ]  # fmt: skip
    assert (rewards[2].value, rewards[2].fault, rewards[2].parts) == (None, "task", ())
    assert "task.domain" in rewards[2].reason


def test_a_route_takes_its_default_for_the_rest(plain: Registry, spec_of: SpecOf) -> None:
    route = {"by": "task.domain", "default": spec_of(LENGTH)}
    with Engine({"rewardhub": 1, "route": route}, registry=plain) as engine:
        assert engine.score(make_trajectory("x" * 10, domain="any")).value == 1.0


@pytest.mark.parametrize("fault", ["task", "grader", "infrastructure"])
def test_a_broken_rollout_is_not_graded(
    fault: str, plain: Registry, spec_of: SpecOf, log: Path
) -> None:
    spec = spec_of({**LENGTH, "options": {"log": str(log)}})
    broken = make_trajectory(status="broken", fault=fault, reason="the node is gone")
    with Engine(spec, registry=plain) as engine:
        reward = engine.score(broken)
    assert (reward.value, reward.fault) == (None, fault)
    assert "the node is gone" in reward.reason
    assert log.read_text() == ""


def test_an_empty_and_a_truncated_answer_are_graded(plain: Registry, spec_of: SpecOf) -> None:
    with Engine(spec_of(LENGTH), registry=plain) as engine:
        assert engine.score(make_trajectory("")).value == 0.0
        assert engine.score(make_trajectory("x" * 10, status="truncated")).value == 1.0


# --- observers ------------------------------------------------------------------------------------


class Observer:
    """Is told of Rewards, and breaks at some."""

    def __init__(self) -> None:
        self.told: list[tuple[str, float | None]] = []

    @hookimpl
    def rewardhub_scored(self, trajectory: Trajectory, reward: Reward) -> None:
        self.told.append((trajectory.final_text, reward.value))
        if trajectory.final_text == "xxx":
            raise ValueError("three is too many")


def test_observers_are_told_in_output_order_and_may_break(spec_of: SpecOf) -> None:
    observer = Observer()
    cards = SimpleNamespace(__name__="late", rewardhub_graders=_late_card)
    registry = registry_of(cards, observer)
    with Engine(spec_of({"use": "test/late"}), registry=registry) as engine:
        values = [reward.value for reward in engine.score_all(_texts(5, 3, 1, 4))]
        engine.score(make_trajectory("xx"))
        asyncio.run(engine.ascore(make_trajectory("x" * 9)))
    assert values == [0.5, 0.3, 0.1, 0.4]
    assert observer.told == [("x" * length, length / 10) for length in (5, 3, 1, 4, 2, 9)]
    assert list(registry.observer_errors.values()) == [1]


@hookimpl(specname="rewardhub_graders")
def _late_card() -> list[GraderCard]:
    return [GraderCard(name="test/late", grader=Late)]

"""Whatever a grader does, it becomes a Score that says so, and the run goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from rewardhub.engine import Engine
from rewardhub.host import Registry
from rewardhub.records import Reward, Score, Trajectory
from rewardhub.testing import make_trajectory

TIME = {"regex": {"cpu_seconds": 0.2}, "burn": {"cpu_seconds": 0.2}, "sleep": {"wall_seconds": 0.7}}


class Case(NamedTuple):
    """One misbehaviour: the grader and its options, and what the Score must say."""

    use: str
    how: str
    on: str
    says: str

    @property
    def name(self) -> str:
        return f"{self.how}-{self.on}-{self.use.rpartition('/')[2]}"

    @property
    def entry(self) -> dict[str, Any]:
        options = {"how": self.how, "on": self.on}
        limits = {"memory_mb": 512, **TIME.get(self.how, {})}
        return {"use": self.use, "as": "part", "options": options, "limits": limits}


# What is no limit is the grader's own doing, wherever it runs.
BUGS = [
    Case(use, how, "answer", says)
    for use in ("bad/inline", "bad/contained")
    for how, says in {
        "raise": "ValueError: this is a bug",
        "raise-strangely": "StrangeError",
        "raise-deeply": "Deep: panic",
        "cancel": "CancelledError",
        "stop-iteration": "StopIteration",
        "exit": "SystemExit",
        "nan": "must lie in [0, 1]",
        "infinity": "must lie in [0, 1]",
        "too-much": "must lie in [0, 1]",
        "text": "not str",
        "nothing": "None",
        "coroutine": "async def",
    }.items()
] + [Case("bad/contained", "interrupt", "answer", "KeyboardInterrupt")]
LIMITS = {
    "recursion": "nested too deeply",
    "memory-error": "ran out of memory",
    "regex": "0.2 s of CPU time",
    "leave": "exited with status 0",
    "crash": "SIGSEGV",
    "orphan": "left 1 process behind",
}
ON_ANSWERS = [Case("bad/contained", how, "answer", says) for how, says in LIMITS.items()] + [
    Case("bad/inline", "recursion", "answer", LIMITS["recursion"]),
    Case("bad/contained", "swallow-memory", "answer", "memory"),
    Case("bad/contained", "burn", "answer", "0.2 s of CPU time"),
    Case("bad/contained", "sleep", "answer", "longer than 0.7 s"),
]
ON_TASKS = [Case("bad/contained", how, "task", LIMITS[how]) for how in ("recursion", "leave")]
ALWAYS = [Case("bad/contained", how, "always", says) for how, says in LIMITS.items()] + [
    Case("bad/contained", "swallow-memory", "always", "memory")
]
CASES = [*BUGS, *ON_ANSWERS, *ON_TASKS, *ALWAYS]


def _trajectories() -> Iterator[Trajectory]:
    for case in CASES:
        yield make_trajectory(
            "a bad answer", id=case.name, prompt="a bad task", domain=case.name, reference="4"
        )
    yield make_trajectory("a good answer", id="neighbour", domain="neighbour")


def _route(spec_of: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    specs = {case.name: spec_of(case.entry) for case in CASES}
    good = CASES[0]._replace(on="task").entry
    return {"rewardhub": 1, "route": {"by": "task.domain", **specs, "neighbour": spec_of(good)}}


@pytest.fixture(scope="module")
def registry(loose: Callable[..., Registry]) -> Registry:
    return loose("misbehaving")


@pytest.fixture(scope="module")
def left_behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder where graders note the processes that they leave behind."""
    folder = tmp_path_factory.mktemp("left-behind")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEFT_BEHIND", str(folder))
        yield folder


@pytest.fixture(scope="module")
def from_file(
    registry: Registry,
    left_behind: Path,
    tmp_path_factory: pytest.TempPathFactory,
    spec_of: Callable[..., dict[str, Any]],
    write_rows: Callable[[Path, Iterable[Trajectory]], Path],
    run_files: Callable[..., Any],
) -> dict[str, Reward]:
    """The rewards of all cases, from one run over a file."""
    folder = tmp_path_factory.mktemp("run")
    file = write_rows(folder / "rows.jsonl", _trajectories())
    rewards: dict[str, Reward] = run_files(
        _route(spec_of), registry, folder, file, workers=2
    ).rewards
    return rewards


@pytest.fixture(scope="module")
def from_library(
    registry: Registry, left_behind: Path, spec_of: Callable[..., dict[str, Any]]
) -> Iterator[dict[str, Reward]]:
    """The rewards of all cases, from one engine in this process."""
    with Engine(_route(spec_of), registry=registry, workers=2) as engine:
        rewards = engine.score_all(_trajectories())
        yield {each.id: reward for each, reward in zip(_trajectories(), rewards, strict=True)}


@pytest.fixture(params=["from_file", "from_library"])
def rewards(request: pytest.FixtureRequest) -> dict[str, Reward]:
    found: dict[str, Reward] = request.getfixturevalue(request.param)
    return found


def _score(reward: Reward) -> Score:
    score = reward.part("part").score
    assert score is not None
    return score


def _named(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


@_named([*BUGS, *ALWAYS])
def test_a_broken_grader_is_a_failed_score(case: Case, rewards: dict[str, Reward]) -> None:
    reward = rewards[case.name]
    score = _score(reward)
    assert (score.status, score.fault, score.value) == ("failed", "grader", None)
    assert case.use in score.reason
    assert case.says in score.reason
    assert score.evidence["grader"] == case.use == score.grader
    assert (reward.value, reward.fault) == (None, "grader")


@_named(BUGS)
def test_the_evidence_of_a_bug_has_the_traceback(case: Case, rewards: dict[str, Reward]) -> None:
    assert "Traceback" in _score(rewards[case.name]).evidence["traceback"]


@_named(ON_ANSWERS)
def test_an_answer_that_breaks_limits_is_graded_zero(
    case: Case, rewards: dict[str, Reward]
) -> None:
    score = _score(rewards[case.name])
    assert (score.status, score.value) == ("graded", 0.0)
    assert "the answer could not be processed" in score.reason
    assert case.says in score.reason
    assert "\n" not in score.reason
    assert len(score.evidence["tries"]) == 2
    assert rewards[case.name].value == 0.0


@_named(ON_TASKS)
def test_a_task_that_breaks_limits_abstains(case: Case, rewards: dict[str, Reward]) -> None:
    score = _score(rewards[case.name])
    assert (score.status, score.fault) == ("abstained", "task")
    assert case.says in score.reason


def test_the_run_goes_on(rewards: dict[str, Reward]) -> None:
    assert rewards["neighbour"].value == 1.0
    assert list(rewards) == [*(case.name for case in CASES), "neighbour"]


def test_no_process_is_left(left_behind: Path, from_file: object, from_library: object) -> None:
    del from_file, from_library
    started = [int(each.name) for each in left_behind.iterdir()]
    assert started
    assert not [pid for pid in started if psutil.pid_exists(pid)]
    assert os.getpid() not in started


# --- what a card promises -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("use", "says"),
    [("bad/spies", "`metadata`, which its card does not list"), ("bad/promises", "to step 1")],
)
def test_a_promise_that_is_broken_is_a_failed_score(
    use: str, says: str, registry: Registry, spec_of: Callable[..., dict[str, Any]]
) -> None:
    spec = spec_of({"use": use, "as": "part"})
    with Engine(spec, registry=registry) as engine:
        score = _score(engine.score(make_trajectory("x", metadata={"success": 1})))
    assert (score.status, score.fault) == ("failed", "grader")
    assert says in score.reason


def test_a_read_that_is_listed_is_allowed(
    registry: Registry, spec_of: Callable[..., dict[str, Any]]
) -> None:
    spec = spec_of({"use": "bad/declared", "as": "part"})
    with Engine(spec, registry=registry) as engine:
        assert engine.score(make_trajectory("x", metadata={"success": 1})).value == 1.0

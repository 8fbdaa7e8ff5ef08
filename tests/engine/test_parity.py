"""The reward is the same through every door of the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rewardhub.engine import Engine
from rewardhub.host import Registry
from rewardhub.records import Reward, Trajectory
from rewardhub.testing import make_trajectory

Bare = Callable[[Reward], Reward]


def _spec(spec_of: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """Return a spec with a gate, conditions, every shape of grader, steps and a penalty."""
    gate = {"use": "plain/length", "as": "some", "options": {"budget": 1}}
    stages = [
        {"name": "gate", "gate": {"below": 1.0, "reward": -2.0}, "graders": [gate]},
        {
            "name": "outcome",
            "weight": 2,
            "graders": [
                {"use": "plain/contained"},
                {"use": "plain/later", "weight": 2},
                {"use": "plain/batch", "when": "later >= 0.5"},
                {"use": "plain/sandboxed"},
                {"use": "plain/judged"},
                {"use": "plain/guarded"},
            ],
        },
        {"name": "best", "combine": "cascade", "graders": [
            {"use": "plain/length", "as": "first"},
            {"use": "plain/contained", "as": "second", "options": {"budget": 20}},
        ]},
        {"name": "group", "weight": 0.5, "optional": True, "graders": [{"use": "plain/rank"}]},
        {"name": "cost", "weight": -1, "graders": [{"use": "plain/length", "as": "cost"}]},
    ]  # fmt: skip
    return spec_of(gate) | {
        "success": "first == 1",
        "stages": stages,
        "credit": "spread",
        "resources": {"sandbox": {"use": "echo"}, "judge": {"use": "oracle"}},
    }


ANSWERS = ("", "x", "xxxxx", "xxxxxxx", "xxxxxxxxxx", "hard one", "hard and endless", "?", "!")


def _trajectories() -> Iterator[Trajectory]:
    for number, text in enumerate(ANSWERS):
        steps = ["thinking", "still thinking", text] if number % 2 else text
        yield make_trajectory(
            steps, id=f"row {number}", group=f"group {number}", group_size=1, prompt="why?"
        )
    yield make_trajectory("xxx", id="cut", status="truncated", group="cut", group_size=1)
    yield make_trajectory(
        status="broken", fault="infrastructure", reason="gone", id="broken", group="b", group_size=1
    )


async def _by_loop(engine: Engine) -> list[Reward]:
    return [await engine.ascore(each) for each in _trajectories()]


async def _by_async_stream(engine: Engine) -> list[Reward]:
    return [reward async for reward in engine.ascore_all(_trajectories())]


def _by_threads(engine: Engine) -> list[Reward]:
    with ThreadPoolExecutor(8) as threads:
        return list(threads.map(engine.score, _trajectories()))


DOORS: dict[str, Callable[[Engine], list[Reward]]] = {
    "score": lambda engine: [engine.score(each) for each in _trajectories()],
    "score_all": lambda engine: list(engine.score_all(_trajectories())),
    "ascore": lambda engine: asyncio.run(_by_loop(engine)),
    "ascore_all": lambda engine: asyncio.run(_by_async_stream(engine)),
    "threads": _by_threads,
}


@pytest.fixture(scope="module")
def from_file(
    plain: Registry,
    tmp_path_factory: pytest.TempPathFactory,
    spec_of: Callable[..., dict[str, Any]],
    write_rows: Callable[[Path, Iterable[Trajectory]], Path],
    run_files: Callable[..., Any],
    bare: Bare,
) -> dict[str, Reward]:
    folder = tmp_path_factory.mktemp("run")
    file = write_rows(folder / "rows.jsonl", _trajectories())
    rewards: dict[str, Reward] = run_files(_spec(spec_of), plain, folder, file).rewards
    return {name: bare(reward) for name, reward in rewards.items()}


@pytest.fixture(scope="module")
def engine(plain: Registry, spec_of: Callable[..., dict[str, Any]]) -> Iterator[Engine]:
    with Engine(_spec(spec_of), registry=plain, workers=2) as made:
        yield made


@pytest.mark.parametrize("door", DOORS)
def test_a_reward_is_the_same_through_every_door(
    door: str, engine: Engine, from_file: dict[str, Reward], bare: Bare
) -> None:
    rewards = DOORS[door](engine)
    found = {
        each.id: _without_places(bare(reward))
        for each, reward in zip(_trajectories(), rewards, strict=True)
    }
    expected = {name: _without_places(reward) for name, reward in from_file.items()}
    for name, reward in found.items():
        assert reward == expected[name]
    assert list(found) == list(expected)


def test_the_examples_come_to_every_kind_of_reward(from_file: dict[str, Reward]) -> None:
    assert {reward.decided_by for reward in from_file.values()} == {None, "gate"}
    assert {reward.fault for reward in from_file.values()} == {
        None, "task", "grader", "infrastructure",
    }  # fmt: skip
    assert {reward.success for reward in from_file.values()} == {None, True, False}


def _without_places(reward: Reward) -> Reward:
    """Leave out the process ids that one of these graders puts into its evidence."""
    from dataclasses import replace

    parts = tuple(
        replace(part, score=replace(part.score, evidence=_but_pid(part.score.evidence)))
        if part.score is not None
        else part
        for part in reward.parts
    )
    return replace(reward, parts=parts)


def _but_pid(evidence: Any) -> dict[str, Any]:
    return {key: value for key, value in evidence.items() if key != "pid"}

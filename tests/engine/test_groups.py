"""Groups: compared once every member is there, or has left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rewardhub.contracts import Grader, GroupGrader
from rewardhub.engine import Engine
from rewardhub.engine.grade import Runner
from rewardhub.engine.groups import Groups, Member
from rewardhub.host import GraderCard, Registry, registry_of
from rewardhub.records import Reward, Score, Trajectory
from rewardhub.spec import Spec, load
from rewardhub.testing import make_trajectory

SpecOf = Callable[..., dict[str, Any]]

RANK = {"use": "plain/rank"}


def _member(text: str, group: str = "g", **fields: Any) -> Trajectory:
    return make_trajectory(text, group=group, **fields)


def _score_all(
    spec: dict[str, Any], registry: Registry, trajectories: Sequence[Trajectory]
) -> list[Reward]:
    with Engine(spec, registry=registry) as engine:
        return list(engine.score_all(trajectories))


def _values(rewards: list[Reward]) -> list[float | None]:
    return [reward.value for reward in rewards]


# --- when a group is complete ---------------------------------------------------------------------


def test_members_are_compared_wherever_they_stand(plain: Registry, spec_of: SpecOf) -> None:
    members = [
        _member("xx", "one"), _member("x", "two"), _member("xxx", "one"), _member("xxxx", "two"),
        _member("x", "one"),
    ]  # fmt: skip
    assert _values(_score_all(spec_of(RANK), plain, members)) == [0.5, 0.0, 1.0, 1.0, 0.0]


def test_the_group_is_the_task_unless_the_trajectory_says_otherwise(
    plain: Registry, spec_of: SpecOf
) -> None:
    members = [make_trajectory("x" * size, prompt="the same") for size in (1, 2, 3)]
    assert _values(_score_all(spec_of(RANK), plain, members)) == [0.0, 0.5, 1.0]


def test_a_group_of_declared_size_does_not_wait_for_the_end(
    plain: Registry, spec_of: SpecOf
) -> None:
    seen: list[Reward] = []

    def endless() -> Iterator[Trajectory]:
        while len(seen) < 3:
            for text in ("x", "xx", "xxx"):
                yield _member(text, group_size=3)

    with Engine(spec_of(RANK), registry=plain) as engine:
        for reward in engine.score_all(endless()):
            seen.append(reward)
    assert _values(seen[:3]) == [0.0, 0.5, 1.0]


def test_more_members_than_declared_make_another_group(
    plain: Registry, spec_of: SpecOf, log: Path
) -> None:
    spec = spec_of({**RANK, "options": {"log": str(log)}})
    members = [_member(text, group_size=2) for text in ("a", "bb", "ccc", "dddd")]
    assert _values(_score_all(spec, plain, members)) == [0.0, 1.0, 0.0, 1.0]
    assert sorted(log.read_text().splitlines()) == ["a bb", "ccc dddd"]


def test_a_group_that_is_never_complete_closes_at_the_end(plain: Registry, spec_of: SpecOf) -> None:
    members = [_member("x", group_size=8), _member("xx", group_size=8)]
    assert _values(_score_all(spec_of(RANK), plain, members)) == [0.0, 1.0]


def test_one_alone_is_graded_by_itself(plain: Registry, spec_of: SpecOf) -> None:
    assert _values(_score_all(spec_of(RANK), plain, [_member("x")])) == [0.5]
    with Engine(spec_of(RANK), registry=plain) as engine:
        assert engine.score(_member("x", group_size=4)).value == 0.5
        assert asyncio.run(engine.ascore(_member("x"))).value == 0.5


def test_equal_members_are_members_each(plain: Registry, spec_of: SpecOf, log: Path) -> None:
    spec = spec_of({**RANK, "options": {"log": str(log)}})
    one = _member("x", group_size=3)
    assert _values(_score_all(spec, plain, [one, one, one])) == [0.0] * 3
    assert log.read_text() == "x x x\n"


def test_a_card_may_group_by_another_field(plain: Registry, spec_of: SpecOf, log: Path) -> None:
    options = {"options": {"log": str(log)}}
    spec = spec_of({"use": "plain/rank-by-variant", **options}, {**RANK, **options})
    members = [
        make_trajectory(text, prompt=prompt, task=None, group=prompt)
        for text, prompt in (("a", "p"), ("bb", "q"))
    ]
    members = [
        each.replace(task=each.task.replace(metadata={"variant_of": "root"})) for each in members
    ]
    rewards = _score_all(spec, plain, members)
    assert [reward.part("rank_by_variant").contribution for reward in rewards] == [0.0, 0.5]
    assert sorted(log.read_text().splitlines()) == ["a", "a bb", "bb"]


# --- members that leave ---------------------------------------------------------------------------


def _gated(log: Path, spec_of: SpecOf) -> dict[str, Any]:
    """Return a spec whose gate stops answers of less than two characters."""
    spec = spec_of({"use": "plain/length", "options": {"budget": 2}}, name="gate")
    gate = spec["stages"][0] | {"gate": {"below": 1.0, "reward": -1.0}}
    rank = {"name": "rank", "graders": [{**RANK, "options": {"log": str(log)}}]}
    return spec | {"stages": [gate, rank]}


@pytest.mark.parametrize("size", [None, 4])
def test_gated_members_leave_the_group(
    size: int | None, plain: Registry, spec_of: SpecOf, log: Path
) -> None:
    members = [_member(text, group_size=size) for text in ("a", "bb", "ccc", "d")]
    assert _values(_score_all(_gated(log, spec_of), plain, members)) == [-1.0, 0.0, 1.0, -1.0]
    assert log.read_text() == "bb ccc\n"


@pytest.mark.parametrize("size", [None, 3])
def test_broken_members_leave_the_group(
    size: int | None, plain: Registry, spec_of: SpecOf, log: Path
) -> None:
    spec = spec_of({**RANK, "options": {"log": str(log)}})
    broken = make_trajectory(
        status="broken", fault="infrastructure", reason="gone", group="g", group_size=size
    )
    members = [_member("a", group_size=size), broken, _member("bb", group_size=size)]
    assert _values(_score_all(spec, plain, members)) == [0.0, None, 1.0]
    assert log.read_text() == "a bb\n"


def test_the_last_member_left_is_graded_by_itself(
    plain: Registry, spec_of: SpecOf, log: Path
) -> None:
    members = [_member(text, group_size=3) for text in ("a", "bb", "c")]
    assert _values(_score_all(_gated(log, spec_of), plain, members)) == [-1.0, 0.5, -1.0]


def test_members_that_do_not_meet_the_condition_leave_the_group(
    plain: Registry, spec_of: SpecOf, log: Path
) -> None:
    rank = {**RANK, "when": "length == 1", "options": {"log": str(log)}}
    spec = spec_of({"use": "plain/length", "options": {"budget": 2}}, rank)
    members = [_member(text, group_size=3) for text in ("a", "bb", "ccc")]
    assert _values(_score_all(spec, plain, members)) == [0.25, 0.5, 1.0]
    assert log.read_text() == "bb ccc\n"


def test_two_group_graders_wait_one_after_the_other(plain: Registry, spec_of: SpecOf) -> None:
    spec = spec_of({**RANK, "as": "one"}, {**RANK, "as": "two", "when": "one >= 0.5"})
    members = [_member(text, group_size=3) for text in ("a", "bb", "ccc")]
    rewards = _score_all(spec, plain, members)
    assert [part.contribution for part in rewards[1].parts] == [0.25, 0.0]
    assert _values(rewards) == [0.0, 0.25, 1.0]


# --- graders that break ---------------------------------------------------------------------------


class Breaks(GroupGrader):
    """Breaks in the way that a member's answer says."""

    def grade_group(self, trajectories: Sequence[Trajectory]) -> Any:
        texts = [each.final_text for each in trajectories]
        CALLS.append(texts)
        if "raise" in texts:
            raise ValueError("a bug")
        if "exit" in texts:
            raise SystemExit(1)
        if "deep" in texts or ("together" in texts and len(texts) > 1):
            raise RecursionError
        if "short" in texts:
            return []
        return [1.0 for _ in texts]


class BreaksLater(Breaks):
    async def grade_group(self, trajectories: Sequence[Trajectory]) -> Any:
        await asyncio.sleep(0)
        return super().grade_group(trajectories)


class BreaksAlways(GroupGrader):
    def grade_group(self, trajectories: Sequence[Trajectory]) -> Any:
        CALLS.append([each.final_text for each in trajectories])
        raise RecursionError


CALLS: list[list[str]] = []


@pytest.fixture(params=[Breaks, BreaksLater])
def breaks(request: pytest.FixtureRequest) -> Registry:
    CALLS.clear()
    return registry_of(GraderCard(name="test/group", grader=request.param))


GROUP = {"use": "test/group"}


def _scores(registry: Registry, spec_of: SpecOf, *texts: str) -> list[Score]:
    members = [_member(text) for text in texts]
    scores = [
        reward.part("group").score for reward in _score_all(spec_of(GROUP), registry, members)
    ]
    return [score for score in scores if score is not None]


@pytest.mark.parametrize(
    ("word", "says"),
    [("raise", "ValueError: a bug"), ("exit", "SystemExit"), ("short", "0 verdicts for 3")],
)
def test_a_group_that_raises_fails_as_a_whole(
    word: str, says: str, breaks: Registry, spec_of: SpecOf
) -> None:
    scores = _scores(breaks, spec_of, "a", word, "c")
    assert [(score.status, score.fault) for score in scores] == [("failed", "grader")] * 3
    assert all(says in score.reason for score in scores)


def test_a_member_that_breaks_limits_does_not_unscore_its_siblings(
    breaks: Registry, spec_of: SpecOf
) -> None:
    scores = _scores(breaks, spec_of, "a", "deep", "c")
    assert [score.value for score in scores] == [1.0, 0.0, 1.0]
    assert "could not be processed" in scores[1].reason
    assert CALLS[-1] == ["a", "c"]


def test_a_group_that_breaks_limits_only_together_has_failed(
    breaks: Registry, spec_of: SpecOf
) -> None:
    scores = _scores(breaks, spec_of, "a", "together")
    assert [(score.status, score.fault) for score in scores] == [("failed", "grader")] * 2
    assert "all together" in scores[0].reason


def test_a_group_grader_that_breaks_on_an_empty_task_has_failed(spec_of: SpecOf) -> None:
    CALLS.clear()
    registry = registry_of(GraderCard(name="test/group", grader=BreaksAlways))
    scores = _scores(registry, spec_of, "a", "b")
    assert [(score.status, score.fault) for score in scores] == [("failed", "grader")] * 2
    assert "on an empty task, too" in scores[0].reason


# --- by hand --------------------------------------------------------------------------------------


def test_a_member_that_nobody_waits_for_any_more_keeps_nobody_waiting(
    plain: Registry, spec_of: SpecOf
) -> None:
    spec = load(spec_of(RANK), plain)
    assert isinstance(spec, Spec)
    (entry,) = spec.entries
    runner = Runner(entry)
    graded: list[list[str]] = []

    async def grade(_runner: Runner, members: list[Trajectory]) -> list[Score]:
        graded.append([each.final_text for each in members])
        return [Score.of(1.0) for _ in members]

    async def give_one_up() -> Score:
        groups = Groups(grade)
        members = [Member(spec, _member(text, group_size=3)) for text in "abc"]
        for member in members:
            groups.enter(member)
        waiting = [asyncio.create_task(groups.grade(runner, member)) for member in members[:2]]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
        last = await groups.grade(runner, members[2])
        assert (await waiting[1]).value == 1.0
        return last

    assert asyncio.run(give_one_up()).value == 1.0
    assert graded == [["b", "c"]]


def test_a_grader_of_one_answer_does_not_wait_for_a_group(plain: Registry, spec_of: SpecOf) -> None:
    class Alone(Grader):
        def grade(self, trajectory: Trajectory) -> float:
            return 1.0

    registry = registry_of(GraderCard(name="test/alone", grader=Alone))
    with Engine(spec_of({"use": "test/alone"}), registry=registry) as engine:
        assert engine.new_groups() is None
        assert not engine.compares
    with Engine(spec_of(RANK), registry=plain) as engine:
        assert engine.compares

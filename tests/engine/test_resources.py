"""What graders share: one resource for each entry of a spec, however many parameters it serves."""

from collections.abc import Mapping

import pytest

from rewardhub import (
    Engine,
    Grader,
    GraderCard,
    Judge,
    JudgeCard,
    JudgeReply,
    Options,
    Score,
    Trajectory,
)
from rewardhub.engine.resources import identities
from rewardhub.host import registry_of
from rewardhub.testing import make_trajectory


class Says(Options, Judge):
    """A judge that says one thing, and counts how often it was opened and asked."""

    word: str
    calls: list[str] = []  # noqa: RUF012  # one list for each instance, as pydantic copies it

    @property
    def identity(self) -> Mapping[str, str]:
        return {"word": self.word}

    def open(self) -> None:
        self.calls.append("open")

    def close(self) -> None:
        self.calls.append("close")

    async def ask(self, messages, *, schema=None, seed=None, logprobs=0) -> JudgeReply:
        self.calls.append("ask")
        return JudgeReply(text=self.word)


class Panel(Grader):
    async def grade(self, trajectory: Trajectory, judges: Mapping[str, Judge]) -> Score:
        said = [f"{name}: {(await judge.ask([])).text}" for name, judge in judges.items()]
        return Score.of(1.0, ", ".join(said))


class Alone(Grader):
    async def grade(self, trajectory: Trajectory, judge: Judge) -> Score:
        return Score.of(1.0, (await judge.ask([{"role": "user", "content": "alone"}])).text)


REGISTRY = registry_of(
    GraderCard(name="jury/votes", grader=Panel),
    GraderCard(name="jury/alone", grader=Alone),
    JudgeCard(name="says", judge=Says),
)


def spec(**bind: object) -> dict[str, object]:
    return {
        "rewardhub": 1,
        "name": "test/panel",
        "success": "votes == 1",
        "resources": {
            "judge": {"use": "says", "word": "yes", "max_calls": 2},
            "other": {"use": "says", "word": "no"},
        },
        "stages": [
            {
                "name": "outcome",
                "graders": [{"use": "jury/votes", "bind": bind}, {"use": "jury/alone"}],
            }
        ],
    }


@pytest.mark.parametrize(
    ("bind", "said"),
    [
        ({}, "judge: yes, other: no"),
        ({"judges": ["other", "judge"]}, "other: no, judge: yes"),
        ({"judges": "other"}, "other: no"),
    ],
)
def test_hands_out_several_resources_by_their_names(bind, said):
    with Engine(spec(**bind), registry=REGISTRY) as engine:
        reward = engine.score(make_trajectory("4"))
    assert reward.parts[0].score.reason == said


def test_one_of_several_is_the_same_resource_with_the_same_budget():
    with Engine(spec(), registry=REGISTRY) as engine:
        first, second = (engine.score(make_trajectory("4")) for _ in range(2))
    assert first.value is not None
    assert second.value is None
    assert "the budget of `judge` is used up" in str([part.score.reason for part in second.parts])


def test_several_resources_are_opened_and_closed_once():
    engine = Engine(spec(), registry=REGISTRY)
    judges = [entry.resource for entry in engine.reward.resources.values()]
    with engine:
        engine.score(make_trajectory("4"))
    assert [judge.calls.count("open") for judge in judges] == [1, 1]
    assert [judge.calls.count("close") for judge in judges] == [1, 1]


def test_the_identity_of_several_names_each():
    engine = Engine(spec(), registry=REGISTRY)
    entry = next(engine.reward.entries)
    with engine:
        bound = engine._shared.bound(engine.reward, entry)
    assert identities(bound) == {"judges": {"judge": {"word": "yes"}, "other": {"word": "no"}}}

"""Specs whose graders are never called: the tests say what their Scores are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from rewardhub.compose import Course
from rewardhub.contracts import Grader, Verdict
from rewardhub.host import GraderCard, Registry, registry_of
from rewardhub.records import Reward, Score, StepValue, Trajectory
from rewardhub.spec import Spec, load

MakeSpec = Callable[..., Spec]
Finish = Callable[..., Reward]


class Fixed(Grader):
    """Stands in for any grader."""

    def grade(self, trajectory: Trajectory) -> Verdict:
        raise NotImplementedError("these tests put Scores themselves")


@pytest.fixture(scope="session")
def registry() -> Registry:
    return registry_of(GraderCard(name="test/fixed", grader=Fixed, gives=("steps",)))


@pytest.fixture(scope="session")
def make_spec(registry: Registry) -> MakeSpec:
    """Return a function that makes a Spec of stages; ``graders`` are ids or entries."""

    def make(*stages: Mapping[str, Any], **fields: Any) -> Spec:
        whole = [_stage(stage, number) for number, stage in enumerate(stages)]
        first = whole[0]["graders"][0]["as"]
        named = {"rewardhub": 1, "name": "test", "success": f"{first} == 1", "range": [-9, 9]}
        loaded = load({**named, **fields, "stages": whole}, registry)
        assert isinstance(loaded, Spec)
        return loaded

    return make


def _stage(stage: Mapping[str, Any], number: int) -> dict[str, Any]:
    entries = [
        {"use": "test/fixed", **({"as": entry} if isinstance(entry, str) else entry)}
        for entry in stage["graders"]
    ]
    return {"name": f"stage{number}", **stage, "graders": entries}


@pytest.fixture(scope="session")
def finish() -> Finish:
    """Return a function that takes a spec through to its Reward with the Scores given.

    ``scores`` maps a part's id to its Score, or to the value of a graded one. A part that is
    ready and has no Score is an error; what was asked for is noted in ``asked``.
    """

    def take(
        spec: Spec,
        scores: Mapping[str, Score | float],
        steps: int = 1,
        asked: list[str] | None = None,
    ) -> Reward:
        course = Course(spec, steps)
        for entry in course.ready():
            if asked is not None:
                asked.append(entry.id)
            score = scores[entry.id]
            course.put(entry, score if isinstance(score, Score) else Score.of(score))
        assert course.done
        return course.reward()

    return take


@pytest.fixture(scope="session")
def stepped() -> Callable[..., Score]:
    """Return a function that makes a graded Score with values of steps, or of spans of them."""

    def make(value: float, *values: Sequence[Any]) -> Score:
        return Score.of(value, step_values=[StepValue(*each) for each in values])

    return make

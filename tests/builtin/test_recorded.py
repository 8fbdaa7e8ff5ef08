"""`recorded/value`: a verdict that somebody else has reached."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from rewardhub.builtin.recorded import Recorded
from rewardhub.engine import Engine
from rewardhub.errors import TaskError
from rewardhub.host import registry_of
from rewardhub.records import Score
from rewardhub.testing import make_trajectory


def _grade(metadata: dict[str, Any], **options: Any) -> Score:
    return Recorded(**options).grade(make_trajectory("x", metadata=metadata))


@pytest.mark.parametrize(
    ("recorded", "value"), [(True, 1.0), (False, 0.0), (1, 1.0), (0, 0.0), (0.25, 0.25)]
)
def test_takes_what_is_recorded(recorded: Any, value: float) -> None:
    score = _grade({"success": recorded})
    assert (score.status, score.value) == ("graded", value)
    assert score.reason == f"recorded `success`: {recorded}"


def test_finds_a_value_inside_of_others() -> None:
    assert _grade({"judge": {"scores": {"style": 0.5}}}, key="judge.scores.style").value == 0.5


@pytest.mark.parametrize(
    ("recorded", "options", "value"),
    [
        (7, {"scale": 10}, 0.7),
        (3, {"offset": 1, "scale": 4}, 0.5),
        (-1, {"offset": -1, "scale": 2}, 0.0),
        (2, {"offset": 10, "scale": -10}, 0.8),
        (0.1 + 0.2, {"scale": 0.3}, 1.0),
        (1 + 1e-10, {}, 1.0),
    ],
)
def test_brings_a_number_into_the_unit_interval(
    recorded: float, options: dict[str, float], value: float
) -> None:
    assert _grade({"success": recorded}, **options).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("metadata", "says"),
    [
        ({}, "records no `success`"),
        ({"success": None}, "is no number: None"),
        ({"success": "yes"}, "is no number: 'yes'"),
        ({"success": [1]}, "is no number"),
        ({"success": 2}, "which makes 2"),
        ({"success": -0.5}, "which makes -0.5"),
        ({"success": 10**400}, "too large a number"),
    ],
)
def test_a_row_without_a_verdict_is_the_tasks_fault(metadata: dict[str, Any], says: str) -> None:
    with pytest.raises(TaskError, match=says):
        _grade(metadata)


@pytest.mark.parametrize("metadata", [{"judge": 1}, {"judge": {}}, {"judge": [{"style": 1}]}])
def test_a_path_that_leads_nowhere_records_nothing(metadata: dict[str, Any]) -> None:
    with pytest.raises(TaskError, match=r"records no `judge\.style`"):
        _grade(metadata, key="judge.style")


def test_a_scale_of_nothing_is_refused_before_the_run() -> None:
    with pytest.raises(ValidationError, match="is not 0"):
        Recorded(scale=0)


def test_is_a_grader_like_any_other() -> None:
    stage = {"name": "only", "graders": [{"use": "recorded/value", "as": "goal"}]}
    spec = {"rewardhub": 1, "name": "test", "success": "goal == 1", "stages": [stage]}
    with Engine(spec, registry=registry_of()) as engine:
        rewards = [
            engine.score(make_trajectory("x", metadata=metadata))
            for metadata in ({"success": True}, {"success": False}, {})
        ]
    assert [(reward.value, reward.success, reward.fault) for reward in rewards] == [
        (1.0, True, None), (0.0, False, None), (None, None, "task"),
    ]  # fmt: skip

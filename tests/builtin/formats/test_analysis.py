"""Writers for other programs: a row for each part, Harbor's reward file."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rewardhub.builtin.formats import analysis, writer_cards, writer_for
from rewardhub.builtin.formats.analysis import PartsWriter, RewardJsonWriter
from rewardhub.contracts import Writer
from rewardhub.host import registry_of
from rewardhub.records import Part, Reward, Score, SpecInfo, write_record
from rewardhub.testing import WriterContract

CARDS = {each.name: each for each in writer_cards()}
SCORE = Score.of(0.5, "half").signed("code/unit-tests", 0.25)
FAILED = Score.fail("the sandbox died", fault="infrastructure").signed("code/style", 0.125)
SCORED = Reward(
    0.75,
    True,
    step_rewards=(0.75,),
    parts=(
        Part("tests", "outcome", 1.0, SCORE, 0.75),
        Part("style", "outcome", 0.5, None, 0.0, "its condition is false"),
    ),
    spec=SpecInfo("code/staged", "1", "d1"),
)
UNSCORED = Reward.unscored(
    "infrastructure", "the sandbox died", parts=(Part("style", "outcome", 0.5, FAILED),)
)
BROKEN = Reward.unscored("infrastructure", "the node is gone")


def row(row_id: str, reward: Reward) -> dict[str, Any]:
    return {
        "id": row_id, "task": "t", "group": "g", "domain": "code", "source": 0, "row": 7,
        "reward": json.loads(write_record(reward)),
    }  # fmt: skip


def written(writer: Writer, *rows: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    writer.write(rows, stream)
    return stream.getvalue()


def table(data: bytes) -> Any:
    parquet = pytest.importorskip("pyarrow.parquet")
    return parquet.read_table(io.BytesIO(data))


class TestParts(WriterContract):
    card = CARDS["parquet-parts"]

    def read_back(self, data: bytes) -> list[Any]:
        found: dict[str, list[Any]] = {}
        for each in table(data).to_pylist():
            found.setdefault(each["id"], []).append((each["part"], each["value"]))
        return list(found.items())

    def kept(self, row: Mapping[str, Any]) -> Any:
        parts = [
            (part["id"], (part.get("score") or {}).get("value")) for part in row["reward"]["parts"]
        ]
        return row["id"], parts or [(None, None)]


class TestRewardJson(WriterContract):
    card = CARDS["reward-json"]

    def read_back(self, data: bytes) -> list[Any]:
        return list(json.loads(data).items())

    def kept(self, row: Mapping[str, Any]) -> Any:
        (only,) = [json.loads(written(RewardJsonWriter(), dict(row)))]
        return row["id"], only


def test_each_part_is_a_row() -> None:
    tests, style = table(written(PartsWriter(), row("a", SCORED))).to_pylist()
    assert tests == {
        "id": "a", "task": "t", "domain": "code", "group": "g", "source": 0, "row": 7,
        "stage": "outcome", "part": "tests", "grader": "code/unit-tests", "status": "graded",
        "value": 0.5, "weight": 1.0, "contribution": 0.75, "fault": None, "reason": "half",
        "seconds": 0.25, "cost": 0.0, "reward": 0.75, "success": True, "decided_by": None,
        "spec": "code/staged", "spec_version": "1", "spec_digest": "d1",
    }  # fmt: skip
    assert (style["status"], style["reason"], style["grader"], style["value"]) == (
        "skipped", "its condition is false", None, None,
    )  # fmt: skip


def test_a_failed_part_says_why_and_has_no_value() -> None:
    (style,) = table(written(PartsWriter(), row("a", UNSCORED))).to_pylist()
    assert (style["status"], style["fault"], style["value"], style["reward"]) == (
        "failed", "infrastructure", None, None,
    )  # fmt: skip


def test_a_reward_without_parts_is_not_lost() -> None:
    (only,) = table(written(PartsWriter(), row("a", BROKEN))).to_pylist()
    assert (only["part"], only["fault"], only["reason"]) == (
        None, "infrastructure", "the node is gone",
    )  # fmt: skip


def test_parts_are_written_group_by_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "_GROUP_ROWS", 4)
    parquet = pytest.importorskip("pyarrow.parquet")
    data = written(PartsWriter(), *(row(str(number), SCORED) for number in range(3)))
    assert parquet.ParquetFile(io.BytesIO(data)).num_row_groups == 2
    assert table(data).num_rows == 6


def test_one_trajectory_is_one_object_of_numbers() -> None:
    assert json.loads(written(RewardJsonWriter(), row("a", SCORED))) == {
        "reward": 0.75,
        "success": 1,
        "outcome/tests": 0.5,
    }


def test_an_unscored_reward_is_absent_and_never_zero() -> None:
    assert json.loads(written(RewardJsonWriter(), row("a", UNSCORED))) == {}


def test_several_trajectories_stand_under_their_ids() -> None:
    found = json.loads(written(RewardJsonWriter(), row("a", SCORED), row("b", UNSCORED)))
    assert found == {"a": {"reward": 0.75, "success": 1, "outcome/tests": 0.5}, "b": {}}


@pytest.mark.parametrize(
    ("name", "writer"),
    [
        ("run.parts.parquet", "parquet-parts"),
        ("run.parquet", "parquet"),
        ("reward.json", "reward-json"),
        ("verifier/reward.json", "reward-json"),
    ],
)
def test_a_writer_is_chosen_by_the_name(name: str, writer: str) -> None:
    assert writer_for(Path(name), registry_of()).card.name == writer

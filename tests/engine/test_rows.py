"""Which Scores of an earlier ledger line still hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from rewardhub.contracts import Grader, GroupGrader, Verdict
from rewardhub.engine.rows import Cell, ledger_line, reusable, row_digest
from rewardhub.host import GraderCard, registry_of
from rewardhub.records import Part, Reward, Score, Trajectory
from rewardhub.spec import Spec, load
from rewardhub.testing import make_trajectory


class Plain(Grader):
    limit: int = 1

    def grade(self, trajectory: Trajectory) -> Verdict:
        return 1.0


class Group(GroupGrader):
    def grade_group(self, trajectories: Sequence[Trajectory]) -> Sequence[Verdict]:
        return [1.0 for _ in trajectories]


CARDS = (GraderCard(name="test/plain", grader=Plain), GraderCard(name="test/group", grader=Group))
DATA = b'{"a": 1}'
SCORES = {"one": Score.of(0.5, "half"), "two": Score.of(0.25), "group": Score.of(1.0)}


@pytest.fixture
def make(spec_of: Callable[..., dict[str, Any]]) -> Callable[..., Spec]:
    """Return a function that makes a spec of two equal graders and one of groups."""

    def build(**options: Any) -> Spec:
        plain = {"use": "test/plain"}
        content = spec_of(
            {**plain, "as": "one", "options": {"limit": 1}},
            {**plain, "as": "two", "options": {"limit": 2, **options}},
            {"use": "test/group"},
        )
        spec = load(content, registry_of(*CARDS))
        assert isinstance(spec, Spec)
        return spec

    return build


def _line(spec: Spec, scores: dict[str, Score], digest: str) -> bytes:
    parts = tuple(Part(entry.id, "only", 1.0, scores.get(entry.id), 0.0) for entry in spec.entries)
    reward = Reward(0.0, step_rewards=(0.0,), parts=parts, spec=spec.info)
    return ledger_line(make_trajectory("x", id="a"), reward, 0, 1, digest)


def _then(spec: Spec) -> dict[str, Any]:
    return {spec.digest: {entry.id: entry.identity for entry in spec.entries}}


def test_scores_of_the_same_row_by_the_same_graders_hold(make: Callable[..., Spec]) -> None:
    spec = make()
    line = _line(spec, SCORES, row_digest(DATA))
    held = reusable(line, row_digest(DATA), _then(spec), spec)
    # What compares a group depends on more than this row.
    assert held == {"one": SCORES["one"], "two": SCORES["two"]}


def test_no_score_of_another_row_holds(make: Callable[..., Spec]) -> None:
    spec = make()
    line = _line(spec, SCORES, row_digest(b"another"))
    assert reusable(line, row_digest(DATA), _then(spec), spec) == {}


def test_a_score_by_other_options_does_not_hold(make: Callable[..., Spec]) -> None:
    before, now = make(), make(limit=3)
    line = _line(before, SCORES, row_digest(DATA))
    assert reusable(line, row_digest(DATA), _then(before), now) == {"one": SCORES["one"]}


def test_a_score_holds_for_whatever_part_has_the_same_grader(make: Callable[..., Spec]) -> None:
    before, now = make(), make(limit=1)
    line = _line(before, SCORES, row_digest(DATA))
    held = reusable(line, row_digest(DATA), _then(before), now)
    assert held == {"one": SCORES["one"], "two": SCORES["one"]}


def test_failed_and_skipped_parts_are_made_anew(make: Callable[..., Spec]) -> None:
    spec = make()
    failed = {"one": Score.fail("down", fault="infrastructure")}
    line = _line(spec, failed, row_digest(DATA))
    assert reusable(line, row_digest(DATA), _then(spec), spec) == {}


def test_a_line_of_a_spec_that_nobody_knows_has_nothing_that_holds(
    make: Callable[..., Spec],
) -> None:
    spec = make()
    line = _line(spec, SCORES, row_digest(DATA))
    assert reusable(line, row_digest(DATA), {}, spec) == {}


@pytest.mark.parametrize(
    ("cell", "ready", "entered"),
    [
        (Cell(1, b"x"), False, False),
        (Cell(1, b"x", failure="no JSON"), True, True),
        (Cell(1, b"x", identity=b"12345678"), False, True),
        (Cell(1, b"x", identity=b"12345678", line=b"{}"), True, True),
    ],
)
def test_a_cell_knows_how_far_it_is(cell: Cell, ready: bool, entered: bool) -> None:
    assert (cell.ready, cell.entered) == (ready, entered)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ('say "a\\b"\n\x01\x7f', 'say "a\\b"\n\x01\x7f'),
        ("naïve 日本 🙂 \u2028", "naïve 日本 🙂 \u2028"),
        ("half of a pair: \ud83d", "half of a pair: \ufffd"),
    ],
)
def test_a_line_holds_any_id_as_json(name: str, written: str) -> None:
    trajectory = make_trajectory("x", id=name)
    line = ledger_line(trajectory, Reward(0.0, step_rewards=(0.0,)), 1, 7, row_digest(DATA))
    fields = json.loads(line.decode())
    assert (fields["id"], fields["source"], fields["row"]) == (written, 1, 7)
    assert fields["task"] == fields["group"] == trajectory.task.id
    assert fields["status"] == "completed"

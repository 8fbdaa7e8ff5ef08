"""Explanations: stages as the spec has them, steps, gates, routes."""

import io
import json

import pytest

from rewardhub.engine.rows import ledger_line
from rewardhub.errors import LedgerError
from rewardhub.host import registry_of
from rewardhub.records import (
    Part,
    Reward,
    Score,
    SpecInfo,
    Step,
    StepValue,
    Task,
    ToolCall,
    Trajectory,
)
from rewardhub.report import explain, show_explanation
from rewardhub.report.console import console_for

SPEC = {
    "name": "a/b",
    "stages": [
        {"name": "format", "gate": {"below": 1.0, "reward": -1.0}, "graders": []},
        {"name": "outcome", "combine": "product", "graders": []},
        {"name": "cost", "weight": -0.1, "graders": []},
    ],
}
INFO = SpecInfo("a/b", "2", "0123456789abcdef")
REGISTRY = registry_of()


def attempt(*texts):
    return Trajectory(
        id="t1",
        task=Task(id="q", reference="r"),
        steps=tuple(Step(text=text) for text in texts),
    )


@pytest.fixture
def run(tmp_path):
    """Write a run of one native trajectory, and return its folder."""

    def write(trajectory, reward, spec=SPEC):
        rows = tmp_path / "rows.jsonl"
        rows.write_bytes(trajectory.to_json() + b"\n")
        folder = tmp_path / "run"
        folder.mkdir()
        line = ledger_line(trajectory, reward, 0, 1, "not the row's digest")
        (folder / "rewards.jsonl").write_bytes(line)
        described = {
            "spec": spec,
            "inputs": [{"path": str(rows), "reader": "native"}],
            "mapping": {},
            "facts": None,
        }
        (folder / "run.json").write_text(json.dumps(described))
        return folder

    return write


def reward_of(steps=(1.0,), **fields):
    parts = (
        Part("f", "format", score=Score.of(True), contribution=0.0),
        Part("p", "outcome", score=Score.of(True, "fine"), contribution=None),
        Part("c", "cost", weight=2, score=Score.of(0.5), contribution=-0.05),
    )
    known = {"success": True, "parts": parts, "spec": INFO}
    return Reward(sum(steps), step_rewards=steps, **(known | fields))


def test_takes_weights_and_gates_from_the_spec_of_the_run(run):
    told = explain(run(attempt("x"), reward_of()), "t1", REGISTRY)
    assert [(stage.name, stage.weight, stage.combine) for stage in told.stages] == [
        ("format", 0.0, "mean"),
        ("outcome", 1.0, "product"),
        ("cost", -0.1, "mean"),
    ]
    assert told.stages[0].gate == {"below": 1.0, "reward": -1.0}
    assert [stage.contribution for stage in told.stages] == [0.0, None, -0.05]


def test_takes_the_spec_that_a_route_led_to(run):
    route = {"route": {"by": "task.domain", "x": {"name": "c/d", "stages": []}, "y": SPEC}}
    told = explain(run(attempt("x"), reward_of(), route), "t1", REGISTRY)
    assert told.stages[2].weight == -0.1


def test_says_that_the_row_is_not_the_one_that_was_graded(run):
    told = explain(run(attempt("x"), reward_of()), "t1", REGISTRY)
    assert told.trajectory is None
    assert told.note.endswith("rows.jsonl` has changed since")


def test_a_damaged_run_is_an_error(run):
    folder = run(attempt("x"), reward_of())
    (folder / "run.json").write_text("{")
    with pytest.raises(LedgerError, match="is damaged"):
        explain(folder, "t1", REGISTRY)


def shown(explanation):
    stream = io.StringIO()
    show_explanation(console_for(stream), explanation)
    return stream.getvalue().splitlines()


def test_shows_what_each_stage_and_part_did(run):
    lines = shown(explain(run(attempt("x"), reward_of()), "t1", REGISTRY))
    assert lines[:7] == [
        "t1: reward 1, success",
        "├── format: +0 (weight 0, gate: below 1 the reward is -1)",
        "│   └── f: 1, adds +0",
        "├── outcome (weight 1, product)",
        "│   └── p: 1: fine",
        "└── cost: -0.05 (weight -0.1)",
        "    └── c: 0.5, weight 2, adds -0.05",
    ]


def test_shows_the_gate_that_decided(run):
    parts = (
        Part("f", "format", score=Score.of(False, "no block"), contribution=0.0),
        Part("p", "outcome", reason="not reached", contribution=0.0),
    )
    reward = Reward(
        -1.0, False, reason="the gate `format` closed: 0 is below 1", step_rewards=(-1.0,),
        unplaced=-1.0, parts=parts, decided_by="format", spec=INFO,
    )  # fmt: skip
    lines = shown(explain(run(attempt("x"), reward), "t1", REGISTRY))
    assert lines[:5] == [
        "t1: reward -1, no success: the gate `format` closed: 0 is below 1",
        "├── format: decided the reward (weight 0, gate: below 1 the reward is -1)",
        "│   └── f: 0, adds +0: no block",
        "└── outcome: +0 (weight 1, product)",
        "    └── p: skipped: not reached",
    ]


def test_shows_the_reward_of_each_step(run):
    values = (StepValue(0, 1.0), StepValue(1, 0.25))
    part = Part("p", "outcome", score=Score.of(0.6, step_values=values), contribution=1.0)
    told = explain(run(attempt("x", "y"), reward_of((0.75, 0.25), parts=(part,))), "t1", REGISTRY)
    trajectory = attempt("look", "done").replace(
        steps=(
            Step(text="look\nagain", tool_calls=(ToolCall(name="ls", arguments="{}"),)),
            Step(text="done"),
        )
    )
    known = type(told)(**{**vars(told), "trajectory": trajectory})
    assert shown(known)[-3:] == [
        "Step   Reward     p  Text",
        "   0  +0.7500     1  look again ls({})",
        "   1  +0.2500  0.25  done",
    ]
    assert shown(told)[-1] == "   1  +0.2500  0.25"


def test_shows_the_beginning_and_the_end_of_long_evidence(run):
    score = Score.of(True, evidence={"log": "a" * 500 + "z" * 500, "count": 3})
    part = Part("p", "outcome", score=score, contribution=1.0)
    lines = shown(explain(run(attempt("x"), reward_of(parts=(part,))), "t1", REGISTRY))
    assert "        ├── log: " + "a" * 120 + " … " + "z" * 120 in lines
    assert "        └── count: 3" in lines

"""`rewardhub explain`: from the number back to the reasons."""

import json
import shutil

import pytest

from rewardhub.cli import ExitCode


@pytest.fixture
def explain(call_in, scored):
    def run(*arguments):
        return call_in(scored, "explain", scored.run_name, *arguments)

    return run


def test_shows_what_each_part_adds_and_why(explain, scored):
    code, out, _ = explain("answers.jsonl:2")
    (line,) = [line for line in scored.ledger() if line["row"] == 2]
    spec = line["reward"]["spec"]["digest"][:8]
    assert code == ExitCode.OK
    assert out.splitlines() == [
        "answers.jsonl:2: reward 0, no success",
        "├── outcome: +0 (weight 0.75)",
        "│   └── same (plain/same): 0, adds +0: 'it is five' is not 'five'",
        "└── style: +0 (weight 0.25)",
        "    └── brevity (plain/brevity): 0, adds +0: 3 words",
        "        └── words: 3",
        "",
        f"Where    {scored.path}/answers.jsonl, row 2",
        f"Spec     plain/strict 1 ({spec})",
        f"Attempt  completed, 1 step, task {line['task']}",
        "Asked    Say five.",
        "Wanted   five",
        "Answer   it is five",
    ]


def test_shows_whose_fault_it_is_that_there_is_no_reward(explain):
    _, out, _ = explain("answers.jsonl:3")
    reason = "`plain/same` broke: ValueError: boom"
    lines = out.splitlines()
    begin = "answers.jsonl:3: unscored (fault: grader): part `same` of stage `outcome` failed: "
    assert lines[0] == begin + reason
    assert lines[2] == f"│   └── same (plain/same): failed, fault grader: {reason}"


def test_finds_an_id_and_a_place(explain):
    by_id = explain("named")
    assert by_id[1].startswith("named: reward 1, success")
    assert explain("answers.jsonl:6") == by_id


def test_gives_the_whole_explanation_as_json(explain, scored):
    _, out, _ = explain("answers.jsonl:1", "--json")
    told = json.loads(out)
    (line,) = [line for line in scored.ledger() if line["row"] == 1]
    assert told["reward"] == line["reward"]
    assert [stage["contribution"] for stage in told["stages"]] == [0.75, 0.25]
    assert told["trajectory"]["task"]["reference"] == "four"
    assert told["file"] == str(scored.path / "answers.jsonl")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("name", "`{run}` has no trajectory `name`. Did you mean `named`?"),
        ("zzz", "`{run}` has no trajectory `zzz`. An id is, for example, `answers.jsonl:1`."),
        (
            "answers.jsonl:5",
            "`answers.jsonl:5` is no trajectory: the row is an array, not a JSON object",
        ),
    ],
)
def test_says_what_it_cannot_find(explain, scored, name, message):
    code, out, err = explain(name)
    assert (code, out) == (ExitCode.WRONG, "")
    assert err.splitlines()[1:] == [message.format(run=scored.run_name)]


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ("nowhere", "`nowhere` does not exist: name the one that `rewardhub score` tells."),
        ("cache", "`cache` is no run folder: name the one that `rewardhub score` tells."),
    ],
)
def test_refuses_what_is_no_run(call_in, scored, run, message):
    (scored.path / "cache").mkdir(exist_ok=True)
    code, _, err = call_in(scored, "explain", run, "x")
    assert code == ExitCode.WRONG
    assert err.splitlines()[1:] == [message]


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (lambda path: path.unlink(), "`{path}` is gone"),
        (lambda path: path.write_text("{}\n" * 6), "`{path}` has changed since"),
    ],
)
def test_says_why_the_texts_are_not_at_hand(call_in, scored, change, note):
    path = scored.path / "answers.jsonl"
    kept = shutil.copy2(path, path.with_name("kept"))
    try:
        change(path)
        code, out, _ = call_in(scored, "explain", scored.run_name, "answers.jsonl:1")
    finally:
        shutil.move(kept, path)
    assert code == ExitCode.OK
    assert f"Texts    not at hand: {note.format(path=path)}" in out.splitlines()
    assert out.startswith("answers.jsonl:1: reward 1, success")

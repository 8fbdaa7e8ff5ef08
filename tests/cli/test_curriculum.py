"""`rewardhub curriculum`: from scored attempts to what is trained on next."""

import json

import pytest

from rewardhub.cli import ExitCode


@pytest.fixture
def scored_twice(call, folder):
    """Score two rounds of attempts at three tasks; return the names of their run folders."""

    def round_of(name, *successes):
        rows = [
            folder.row("yes" if number < right else "no", "yes", prompt=f"Do {task}.")
            for task, right in zip("abc", successes, strict=True)
            for number in range(8)
        ]
        folder.answers(*rows, name=f"{name}.jsonl")
        code, _, err = call("score", f"{name}.jsonl", "--reward", "strict.yaml", "--run", name)
        assert code == ExitCode.OK, err
        return name

    return round_of("one", 1, 4, 7), round_of("two", 6, 6, 8)


def test_writes_data_sets_and_tells_the_trainers_options(call, folder, scored_twice):
    code, out, _ = call("curriculum", scored_twice[0], "--out", "data")
    lines = out.splitlines()
    assert code == ExitCode.OK
    assert lines[0] == "3 tasks to train on, 0 set aside"
    assert [line.split()[:5] for line in lines[3:6]] == [
        ["data/stage-1.jsonl", "1", "0.833", "to", "0.833"],
        ["data/stage-2.jsonl", "1", "0.500", "to", "0.500"],
        ["data/stage-3.jsonl", "1", "0.167", "to", "0.167"],
    ]
    assert lines[-1].startswith(
        "  --data.prompt_dataset data/stage-1.jsonl,data/stage-2.jsonl,data/stage-3.jsonl "
        "--data.prompt_probs 0."
    )
    assert (folder.path / "data" / "curriculum.json").is_file()


def test_later_runs_move_tasks_to_easier_bands(call, scored_twice):
    code, out, _ = call("curriculum", *scored_twice, "--out", "data", "--json")
    told = json.loads(out)
    assert code == ExitCode.OK
    assert [(stage["file"], stage["tasks"]) for stage in told["stages"]] == [
        ("stage-1.jsonl", 1),
        ("stage-2.jsonl", 2),
    ]


def test_says_what_is_set_aside(call, scored_twice):
    _, out, _ = call("curriculum", "two", "--out", "data", "--sure", "0.6", "--always", "0.9")
    lines = out.splitlines()
    assert lines[0] == "2 tasks to train on, 1 set aside"
    assert "  set aside: 1 always (it surely passes nearly always)" in lines
    assert lines[-1] == "Set aside: data/aside.jsonl"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["one", "--out", "a,b"], "Name another folder"),
        (["one", "--out", "data", "--prior", "1"], "write two numbers"),
        (["one", "--out", "data", "--prior", "0,1"], "two positive numbers"),
        (["one", "--out", "data", "--keep", "2"], "`--keep 2`"),
        (["nowhere", "--out", "data"], "`nowhere` does not exist"),
        (["one", "one", "--out", "data"], "is named twice"),
    ],
)
def test_refuses_a_wrong_command_and_writes_nothing(call, folder, scored_twice, arguments, message):
    code, out, err = call("curriculum", *arguments)
    assert (code, out) == (ExitCode.WRONG, "")
    assert message in err
    assert not (folder.path / "data").exists()

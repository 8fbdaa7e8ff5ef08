"""`rewardhub rescore`: another spec over a run; only what changed is graded."""

import json
import os
import shutil

import pytest

from rewardhub.cli import ExitCode


@pytest.fixture
def again(scored, tmp_path):
    """The folder with a finished run, and a copy of the run that may be changed."""
    run = tmp_path / "copy"
    shutil.copytree(scored.path / scored.run_name, run)
    return run


def other_spec(folder, path, before, after):
    text = (folder.path / "strict.yaml").read_text()
    path.write_text(text.replace(before, after))
    return path


def test_reuses_every_score_where_only_weights_changed(call_in, scored, again, tmp_path):
    spec = other_spec(scored, tmp_path / "other.yaml", "weight: 0.25", "weight: 0.125")
    out_file = tmp_path / "new.jsonl"
    code, out, err = call_in(scored, "rescore", again, "--reward", spec, "--out", out_file)
    (new,) = tmp_path.glob("copy-*")
    assert code == ExitCode.INCOMPLETE
    assert err.splitlines()[1:] == [f"Run folder: {new}"]
    # The failed Score is made anew: whatever broke may be mended.
    assert "9 Scores reused, 1 graded" in out
    lines = [json.loads(line) for line in out_file.read_text().splitlines()]
    assert [line["reward"]["value"] for line in lines] == [0.875, 0.0, None, None, 0.875]
    assert lines == scored.ledger(new)
    assert len(scored.ledger(again)) == 5


def test_grades_only_the_part_that_changed(call_in, scored, again, tmp_path):
    fold = "plain/same, options: {fold: true}}"
    spec = other_spec(scored, tmp_path / "other.yaml", "plain/same}", fold)
    new = tmp_path / "new"
    _, out, _ = call_in(scored, "rescore", again, "--reward", spec, "--json", "--run", new)
    summary = json.loads(out)
    assert (summary["run"], summary["reused"]) == (str(new), 5)


def test_works_in_the_run_folder_itself(call_in, scored, again, tmp_path):
    spec = other_spec(scored, tmp_path / "other.yaml", "weight: 0.25", "weight: 0.125")
    _, out, _ = call_in(scored, "rescore", again, "--reward", spec, "--json", "--run", again)
    assert json.loads(out)["reused"] == 9
    assert scored.ledger(again)[0]["reward"]["value"] == 0.875


def test_goes_on_from_a_run_that_was_cut_off(call_in, scored, again, tmp_path):
    ledger = again / "rewards.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(lines[:2]) + lines[2][:50])
    command = ("rescore", again, "--reward", "strict.yaml", "--json", "--run", tmp_path / "new")
    _, out, _ = call_in(scored, *command)
    summary = json.loads(out)
    assert (summary["trajectories"], summary["reused"]) == (5, 4)


@pytest.fixture
def run(folder, scored):
    """A copy of the finished run with its inputs, which may be changed."""
    shutil.rmtree(folder.path)
    shutil.copytree(scored.path, folder.path)
    described = folder.path / folder.run_name / "run.json"
    described.write_text(described.read_text().replace(str(scored.path), str(folder.path)))
    return folder.run_name


def remove(folder):
    (folder.path / "answers.jsonl").unlink()


def touch(folder):
    os.utime(folder.path / "answers.jsonl", (1, 1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (remove, "The input `{path}` of the run is gone. Put it back, or score anew."),
        (
            touch,
            "The input `{path}` has changed since the run. Score it anew: `rewardhub score`.",
        ),
    ],
)
def test_refuses_inputs_that_are_not_what_they_were(call, folder, run, change, message):
    change(folder)
    code, _, err = call("rescore", run, "--reward", "strict.yaml")
    assert code == ExitCode.WRONG
    assert err.splitlines()[-1] == message.format(path=folder.path / "answers.jsonl")


def test_refuses_what_is_no_run(call):
    code, _, err = call("rescore", "nowhere", "--reward", "strict.yaml")
    assert (code, err) == (
        ExitCode.WRONG,
        "`nowhere` does not exist: name the one that `rewardhub score` tells.\n",
    )

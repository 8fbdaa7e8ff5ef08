"""Curricula as data sets of OpenRLHF."""

import json

import pytest

from rewardhub.doors.labels import Label, read_label
from rewardhub.errors import UsageError
from rewardhub.export.curriculum import Settings, make_curriculum
from rewardhub.export.openrlhf import write_curriculum
from rewardhub.report.shelf import Shelf

YES, NO = [True], [False]


@pytest.fixture
def write(runs, tmp_path):
    """Write the curriculum of one run, and return what was written."""

    def make(*tasks, out="out", name="run", **settings):
        with Shelf() as shelf:
            opened = runs.read(runs.write(name, *tasks))
            made = make_curriculum(opened, Settings(**settings), shelf)
            return write_curriculum(made, tmp_path / out, shelf)

    return make


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def three(runs):
    return (
        (runs.task("easy"), YES * 7 + NO), (runs.task("middle"), YES * 4 + NO * 4),
        (runs.task("hard"), YES + NO * 7),
    )  # fmt: skip


def test_a_row_has_prompt_label_and_source(runs, write):
    task = runs.task("a", reference="secret", split="train")
    (stage,) = write((task, YES + NO)).stages
    (row,) = rows_of(stage.path)
    assert row["prompt"] == [{"role": "user", "content": "Do a."}]
    assert read_label(row["label"]) == Label.of(task)
    assert (row["datasource"], row["pass_rate"]) == ("x", 0.5)
    assert "secret" not in stage.path.read_text()


def test_a_task_without_a_domain_has_the_trainers_default_source(runs, write):
    (stage,) = write((runs.task("a", domain=""), YES + NO)).stages
    assert rows_of(stage.path)[0]["datasource"] == "default"


def test_every_row_has_the_same_columns_of_the_same_types(runs, write):
    written = write(*three(runs), (runs.task("b", domain="", split="train"), YES * 3 + NO))
    rows = [row for stage in written.stages for row in rows_of(stage.path)]
    kinds = {tuple((name, type(value)) for name, value in row.items()) for row in rows}
    assert len(rows) == 4
    assert len(kinds) == 1


def test_bands_are_drawn_by_how_much_there_is_to_learn(runs, write):
    written = write(*three(runs))
    weights = [row["weight"] for stage in written.stages for row in rows_of(stage.path)]
    drawn = [stage.probability for stage in written.stages]
    assert drawn == pytest.approx([weight / sum(weights) for weight in weights], abs=1e-8)
    assert sum(drawn) == pytest.approx(1.0, abs=1e-12)


def test_the_options_name_files_and_probabilities_in_order(runs, write, tmp_path):
    written = write(*three(runs))
    words = written.options.split()
    files = [str(tmp_path / "out" / f"stage-{number}.jsonl") for number in (1, 2, 3)]
    assert words[:2] == ["--data.prompt_dataset", ",".join(files)]
    assert words[2] == "--data.prompt_probs"
    assert [float(each) for each in words[3].split(",")] == pytest.approx(
        [stage.probability for stage in written.stages]
    )
    assert words[4:] == [
        "--data.prompt_split", "train", "--data.input_key", "prompt", "--data.label_key", "label",
        "--data.apply_chat_template",
    ]  # fmt: skip


def test_one_band_needs_no_probabilities(runs, write):
    written = write((runs.task("a"), YES + NO), (runs.task("b"), YES + NO))
    assert "prompt_probs" not in written.options
    assert written.epoch == 2


def test_an_epoch_lasts_until_every_band_was_drawn_as_a_whole(runs, write):
    written = write(*three(runs))
    assert written.epoch == round(1 / min(stage.probability for stage in written.stages))


def test_an_empty_band_has_no_file(runs, write, tmp_path):
    write((runs.task("easy"), YES * 7 + NO), (runs.task("hard"), YES + NO * 7))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "aside.jsonl", "curriculum.json", "stage-1.jsonl", "stage-3.jsonl",
    ]  # fmt: skip


def test_what_is_set_aside_is_listed_with_its_reason(runs, write, tmp_path):
    write((runs.task("a"), NO * 40), (runs.task("b"), YES + NO))
    (row,) = rows_of(tmp_path / "out" / "aside.jsonl")
    assert (row["task"], row["reason"], row["judged"]) == ("a", "never", 40)


def test_the_index_tells_how_it_was_made(runs, write, tmp_path):
    written = write(*three(runs), keep=0.25)
    index = json.loads((tmp_path / "out" / "curriculum.json").read_text())
    assert index["settings"]["keep"] == 0.25
    assert index["runs"] == [{"run": str(tmp_path / "run"), "spec": "run"}]
    assert index["options"] == written.options
    assert [stage["tasks"] for stage in index["stages"]] == [1, 1, 1]


def test_an_older_curriculum_is_replaced_as_a_whole(runs, write, tmp_path):
    write(*three(runs))
    write((runs.task("only"), YES + NO), name="later")
    assert sorted(path.name for path in (tmp_path / "out").glob("stage-*")) == ["stage-2.jsonl"]


def test_the_same_runs_give_the_same_bytes(runs, tmp_path):
    opened = runs.read(runs.write("run", *three(runs)))
    texts = []
    for _ in range(2):
        with Shelf() as shelf:
            write_curriculum(make_curriculum(opened, Settings(), shelf), tmp_path / "out", shelf)
        texts.append([path.read_bytes() for path in sorted((tmp_path / "out").iterdir())])
    assert texts[0] == texts[1]


def test_a_folder_with_other_things_is_left_alone(runs, write, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="holds other things than a curriculum"):
        write(*three(runs))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("out", ["a,b", "a@b", "a b"])
def test_a_name_that_the_trainer_would_split_is_refused(runs, write, out):
    with pytest.raises(UsageError, match="Name another folder"):
        write(*three(runs), out=out)


def test_a_file_is_no_folder(runs, write, tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(UsageError, match="is a file: name a folder"):
        write(*three(runs))

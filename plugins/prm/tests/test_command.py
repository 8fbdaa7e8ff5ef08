"""`rewardhub prm train` and `rewardhub prm measure`, as they are typed."""

import json
import random
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from rewardhub_prm.train import CARD

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Call:
    """Run the command in a folder of its own; returns its exit code, stdout and stderr."""
    monkeypatch.setenv("REWARDHUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["rewardhub", "prm", *map(str, arguments)])
        (command,) = entry_points(group="console_scripts", name="rewardhub")
        with pytest.raises(SystemExit) as ended:
            command.load()()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return run


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Sixty solutions, in two splits; the first wrong step is the one that says so."""
    dice = random.Random(0)
    path = tmp_path / "rows.jsonl"
    with path.open("w") as file:
        for number in range(60):
            steps = dice.randint(1, 4)
            error = dice.choice([-1, dice.randrange(steps)])
            said = ["two and two is five" if at == error else "fine" for at in range(steps)]
            row = {
                "id": f"r{number}",
                "problem": f"What is problem {number}?",
                "steps": said,
                "label": error,
                "final_answer_correct": error == -1,
                "split": ("even", "odd")[number % 2],
            }
            file.write(f"{json.dumps(row)}\n")
    return path


def perfect(rows: Path, **changed: Any) -> Path:
    """A file of values that are as they should be, but for ``changed`` rows."""
    path = rows.with_name("values.jsonl")
    with path.open("w") as file:
        for line in rows.read_text().splitlines():
            row = json.loads(line)
            values = [0.1 if at == row["label"] else 0.9 for at in range(len(row["steps"]))]
            row = {"id": row["id"], "values": changed.get(row["id"], values)}
            file.write(f"{json.dumps(row)}\n")
    return path


SHORT = ("--frozen", "--epochs", "3", "--validate", "0.2", "--hold-out", "0.3", "--device", "cpu")


def test_a_trained_model_is_measured_on_what_it_has_not_seen(
    call: Call, rows: Path, folders: dict[str, Path]
) -> None:
    code, out, err = call("train", rows, "--base", folders["generic"], "--out", "model", *SHORT)
    assert (code, "epoch 3 of 3" in err, "saved: model" in out) == (0, True, True)
    card = json.loads(Path("model", CARD).read_text())
    assert card["data"][0]["name"] == "rows.jsonl"
    assert card["validation"]["rows"] == card["parts"]["validation"]["rows"]
    held_out = card["parts"]["held out"]["rows"]

    code, out, err = call(
        *("measure", rows, "--model", "model", "--save-values", "values.jsonl", "--json"),
        *("--resamples", "20", "--device", "cpu"),
    )
    assert code == 0
    assert f"{60 - held_out} rows were seen in training" in err
    assert json.loads(out)["pooled"]["rows"] == held_out
    assert len(Path("values.jsonl").read_text().splitlines()) == held_out


def test_a_training_can_be_told_in_json(call: Call, rows: Path, folders: dict[str, Path]) -> None:
    command = ("train", rows, "--base", folders["generic"], "--out", "model", *SHORT, "--json")
    code, out, _ = call(*command)
    assert (code, json.loads(out)["kept_epoch"] > 0) == (0, True)


def test_the_threshold_of_the_training_can_be_used(
    call: Call, rows: Path, folders: dict[str, Path]
) -> None:
    call("train", rows, "--base", folders["generic"], "--out", "model", *SHORT)
    tuned = json.loads(Path("model", CARD).read_text())["validation"]["tuned_threshold"]
    common = ("measure", rows, "--model", "model", "--resamples", "0", "--device", "cpu")
    code, out, _ = call(*common, "--threshold", "trained", "--json")
    assert (code, json.loads(out)["threshold"]) == (0, tuned)
    code, _, err = call("measure", rows, "--model", folders["generic"], "--threshold", "trained")
    assert (code, "needs a model of `rewardhub prm train`" in err) == (2, True)


def test_refuses_to_measure_only_what_was_trained_on(
    call: Call, rows: Path, folders: dict[str, Path]
) -> None:
    seen = (*SHORT[:-4], "--device", "cpu")
    call("train", rows, "--base", folders["generic"], "--out", "model", *seen)
    command = ("measure", rows, "--model", "model", "--resamples", "0", "--device", "cpu")
    code, _, err = call(*command)
    assert (code, "was trained on the problems of all rows" in err) == (2, True)
    assert call(*command, "--keep-seen")[0] == 0


def test_perfect_values_get_full_marks(call: Call, rows: Path) -> None:
    code, out, _ = call("measure", rows, "--values", perfect(rows), "--json", "--resamples", "20")
    found = json.loads(out)
    assert code == 0
    assert found["mean_f1"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert [split["split"] for split in found["splits"]] == ["even", "odd"]
    assert found["baselines_mean_f1"]["always right"] == 0.0
    assert found["baselines_mean_f1"]["dealt anew"] < 0.9


def test_the_tables_say_each_split_and_all_rows(call: Call, rows: Path) -> None:
    code, out, _ = call("measure", rows, "--values", perfect(rows), "--resamples", "20")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines() if "1.000" in line] == [
        *("even", "odd", "all"),
        *("even", "odd", "all", "mean"),
    ]


def test_a_threshold_is_tuned_on_another_split(call: Call, rows: Path) -> None:
    common = ("measure", rows, "--values", perfect(rows), "--resamples", "0", "--json")
    code, out, _ = call(*common, "--tune-on", "odd")
    assert code == 0
    assert json.loads(out)["tuned_on"] == "odd"
    assert [split["split"] for split in json.loads(out)["splits"]] == ["even"]
    code, _, err = call(*common, "--tune-on", "odd", "--split", "odd")
    assert (code, "not measured on the rows that it was tuned on" in err) == (2, True)


@pytest.mark.parametrize("text", ["much", "1.5", "-0.1", "nan"])
def test_refuses_a_threshold_that_is_none(text: str, call: Call, rows: Path) -> None:
    code, _, err = call("measure", rows, "--values", perfect(rows), f"--threshold={text}")
    assert (code, "from 0 to 1, or `trained`" in err) == (2, True)


def test_needs_a_model_or_values(call: Call, rows: Path) -> None:
    for more in ((), ("--model", "m", "--values", "v")):
        code, _, err = call("measure", rows, *more)
        assert (code, "`--model MODEL` or `--values FILE`" in err) == (2, True)


def test_a_wrong_row_is_named_before_a_model_is_loaded(call: Call, rows: Path) -> None:
    rows.write_text('{"problem": "p", "steps": ["a"], "label": 4}\n')
    code, _, err = call("train", rows, "--base", "gone", "--out", "model")
    assert (code, "rows.jsonl:1: " in err) == (2, True)


def test_a_missing_base_is_named(call: Call, rows: Path) -> None:
    code, _, err = call("train", rows, "--base", "./gone", "--out", "model")
    assert (code, "gone" in err) == (2, True)
    assert not Path("model").exists()


def test_a_plot_is_written(call: Call, rows: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")
    common = ("measure", rows, "--values", perfect(rows), "--resamples", "0")
    code, _, _ = call(*common, "--plot", "plot.png")
    assert (code, Path("plot.png").read_bytes()[:4]) == (0, b"\x89PNG")


def test_the_help_of_both_commands_is_there(call: Call) -> None:
    for name in ("train", "measure"):
        code, out, _ = call(name, "--help")
        assert (code, "--split" in out) == (0, True)

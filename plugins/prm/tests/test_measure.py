import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
from rewardhub_prm.baselines import baselines_of
from rewardhub_prm.labelled import LabelledRow, labels_of_first_error
from rewardhub_prm.measure import measure, with_verdict
from rewardhub_prm.measure_figures import (
    FIGURES,
    ValuedRow,
    figures_of,
    harmonic,
    tuned_threshold,
)
from rewardhub_prm.measure_report import plot, show
from rewardhub_prm.measure_values import read_values, training_of, unseen, write_values

from rewardhub import UsageError

_numbers = itertools.count()


def valued(error: int | None, *values: float | None, split: str = "s", **more: Any) -> ValuedRow:
    number = next(_numbers)
    row = LabelledRow(
        **{
            "id": f"r{number}",
            "problem": f"problem number {number}",
            "steps": tuple("x" for _ in values),
            "labels": labels_of_first_error(error, len(values)),
            "split": split,
            **more,
        }
    )
    return ValuedRow(row=row, values=values)


def random_rows(count: int, seed: int = 0) -> list[ValuedRow]:
    dice = random.Random(seed)
    rows: list[ValuedRow] = []
    for _ in range(count):
        steps = dice.randint(1, 6)
        error = dice.choice([None, dice.randrange(steps)])
        rows.append(valued(error, *(round(dice.random(), 1) for _ in range(steps))))
    return rows


def values_of(rows: list[ValuedRow], threshold: float = 0.5) -> dict[str, float | None]:
    found = figures_of(rows, threshold=threshold, resamples=0).estimates
    return {name: estimate.value for name, estimate in found.items()}


def test_an_error_is_found_where_its_step_is_the_first_below_the_threshold() -> None:
    rows = [valued(1, 0.9, 0.2), valued(1, 0.2, 0.1), valued(1, 0.9, 0.5), valued(0, 0.4, 0.9)]
    assert values_of(rows)["accuracy_erroneous"] == 0.5


def test_a_right_solution_is_left_alone_where_no_step_is_below_the_threshold() -> None:
    rows = [valued(None, 0.5, 0.9), valued(None, 0.9, 0.4), valued(None, 0.9)]
    assert values_of(rows)["accuracy_correct"] == pytest.approx(2 / 3)


def test_f1_is_the_harmonic_mean_of_both_accuracies() -> None:
    rows = [valued(0, 0.1), valued(0, 0.9), valued(None, 0.9), valued(None, 0.9)]
    assert values_of(rows)["f1"] == pytest.approx(2 * 0.5 * 1 / 1.5)


@pytest.mark.parametrize(
    ("erroneous", "correct", "expected"),
    [(1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (None, 1.0, None), (1.0, None, None), (1.0, 1.0, 1.0)],
)
def test_f1_at_its_borders(
    erroneous: float | None, correct: float | None, expected: float | None
) -> None:
    assert harmonic(erroneous, correct) == expected


def test_a_figure_without_its_rows_has_no_value() -> None:
    assert values_of([valued(None, 0.9)]) == {
        "accuracy_erroneous": None,
        "accuracy_correct": 1.0,
        "f1": None,
        "auroc": None,
        "brier": pytest.approx(0.01),
        "calibration_error": pytest.approx(0.1),
    }


@pytest.mark.parametrize("seed", range(5))
def test_figures_of_steps_agree_with_slow_ones(seed: int) -> None:
    rows = random_rows(40, seed)
    steps = [
        (value, label)
        for each in rows
        for value, label in zip(each.values or (), each.row.labels, strict=True)
        if label is not None and value is not None
    ]
    right = [value for value, label in steps if label == 1]
    wrong = [value for value, label in steps if label == 0]
    pairs = [(a > b) + (a == b) / 2 for a in right for b in wrong]
    found = values_of(rows)
    assert found["auroc"] == pytest.approx(sum(pairs) / len(pairs))
    squares = [(value - label) ** 2 for value, label in steps]
    assert found["brier"] == pytest.approx(sum(squares) / len(squares))
    off = 0.0
    for tenth in range(10):
        inside = [(v, y) for v, y in steps if min(int(v * 10), 9) == tenth]
        off += abs(sum(v for v, _ in inside) - sum(y for _, y in inside)) / len(steps)
    assert found["calibration_error"] == pytest.approx(off)


def test_a_row_without_values_is_missed_whatever_its_label() -> None:
    gone = [ValuedRow(row=valued(error, 0.9).row, values=None) for error in (0, None)]
    found = values_of([*gone, valued(0, 0.1), valued(None, 0.9)])
    assert (found["accuracy_erroneous"], found["accuracy_correct"]) == (0.5, 0.5)


def test_a_step_without_a_value_is_not_below_the_threshold() -> None:
    found = values_of([valued(1, None, 0.1), valued(None, None, 0.9)])
    assert (found["f1"], found["auroc"]) == (1.0, 1.0)


def test_intervals_hold_the_value_and_narrow_with_more_problems() -> None:
    few, many = random_rows(30), random_rows(480)
    widths: list[float] = []
    for rows in (few, many):
        estimate = figures_of(rows, threshold=0.5, resamples=300).estimates["auroc"]
        assert estimate.low is not None
        assert estimate.value is not None
        assert estimate.high is not None
        assert estimate.low <= estimate.value <= estimate.high
        widths.append(estimate.high - estimate.low)
    assert widths[1] < widths[0] / 2


def test_intervals_draw_attempts_at_one_problem_together() -> None:
    one = [valued(0, 0.1, problem="the same problem"), valued(0, 0.9, problem="the same problem")]
    estimate = figures_of(one, threshold=0.5, resamples=50).estimates["accuracy_erroneous"]
    assert estimate == (0.5, 0.5, 0.5)


def test_equal_seeds_give_equal_intervals() -> None:
    rows = random_rows(40)
    first, second, other = (
        figures_of(rows, threshold=0.5, resamples=100, seed=seed).estimates for seed in (3, 3, 4)
    )
    assert first == second != other


@pytest.mark.parametrize("seed", range(5))
def test_the_tuned_threshold_is_as_good_as_any(seed: int) -> None:
    rows = random_rows(40, seed)
    best = max(values_of(rows, step / 20)["f1"] or 0.0 for step in range(21))
    threshold = tuned_threshold(rows)
    assert 0 <= threshold <= 1
    assert values_of(rows, threshold)["f1"] == pytest.approx(best)


def test_tuning_counts_rows_and_steps_without_values() -> None:
    gone = [ValuedRow(row=valued(error, 0.9).row, values=None) for error in (0, None)]
    rows = [*gone, *random_rows(20), valued(0, None, 0.2), valued(1, None, 0.2)]
    best = max(values_of(rows, step / 20)["f1"] or 0.0 for step in range(21))
    assert values_of(rows, tuned_threshold(rows))["f1"] == pytest.approx(best)


@pytest.mark.parametrize(("error", "word"), [(0, "without an error"), (None, "with an error")])
def test_a_threshold_needs_both_kinds_of_rows(error: int | None, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        tuned_threshold([valued(error, 0.3)])


def test_a_threshold_is_not_measured_on_the_rows_that_it_was_tuned_on() -> None:
    tuning = [valued(0, 0.1, split="a"), valued(None, 0.2, split="a")]
    other = [valued(0, 0.1, split="b"), valued(None, 0.2, split="b")]
    measured = measure([*tuning, *other], tune_on="a", resamples=0)
    assert [split.name for split in measured.splits] == ["b"]
    assert (measured.threshold, measured.tuned_on) == (0.2, "a")
    assert measured.f1.value == 1
    with pytest.raises(UsageError, match="All rows are of the split `a`"):
        measure(tuning, tune_on="a")
    with pytest.raises(UsageError, match="No split is called `c`"):
        measure(tuning, tune_on="c")


def test_the_mean_is_over_splits_with_an_f1() -> None:
    rows = [
        *(valued(0, 0.1, split="a"), valued(None, 0.9, split="a")),
        *(valued(0, 0.9, split="b"), valued(None, 0.9, split="b")),
        valued(0, 0.1, split="only errors"),
    ]
    measured = measure(rows, resamples=20)
    assert measured.f1.value == 0.5
    assert measured.pooled.rows == 5
    assert measured.splits[2].estimates["f1"].value is None


def test_a_mean_of_no_split_is_none() -> None:
    measured = measure([valued(0, 0.1)], resamples=10)
    assert measured.f1.value is None
    assert measured.baselines_f1 == {}


def test_rows_without_a_verdict_are_not_measured() -> None:
    known = valued(0, 0.5).row
    open_ = valued(None, 0.5, labels=(None,)).row
    assert with_verdict([known, open_]) == (known,)
    with pytest.raises(UsageError, match="first wrong step is known"):
        with_verdict([open_])


def test_baselines_that_need_no_values() -> None:
    rows = [
        valued(1, 0.1, 0.1, final_answer_correct=False),
        valued(0, 0.1, 0.1, final_answer_correct=True),
        valued(None, 0.1, 0.1, final_answer_correct=True),
    ]
    found = baselines_of(rows, threshold=0.5, deals=1)
    assert found["always right"][:3] == (0.0, 1.0, 0.0)
    assert found["always the last step"][:3] == (0.5, 0.0, 0.0)
    assert found["outcome only"][:3] == (0.5, 1.0, pytest.approx(2 / 3))


def test_outcome_only_needs_outcomes() -> None:
    found = baselines_of([valued(0, 0.1), valued(None, 0.9)], threshold=0.5, deals=1)
    assert found["outcome only"][:3] == (None, None, None)


def test_dealt_values_lose_what_the_model_knew() -> None:
    rows = [valued(1, 0.9, 0.1, 0.9) for _ in range(30)]
    rows += [valued(None, 0.9, 0.9, 0.9) for _ in range(30)]
    found = baselines_of(rows, threshold=0.5)
    anew = found["dealt anew"]
    assert anew.f1 is not None
    assert anew.f1_high is not None
    assert anew.f1 < anew.f1_high < 0.7 < (values_of(rows)["f1"] or 0)


def test_values_dealt_by_place_keep_what_places_tell() -> None:
    rows = [valued(1, 0.9, 0.1) for _ in range(10)]
    rows += [valued(None, 0.9) for _ in range(10)]
    found = baselines_of(rows, threshold=0.5)
    assert found["dealt anew by place"].f1 == 1
    assert (found["dealt anew"].f1 or 0) < 0.9


def test_values_are_dealt_within_their_split() -> None:
    rows = [valued(0, 0.1, split="wrong") for _ in range(10)]
    rows += [valued(None, 0.9, split="right") for _ in range(10)]
    assert baselines_of(rows, threshold=0.5)["dealt anew"].f1 == 1


def test_dealt_values_have_an_auroc_too() -> None:
    anew = baselines_of(random_rows(60), threshold=0.5)["dealt anew"]
    assert anew.auroc == pytest.approx(0.5, abs=0.03)
    assert anew.auroc_high is not None
    assert anew.auroc_high > 0.52


def test_values_come_back_from_a_file(tmp_path: Path) -> None:
    rows = (
        valued(0, 0.25, None),
        ValuedRow(row=valued(None, 0.5).row, values=None),
    )
    write_values(rows, tmp_path / "values.jsonl")
    assert read_values([each.row for each in rows], tmp_path / "values.jsonl") == rows


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "x", "values": [0.5]}\n{"id": "y", "values": [0.5]}', "called `y` .*Known|called"),
        ('{"id": "x", "values": [0.5, 0.5]}', "1 steps and 2 values"),
        ('{"id": "x", "values": [NaN]}', "a number in"),
        ('{"id": "x", "values": [2]}', "lies in"),
        ('{"id": "x", "values": [true]}', "a number in"),
        ('{"id": "x"}', "a row is"),
        ('{"id": "x", "values": [0.5]}\n{"id": "x", "values": [0.5]}', "there twice"),
        ("no", "a row is"),
        ("", "no values for 1 of 1 rows, `x` first"),
    ],
)
def test_refuses_values_that_do_not_fit(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "values.jsonl"
    path.write_text(line)
    with pytest.raises(UsageError, match=message):
        read_values([valued(0, 0.5, id="x").row], path)


def test_refuses_a_file_of_values_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        read_values([], tmp_path / "gone.jsonl")


def test_problems_of_the_training_are_left_out(tmp_path: Path) -> None:
    from rewardhub_prm.labelled import digest_of_problem

    trained, checked, new = (valued(0, 0.1, problem=name).row for name in ("a?", "b?", "c?"))
    parts = {
        "training": {"problems": [digest_of_problem("A")]},
        "validation": {"problems": [digest_of_problem("B")]},
    }
    (tmp_path / "rewardhub_prm_training.json").write_text(json.dumps({"parts": parts}))
    card = training_of(str(tmp_path))
    assert unseen([trained, checked, new], card) == (new,)
    assert unseen([trained], training_of("a model without a card")) == (trained,)


def test_a_card_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "rewardhub_prm_training.json").write_text("{}")
    with pytest.raises(UsageError, match="no card of a training"):
        training_of(str(tmp_path))


def test_a_measurement_is_json_and_has_every_figure() -> None:
    measured = measure(random_rows(20), resamples=10)
    (split,) = json.loads(json.dumps(measured.to_json()))["splits"]
    assert tuple(split["figures"]) == FIGURES
    assert set(split["figures"]["f1"]) == {"value", "low", "high"}


def test_tables_show_the_model_beside_the_baselines(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    rows = [*random_rows(20), valued(0, 0.1, split="[odd]")]
    show(Console(width=200), measure(rows, resamples=10))
    shown = capsys.readouterr().out
    assert "[odd]" in shown
    assert "always the last step" in shown
    assert "mean of the splits" in shown


def test_a_plot_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")
    measured = measure(random_rows(20), resamples=0)
    plot(measured, tmp_path / "plot.svg")
    assert "<svg" in (tmp_path / "plot.svg").read_text()
    with pytest.raises(UsageError, match=r"plot.odd` cannot be written"):
        plot(measured, tmp_path / "plot.odd")

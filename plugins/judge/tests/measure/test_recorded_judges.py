"""Figures that others stated of recorded judges, reproduced. Their data is read, never shipped."""

import os
from pathlib import Path

import pytest
from rewardhub_judge.measure.files import read_recorded
from rewardhub_judge.measure.measures import measure
from rewardhub_judge.measure.record import Asked

ROOT = Path(__file__).parents[4]
DATA = Path(os.environ.get("REWARDHUB_DATA", ROOT.parent / "shared" / "data")) / "judge"

pytestmark = [
    pytest.mark.skipif(not DATA.is_dir(), reason=f"there is no {DATA}: set REWARDHUB_DATA"),
]
pytest.importorskip("numpy", reason="measuring judges needs numpy")


def report_of(name, **asked):
    return measure(read_recorded(DATA / name, {}), Asked(**{"resamples": 0} | asked))


def value(judge, name):
    return judge.measures[name].value


def test_reproduces_accuracy_and_consistency_on_llmbar():
    report = report_of("llmbar_with_judges.jsonl.gz")
    found = {
        judge.judge: (round(value(judge, "accuracy"), 3), round(value(judge, "consistent") * 188))
        for judge in report.judges
    }
    assert (report.rows, report.labelled) == (188, 188)
    assert found == {
        "GPT-4/Vanilla": (0.867, 174),
        "GPT-4/CoT": (0.814, 170),
        "ChatGPT/Vanilla": (0.359, 133),
        "ChatGPT/CoT": (0.372, 123),
        "LLaMA2/Vanilla": (0.420, 140),
        "LLaMA2/CoT": (0.484, 115),
    }


def test_reproduces_on_how_many_pairs_of_pandalm_all_annotators_agree():
    report = report_of("pandalm_human_pairs.jsonl")
    assert report.labels_agree == (109, 124)


def test_reproduces_the_accuracy_of_judgebench_reward_models():
    report = report_of("judgebench_reward_model_scores.jsonl")
    found = sorted(round(value(judge, "accuracy"), 3) for judge in report.judges)
    assert (report.rows, len(found), found[0], found[-1]) == (350, 5, 0.594, 0.643)


def test_measures_the_pairs_of_judgebench_in_both_orders():
    (judge,) = report_of("judgebench_claude_pairs.jsonl.gz").judges
    assert judge.answers == 106
    # 11 pairs of the file name one answer in both orders, one the other, nine are ties twice, and
    # the letters of the second order speak of places: 25 of 53 agree.
    assert value(judge, "consistent") == pytest.approx(25 / 53)


def test_measures_how_far_repeated_scores_of_prometheus_agree():
    report = report_of("prometheus_mt_bench_rubric.jsonl.gz")
    (judge,) = report.judges
    assert (report.labelled, judge.answers) == (0, 240)
    assert 0 < value(judge, "repeats") < value(judge, "alpha_of_repeats") < 1
    assert "accuracy" not in judge.measures


def test_intervals_hold_the_figures():
    for judge in report_of("llmbar_with_judges.jsonl.gz", resamples=100).judges:
        found = judge.measures["accuracy"]
        assert found.low < found.value < found.high

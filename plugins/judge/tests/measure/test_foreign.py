"""Recorded decisions of others are recognised by their shape."""

import json

import pytest
from rewardhub_judge.measure.files import read_recorded

from rewardhub import UsageError

LLMBAR = {
    "subset": "Natural", "idx": 3, "input": "?", "output_1": "abc", "output_2": "a", "label": 2,
    "judges": {"j": {"swap=False": "2", "swap=True": None}},
}  # fmt: skip
JUDGEBENCH = {
    "pair_id": "x", "label": "A>B", "response_A": "abc", "response_B": "a",
    "judge_decisions": {"j": ["A>B", "A>B"], "k": ["A=B", "B>A"]},
}  # fmt: skip
SCORES = {"pair_id": "x", "label": "B>A", "scores": {"r": [0.5, 1.5], "s": [1, 1], "t": [2, 1]}}
PANDALM = {
    "idx": 1, "response1": "abc", "response2": True, "annotator1": 1, "annotator2": 0,
    "annotator3": 1, "gpt35_result": "garbage", "pandalm_result": 2,
}  # fmt: skip
PROMETHEUS = {
    "idx": 8, "response_source": "m", "gpt4_score": [3, 2, 3],
    "instruction": "...###Response to evaluate:\nabc\n###Reference Answer (Score 5):\nd",
}  # fmt: skip


@pytest.fixture
def read(tmp_path):
    def read(*rows):
        path = tmp_path / "theirs.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
        return read_recorded(path, {})

    return read


def test_llmbar_names_the_winner_in_both_orders(read):
    recorded = read(LLMBAR)
    (row,) = recorded.pairs
    assert (recorded.format, row.id, row.label) == ("LLMBar", "Natural/3", "second")
    assert row.lengths == (3, 1)
    assert (row.decisions["j"].given, row.decisions["j"].swapped) == (("second",), (None,))


def test_the_second_decision_of_judgebench_is_turned_round(read):
    recorded = read(JUDGEBENCH)
    (row,) = recorded.pairs
    assert (recorded.format, row.label) == ("JudgeBench", "first")
    assert (row.decisions["j"].given, row.decisions["j"].swapped) == (("first",), ("second",))
    assert (row.decisions["k"].given, row.decisions["k"].swapped) == (("tie",), ("first",))


def test_the_higher_score_of_a_reward_model_is_preferred(read):
    recorded = read(SCORES)
    (row,) = recorded.pairs
    assert (recorded.format, row.label) == ("JudgeBench scores", "second")
    found = {judge: each.given for judge, each in row.decisions.items()}
    assert found == {"r": ("second",), "s": ("tie",), "t": ("first",)}


def test_pandalm_has_three_labels_and_judges_in_one_order(read):
    recorded = read(PANDALM)
    (row,) = recorded.pairs
    assert (recorded.format, row.labels, row.lengths) == (
        "PandaLM",
        ("first", "tie", "first"),
        None,
    )
    found = {judge: each.given for judge, each in row.decisions.items()}
    assert found == {"gpt35": (None,), "pandalm": ("second",)}


def test_prometheus_has_repeated_scores_and_no_label(read):
    recorded = read(PROMETHEUS)
    (row,) = recorded.scores
    assert (recorded.format, row.labels, row.votes) == ("Prometheus", (), {"gpt4": (3, 2, 3)})
    assert (row.cluster, row.length) == ("8", 3)


@pytest.mark.parametrize("damage", [{"label": "A"}, {"scores": {"r": [1]}}, {"scores": [1]}])
def test_a_damaged_row_is_named_with_its_line(read, damage):
    with pytest.raises(UsageError, match="line 2: it is no row of JudgeBench scores"):
        read(SCORES, SCORES | {"pair_id": "y"} | damage)

"""Run folders against labels in a file."""

import json

import pytest
from rewardhub_judge.measure.runs import read_run

from rewardhub import UnknownNameError, UsageError


def a_part(name, value, grader="judge/criteria", evidence=None):
    score = {"value": value, "grader": grader, "evidence": evidence or {}}
    return {"id": name, "score": score}


def a_row(number, *parts, group=None, reward=0.5):
    return {
        "id": f"t{number}",
        "group": group or f"t{number}",
        "source": 0,
        "row": number,
        "reward": {"value": reward, "parts": list(parts)},
    }


@pytest.fixture
def read(tmp_path):
    def read(rows, labels, *, columns=None, parts=()):
        for name, lines in (("run/rewards.jsonl", rows), ("labels.jsonl", labels)):
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("\n".join(map(json.dumps, lines)))
        return read_run(tmp_path / "run", tmp_path / "labels.jsonl", columns or {}, parts)

    return read


def test_the_value_of_a_part_is_a_vote(read):
    rows = [
        a_row(1, a_part("judged", 0.25), group="g"),
        a_row(2, a_part("judged", None), group="g"),
    ]
    found = read(rows, [{"id": "t1", "label": 1}]).scores
    assert [(row.votes, row.labels, row.cluster) for row in found] == [
        ({"judged": (0.25,)}, (1.0,), "g"),
        ({"judged": (None,)}, (), "g"),
    ]


def test_a_part_that_was_skipped_was_not_asked(read):
    rows = [a_row(1, a_part("judged", 1.0)), a_row(2, {"id": "judged", "score": None})]
    assert read(rows, [{"id": "t1", "label": 1}]).scores[1].votes == {}


def test_parts_of_this_packs_graders_are_measured_unless_others_are_named(read):
    rows = [a_row(1, a_part("judged", 1.0), a_part("other", 0.0, "math/equivalent"))]
    labels = [{"id": "t1", "label": 1}]
    assert list(read(rows, labels).scores[0].votes) == ["judged"]
    votes = read(rows, labels, parts=["other", "reward"]).scores[0].votes
    assert votes == {"other": (0.0,), "reward": (0.5,)}


def test_labels_may_be_several_and_stand_in_columns_of_other_names(read):
    rows = [a_row(1, a_part("judged", 1.0))]
    labels = [{"name": "t1", "human": [1, 0, 1], "text": "not read"}]
    found = read(rows, labels, columns={"id": "name", "labels": "human"}).scores
    assert found[0].labels == (1.0, 0.0, 1.0)


def pairwise(*bouts):
    return a_part("pairs", 0.5, "judge/pairwise", {"bouts": list(bouts)})


def test_labels_of_pairs_belong_to_groups_of_two(read):
    rows = [a_row(2, a_part("judged", 0.9), group="g"), a_row(1, a_part("judged", 0.2), group="g")]
    (row,) = read(rows, [{"id": "g", "label": "second"}]).pairs
    assert (row.id, row.labels, row.decisions["judged"].given) == ("g", ("second",), ("second",))


def test_the_evidence_of_a_pairwise_judge_tells_both_orders(read):
    bout = {"against": 1, "as_first": "won", "as_second": "lost"}
    rows = [a_row(1, pairwise(bout), group="g"), a_row(2, pairwise(), group="g")]
    found = read(rows, [{"id": "g", "label": "tie"}]).pairs[0].decisions["pairs"]
    assert (found.given, found.swapped) == (("first",), ("second",))


def test_a_member_without_a_value_leaves_its_pair_without_a_verdict(read):
    rows = [a_row(1, a_part("j", None), group="g"), a_row(2, a_part("j", 1.0), group="g")]
    found = read(rows, [{"id": "g", "label": "tie"}]).pairs[0]
    assert found.decisions["j"].given == (None,)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([{"id": "t9", "label": 1}], r"No trajectory of the run is called `t9` .*1 of its 1 ids"),
        ([{"id": "t1", "score": 1}], r"line 1: a label has `id` and `label`.*--map label="),
        ([{"id": "t1", "label": 1}] * 2, "lines 1 and 2 both label `t1`"),
        ([{"id": "t1", "label": None}], "holds no labels"),
        ([], "holds no labels"),
        ([{"id": "t1", "label": float("nan")}], "line 1: a label is a number or a word, not nan"),
        ([{"id": "t1", "label": {}}], "line 1: a label is a number or a word"),
        ([{"id": "t1", "label": "first"}], "The group `t1` has 1 members"),
    ],
)
def test_labels_that_do_not_go_with_the_run_are_named(read, labels, message):
    with pytest.raises(UsageError, match=message):
        read([a_row(1, a_part("judged", 1.0))], labels)


def test_a_part_that_is_not_there_is_named(read):
    with pytest.raises(UnknownNameError, match="Did you mean `judged`"):
        read([a_row(1, a_part("judged", 1.0))], [{"id": "t1", "label": 1}], parts=["juged"])


def test_a_run_that_asked_no_judge_names_its_parts(read):
    with pytest.raises(UsageError, match="--part `answer`, `reward`"):
        read([a_row(1, a_part("answer", 1.0, "math/equivalent"))], [{"id": "t1", "label": 1}])


def test_a_folder_that_is_no_run_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"it has no rewards\.jsonl"):
        read_run(tmp_path, tmp_path / "labels.jsonl", {}, ())


def test_a_run_that_scored_nothing_is_named(read):
    with pytest.raises(UsageError, match="has scored nothing"):
        read([], [{"id": "t1", "label": 1}])

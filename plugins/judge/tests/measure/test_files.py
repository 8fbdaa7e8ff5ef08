"""Files of recorded decisions, in the neutral format."""

import gzip
import json

import pytest
from rewardhub_judge.measure.files import read_recorded

from rewardhub import UsageError


def a_pair(name="p1", **more):
    return {"id": name, "labels": ["first"], "decisions": {"j": {"given": ["first"]}}} | more


def a_score(name="s1", **more):
    return {"id": name, "labels": [4], "votes": {"j": [4, 3]}} | more


@pytest.fixture
def read(tmp_path):
    def read(*lines, columns=None):
        path = tmp_path / "decisions.jsonl"
        texts = (each if isinstance(each, str) else json.dumps(each) for each in lines)
        path.write_text("\n".join(texts))
        return read_recorded(path, columns or {})

    return read


def test_reads_pairs(read):
    recorded = read(a_pair(lengths=[3, 5], decisions={"j": {"given": ["tie"], "swapped": [None]}}))
    (row,) = recorded.pairs
    assert (recorded.format, row.label, row.lengths) == ("neutral", "first", (3, 5))
    assert (row.decisions["j"].given, row.decisions["j"].swapped) == (("tie",), (None,))


def test_reads_scored_answers(read):
    (row,) = read(a_score(length=12)).scores
    assert (row.label, row.votes["j"], row.length) == (4, (4, 3), 12)


def test_reads_a_gzipped_file(tmp_path):
    path = tmp_path / "d.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(a_pair()).encode()))
    assert len(read_recorded(path, {}).pairs) == 1


def test_takes_fields_from_the_columns_that_are_named(read):
    row = {"name": "p1", "truth": ["first"], "decisions": {"j": {"given": ["first"]}}}
    assert read(row, columns={"id": "name", "labels": "truth"}).pairs[0].id == "p1"


@pytest.mark.parametrize(
    ("labels", "label"),
    [
        (["first", "first", "tie"], "first"),
        (["first", "second"], None),
        (["first", "second", "tie"], None),
        ([], None),
    ],
)
def test_the_label_of_a_pair_is_what_more_than_half_say(read, labels, label):
    assert read(a_pair(labels=labels)).pairs[0].label == label


@pytest.mark.parametrize(
    ("labels", "label"),
    [([1, 5, 4], 4), ([2, 3], 2), (["good", "good", "bad"], "good"), (["good", "bad"], None)],
)
def test_the_label_of_a_score_is_the_middle_number_or_the_word_of_more_than_half(
    read, labels, label
):
    votes = {"j": [labels[0]]}
    assert read(a_score(labels=labels, votes=votes)).scores[0].label == label


@pytest.mark.parametrize(
    ("given", "swapped", "verdict"),
    [
        (["first"], ["first"], "first"),
        (["first"], ["second"], "tie"),
        (["first"], [None], None),
        (["second"], [], "second"),
        (["first", "first", "tie"], ["first"], "first"),
        (["first", None], ["first"], "first"),
        ([], [], None),
    ],
)
def test_a_verdict_on_a_pair_holds_in_both_orders(read, given, swapped, verdict):
    row = read(a_pair(decisions={"j": {"given": given, "swapped": swapped}})).pairs[0]
    assert row.decisions["j"].verdict == verdict


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "holds no rows"),
        (["{"], "line 1"),
        (["[1]"], "line 1: it is no JSON object"),
        ([a_pair(), a_pair()], "lines 1 and 2 are both called `p1`"),
        ([a_pair(), a_score()], "line 2: pairs and scored answers stand in one file"),
        ([a_pair(labels=["better"])], "line 1: `labels.0`"),
        ([a_pair(decisions={"j": {"given": ["A"]}})], "line 1: `decisions.j.given.0`"),
        ([a_pair(lengths=[1, -1])], "line 1: `lengths.1`"),
        ([a_pair(winner="first")], "line 1: `winner`"),
        ([a_score(labels=[float("nan")])], "line 1: `labels.0"),
        ([a_score(votes={"j": [float("inf")]})], "line 1: `votes.j.0"),
        ([a_score(labels=["good"])], "`4.0` .*is a number and `good` .*a word"),
        ([{"id": "x", "score": 3}], "line 1: it has the keys id, score"),
    ],
)
def test_a_mistake_is_named_with_its_line(read, lines, message):
    with pytest.raises(UsageError, match=message):
        read(*lines)


def test_a_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"none\.jsonl cannot be read: No such file"):
        read_recorded(tmp_path / "none.jsonl", {})


def test_a_file_that_is_no_gzip_is_named(tmp_path):
    (tmp_path / "d.jsonl.gz").write_bytes(b"{}")
    with pytest.raises(UsageError, match="cannot be read"):
        read_recorded(tmp_path / "d.jsonl.gz", {})

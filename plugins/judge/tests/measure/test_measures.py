"""What is measured of the judges of a file, and the rules about labels, ties and no verdict."""

import pytest
from rewardhub_judge.measure.files import Recorded
from rewardhub_judge.measure.measures import measure
from rewardhub_judge.measure.record import Asked
from rewardhub_judge.measure.rows import Decisions, PairRow, ScoreRow

from rewardhub import UsageError

pytest.importorskip("numpy", reason="measuring judges needs numpy")


def pair(number, label, given, swapped=(), judge="j", **more):
    labels = (label,) if isinstance(label, str) else tuple(label or ())
    decisions = {judge: Decisions(given=tuple(given), swapped=tuple(swapped))}
    return PairRow(id=str(number), labels=labels, decisions=decisions, **more)


def pairs(*rows, **asked):
    return measure(Recorded(format="test", pairs=rows), Asked(**{"resamples": 0} | asked))


def score(number, label, *votes, judge="j", **more):
    labels = () if label is None else (label,)
    return ScoreRow(id=str(number), labels=labels, votes={judge: votes}, **more)


def scores(*rows, **asked):
    return measure(Recorded(format="test", scores=rows), Asked(**{"resamples": 0} | asked))


def value(report, name, judge=0):
    return report.judges[judge].measures[name].value


def test_a_decision_is_right_if_it_is_the_label():
    report = pairs(pair(1, "first", ["first"], ["second"]), pair(2, "tie", ["tie"], ["tie"]))
    assert value(report, "accuracy") == 0.75


def test_no_verdict_is_not_right_and_is_counted():
    report = pairs(pair(1, "first", ["first"], [None]), pair(2, "second", ["second"]))
    assert value(report, "accuracy") == pytest.approx(2 / 3)
    assert (report.judges[0].answers, report.judges[0].without_verdict) == (3, 1)


def test_a_tie_is_not_right_where_the_label_names_an_item():
    report = pairs(pair(1, "first", ["tie"]), pair(2, "second", ["second"]))
    assert (value(report, "accuracy"), report.judges[0].ties) == (0.5, 1)


def test_labels_without_a_majority_count_for_no_agreement():
    report = pairs(pair(1, ["first", "second"], ["first"]), pair(2, "first", ["second"]))
    assert (report.labelled, value(report, "accuracy")) == (1, 0)
    assert report.labels_agree == (0, 1)
    assert "Rows whose labels have no majority, which count for none: 1." in report.notes


def test_labels_that_are_all_the_same_are_noted():
    report = pairs(pair(1, "first", ["first"]), pair(2, "first", ["first"]))
    assert value(report, "kappa") is None
    assert any("All labels are the same" in note for note in report.notes)


def test_all_ties_have_no_place_and_no_length_to_prefer():
    rows = [pair(n, "tie", ["tie"], ["tie"], lengths=(1, 2)) for n in range(3)]
    report = pairs(*rows)
    assert value(report, "consistent") == 1
    assert (value(report, "shown_first"), value(report, "longer")) == (None, None)


def test_one_order_says_nothing_of_the_place():
    assert "shown_first" not in pairs(pair(1, "first", ["first"])).judges[0].measures


def test_without_labels_only_biases_are_measured():
    report = pairs(pair(1, None, ["first"], ["first"], lengths=(3, 1)))
    assert set(report.judges[0].measures) == {"shown_first", "consistent", "longer", "length_slope"}
    assert "Rows without a label, which count for no agreement: 1." in report.notes


def test_rows_of_which_nothing_can_be_measured_are_refused():
    with pytest.raises(UsageError, match="Nothing can be measured"):
        pairs(pair(1, None, ["first"]))


def test_repeats_of_a_question_tell_how_far_a_judge_agrees_with_itself():
    report = pairs(pair(1, "first", ["first", "first"]), pair(2, "second", ["second", "first"]))
    assert value(report, "repeats") == 0.5
    # Two units, values first first / second first: alpha is 0 by its formula.
    assert value(report, "alpha_of_repeats") == pytest.approx(0)


def test_each_judge_is_measured_on_the_rows_that_it_saw():
    report = pairs(
        pair(1, "first", ["first"], judge="a"),
        pair(2, "first", ["second"], judge="b"),
        pair(3, "second", ["second"], judge="a"),
    )
    assert [(j.judge, j.answers) for j in report.judges] == [("a", 2), ("b", 1)]
    assert [value(report, "accuracy", judge) for judge in (0, 1)] == [1, 0]


def test_the_best_judge_is_compared_with_the_others_on_the_same_rows():
    rows = [
        PairRow(
            id=str(n),
            labels=("first",) if n % 2 else ("second",),
            decisions={
                "poor": Decisions(given=("first",)),
                "good": Decisions(given=("first" if n % 2 else "second",)),
            },
        )
        for n in range(40)
    ]
    report = pairs(*rows, resamples=200)
    difference = report.differences["poor"]
    assert set(report.differences) == {"poor"}
    assert difference.value == -0.5
    assert difference.low < -0.5 < difference.high < 0


def test_what_labels_prefer_stands_beside_what_judges_prefer():
    report = pairs(
        pair(1, "first", ["second"], lengths=(9, 1)), pair(2, "first", ["first"], lengths=(9, 1))
    )
    assert (value(report, "longer"), report.of_labels["longer"].value) == (0.5, 1)


def test_whole_numbers_are_ordinal_and_have_all_measures():
    rows = [score(1, 1, 1, length=5), score(2, 3, 2, length=9), score(3, 5, 5, length=7)]
    report = scores(*rows)
    assert value(report, "accuracy") == pytest.approx(2 / 3)
    assert value(report, "mean_difference") == pytest.approx(-1 / 3)
    assert value(report, "rank_correlation") == 1
    assert value(report, "length_correlation") == pytest.approx(0.5)
    assert report.of_labels["length_correlation"].value == pytest.approx(0.5)


def test_fractions_are_interval_and_never_right_or_wrong():
    report = scores(score(1, 0.5, 0.4), score(2, 1.0, 0.9), score(3, 0.0, 0.3))
    assert "accuracy" not in report.judges[0].measures
    assert value(report, "alpha") > 0.8


def test_a_threshold_makes_fractions_right_or_wrong():
    report = scores(score(1, 1.0, 0.6), score(2, 0.0, 0.7), score(3, 0.0, 0.1), threshold=0.5)
    assert value(report, "accuracy") == pytest.approx(2 / 3)


def test_words_are_nominal_and_have_no_ranks():
    report = scores(score(1, "good", "good"), score(2, "bad", "good"))
    assert value(report, "accuracy") == 0.5
    assert "rank_correlation" not in report.judges[0].measures


def test_the_verdict_of_repeated_votes_is_the_middle_one():
    assert value(scores(score(1, 3, 1, 3, 5), score(2, 1, 1, None, 1)), "accuracy") == 1


def test_votes_without_a_verdict_are_not_right():
    assert value(scores(score(1, 3, None), score(2, 1, 1)), "accuracy") == 0.5


def test_quadratic_weights_forgive_a_near_miss():
    rows = [score(n, n % 5, min(4, n % 5 + 1)) for n in range(20)]
    assert value(scores(*rows, weighting="quadratic"), "kappa") > value(scores(*rows), "kappa")


@pytest.mark.parametrize(
    ("asked", "message"),
    [({"level": "ordinal"}, "`--level ordinal` is for numbers"),
     ({"threshold": 0.5}, "`--threshold` is for numbers")],
)  # fmt: skip
def test_an_option_for_numbers_is_refused_for_words(asked, message):
    with pytest.raises(UsageError, match=message):
        scores(score(1, "good", "good"), **asked)


def test_answers_of_one_cluster_are_drawn_together():
    rows = [score(n, float(n < 50), 1.0, cluster=str(n // 25)) for n in range(100)]
    wide = scores(*rows, resamples=300).judges[0].measures["accuracy"]
    narrow = scores(*(row.model_copy(update={"cluster": None}) for row in rows), resamples=300)
    apart = narrow.judges[0].measures["accuracy"]
    assert wide.high - wide.low > 2 * (apart.high - apart.low)

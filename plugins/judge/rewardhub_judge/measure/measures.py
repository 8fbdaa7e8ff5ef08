"""What is measured of each judge in a file of decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewardhub import UsageError
from rewardhub_judge.measure.agreement import Level, Statistic, alpha, kappa, mean
from rewardhub_judge.measure.bias import (
    both_orders_agree,
    length_slope,
    prefers_longer,
    prefers_shown_first,
    rank_correlation,
    repeats_agree,
)
from rewardhub_judge.measure.bootstrap import Draws, Estimate
from rewardhub_judge.measure.files import Recorded
from rewardhub_judge.measure.record import TITLES, Asked, Measured, Report
from rewardhub_judge.measure.rows import Choice, Decisions, PairRow, ScoreRow, Value, middle

__all__ = ["measure"]


def measure(recorded: Recorded, asked: Asked) -> Report:
    """Measure each judge of a file.

    A decision is right if it is the row's label; one without a verdict is not, and neither is a tie
    where the label names an item. Rows whose labels have no majority count for no agreement.

    Raises:
        UsageError: if nothing can be measured, or an option does not go with these values.
    """
    draws = Draws(
        [row.cluster or row.id for row in recorded.rows],
        resamples=asked.resamples,
        seed=asked.seed,
    )
    if recorded.pairs:
        return _finished(_Pairs(recorded.pairs, asked, draws))
    return _finished(_Scores(recorded.scores, asked, draws))


@dataclass(frozen=True, slots=True)
class _Pairs:
    rows: Sequence[PairRow]
    asked: Asked
    draws: Draws
    kind: str = "pairs"
    level: Level = "nominal"

    @property
    def judges(self) -> list[str]:
        return list(dict.fromkeys(judge for row in self.rows for judge in row.decisions))

    @property
    def labels(self) -> list[Any]:
        return [row.label for row in self.rows]

    def answers(self, judge: str) -> list[Sequence[Choice | None]]:
        """Return what it said of each row, both orders together."""
        found = self._decisions(judge)
        return [(*row.given, *row.swapped) if row else () for row in found]

    def statistics(self, judge: str) -> dict[str, Statistic]:
        decisions, answers = self._decisions(judge), self.answers(judge)
        found = _agreement(self.labels, answers, self.asked)
        verdicts = [row.verdict if row else None for row in decisions]
        found["alpha"] = _alpha_with(self.labels, verdicts, self.level)
        if any(row and row.swapped for row in decisions):
            found["shown_first"] = prefers_shown_first(decisions)
            found["consistent"] = both_orders_agree(decisions)
        questions = [(row.given, row.swapped) if row else () for row in decisions]
        if any(len(each) > 1 for row in questions for each in row):
            found["repeats"] = repeats_agree(questions)
            found["alpha_of_repeats"] = _alpha_of_repeats(questions, self.level)
        lengths = [row.lengths for row in self.rows]
        if any(lengths):
            found["longer"] = prefers_longer(answers, lengths)
            found["length_slope"] = length_slope(answers, lengths)
        return found

    def of_labels(self) -> dict[str, Statistic]:
        single = [(label,) for label in self.labels]
        lengths = [row.lengths for row in self.rows]
        return {
            "longer": prefers_longer(single, lengths),
            "length_slope": length_slope(single, lengths),
        }

    def _decisions(self, judge: str) -> list[Decisions | None]:
        return [row.decisions.get(judge) for row in self.rows]


class _Scores:
    """The statistics of scored answers."""

    kind: str = "scores"

    def __init__(self, rows: Sequence[ScoreRow], asked: Asked, draws: Draws) -> None:
        self.asked = asked
        self.draws = draws
        self.rows = rows if asked.threshold is None else _cut(rows, asked.threshold)
        lists = [each for row in self.rows for each in (row.labels, *row.votes.values())]
        values = [value for each in lists for value in each]
        self.level: Level = asked.level or _level_of(
            [value for value in values if value is not None]
        )
        if self.level != "nominal" and any(isinstance(value, str) for value in values):
            raise UsageError(f"`--level {self.level}` is for numbers, and these values are words.")

    @property
    def judges(self) -> list[str]:
        return list(dict.fromkeys(judge for row in self.rows for judge in row.votes))

    @property
    def labels(self) -> list[Any]:
        return [row.label for row in self.rows]

    def answers(self, judge: str) -> list[Sequence[Value | None]]:
        return [row.votes.get(judge, ()) for row in self.rows]

    def statistics(self, judge: str) -> dict[str, Statistic]:
        votes = self.answers(judge)
        verdicts = [middle(each) for each in votes]
        found: dict[str, Statistic] = {}
        if self.level != "interval":  # fractions are never equal, and have no menu
            single = zip(verdicts, votes, strict=True)
            rows = [(verdict,) if each else () for verdict, each in single]
            found = _agreement(self.labels, rows, self.asked)
        found["alpha"] = _alpha_with(self.labels, verdicts, self.level)
        numbers = _numbers(verdicts) if self.level != "nominal" else None
        if numbers is not None:
            found |= self._of_numbers(numbers)
        if any(len(each) > 1 for each in votes):
            questions = [(each,) for each in votes]
            found["repeats"] = repeats_agree(questions)
            found["alpha_of_repeats"] = _alpha_of_repeats(questions, self.level)
        return found

    def _of_numbers(self, verdicts: Sequence[float | None]) -> dict[str, Statistic]:
        labels = _numbers(self.labels)
        both = [
            (verdict - label, 1) if verdict is not None and label is not None else (0.0, 0)
            for verdict, label in zip(verdicts, labels, strict=True)
        ]
        found = {
            "rank_correlation": rank_correlation(verdicts, labels),
            "mean_difference": mean([value for value, _ in both], [count for _, count in both]),
        }
        lengths = [row.length for row in self.rows]
        if any(length is not None for length in lengths):
            found["length_correlation"] = rank_correlation(verdicts, lengths)
        return found

    def of_labels(self) -> dict[str, Statistic]:
        if self.level == "nominal":
            return {}
        lengths = [row.length for row in self.rows]
        return {"length_correlation": rank_correlation(_numbers(self.labels), lengths)}


def _finished(table: _Pairs | _Scores) -> Report:
    labelled = sum(label is not None for label in table.labels)
    several = [row.labels for row in table.rows if len(row.labels) > 1]
    judges = tuple(_measured(table, judge, labelled=labelled > 0) for judge in table.judges)
    if not judges or not any(judge.measures for judge in judges):
        raise UsageError(
            "Nothing can be measured of these rows: they have no labels, one order, no repeats and "
            "no lengths. Give them `labels`, or ask each pair in both orders."
        )
    return Report(
        kind=table.kind,
        rows=len(table.rows),
        labelled=labelled,
        labels_agree=(sum(len(set(each)) == 1 for each in several), len(several)),
        of_labels=_of_labels(table),
        judges=judges,
        differences=_differences(table) if labelled else {},
        notes=tuple(_notes(table, labelled)),
    )


def _of_labels(table: _Pairs | _Scores) -> dict[str, Estimate]:
    among = alpha([row.labels for row in table.rows], table.level)
    found = {"alpha": among, **table.of_labels()}
    estimates = {name: table.draws.estimate(each) for name, each in found.items()}
    return {name: each for name, each in estimates.items() if each.value is not None}


_NEED_LABELS = frozenset({"accuracy", "kappa", "alpha", "rank_correlation", "mean_difference"})


def _measured(table: _Pairs | _Scores, judge: str, *, labelled: bool) -> Measured:
    answers = [each for row in table.answers(judge) for each in row]
    statistics = table.statistics(judge)
    named = [name for name in TITLES if name in statistics]
    return Measured(
        judge=judge,
        answers=len(answers),
        without_verdict=answers.count(None),
        ties=answers.count("tie") if table.kind == "pairs" else 0,
        measures={
            name: table.draws.estimate(statistics[name])
            for name in named
            if labelled or name not in _NEED_LABELS
        },
    )


def _differences(table: _Pairs | _Scores) -> dict[str, Estimate]:
    """Return each judge's accuracy less the best one's, drawn together row by row."""
    found = {judge: table.statistics(judge).get("accuracy") for judge in table.judges}
    known = {judge: each for judge, each in found.items() if each is not None}
    values = {judge: table.draws.value(each) for judge, each in known.items()}
    told = {judge: value for judge, value in values.items() if value is not None}
    if len(told) < 2:
        return {}
    best = max(told, key=lambda judge: told[judge])
    return {
        judge: table.draws.estimate(_less(known[judge], known[best]))
        for judge in told
        if judge != best
    }


def _less(one: Statistic, other: Statistic) -> Statistic:
    return lambda weights: one(weights) - other(weights)


def _agreement(
    labels: Sequence[Any], answers: Sequence[Sequence[Any]], asked: Asked
) -> dict[str, Statistic]:
    told = [
        (label, row) if label is not None else (None, ())
        for label, row in zip(labels, answers, strict=True)
    ]
    right = [sum(answer == label for answer in row) for label, row in told]
    both = [[(label, each) for each in row if each is not None] for label, row in told]
    return {
        "accuracy": mean(right, [len(row) for _, row in told]),
        "kappa": kappa(both, asked.weighting),
    }


def _alpha_with(labels: Sequence[Any], verdicts: Sequence[Any], level: Level) -> Statistic:
    pairs = zip(labels, verdicts, strict=True)
    return alpha([[each for each in pair if each is not None] for pair in pairs], level)


def _alpha_of_repeats(questions: Sequence[Sequence[Sequence[Any]]], level: Level) -> Statistic:
    """Return alpha over the answers to the same question; a row counts with all its questions."""
    units = [[a for a in answers if a is not None] for row in questions for answers in row]
    rows = [number for number, row in enumerate(questions) for _ in row]
    statistic = alpha(units, level)
    return lambda weights: statistic(weights[rows])


def _numbers(values: Sequence[Any]) -> list[float | None]:
    return [None if value is None else float(value) for value in values]


def _level_of(values: Sequence[Value]) -> Level:
    if any(isinstance(value, str) for value in values):
        return "nominal"
    return "ordinal" if all(float(value).is_integer() for value in values) else "interval"


def _cut(rows: Sequence[ScoreRow], threshold: float) -> list[ScoreRow]:
    def cut(values: Sequence[Value | None]) -> tuple[float | None, ...]:
        if any(isinstance(value, str) for value in values):
            raise UsageError("`--threshold` is for numbers, and these values are words.")
        return tuple(None if v is None else float(float(v) >= threshold) for v in values)

    return [
        row.model_copy(
            update={
                "labels": cut(row.labels),
                "votes": {judge: cut(votes) for judge, votes in row.votes.items()},
            }
        )
        for row in rows
    ]


def _notes(table: _Pairs | _Scores, labelled: int) -> list[str]:
    notes: list[str] = []
    without = sum(not row.labels for row in table.rows)
    split = len(table.rows) - labelled - without
    if without:
        notes.append(f"Rows without a label, which count for no agreement: {without:,}.")
    if split:
        notes.append(f"Rows whose labels have no majority, which count for none: {split:,}.")
    if labelled and len(set(table.labels) - {None}) == 1:
        notes.append("All labels are the same: a judge that always says so is right every time.")
    return notes

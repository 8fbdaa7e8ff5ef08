"""Recorded decisions of others, recognised by their shape.

Each reader knows the files that a published benchmark ships, by the keys of a row, and turns a
row into a `PairRow` or a `ScoreRow`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rewardhub_judge.measure.rows import Choice, Decisions, PairRow, ScoreRow

__all__ = ["FORMATS", "Format"]

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Format:
    """A shape of rows.

    Attributes:
        name: what the report calls it.
        keys: all that a row has which is of this shape.
        read: makes the row; a KeyError, TypeError or ValueError means that it is damaged.
    """

    name: str
    keys: frozenset[str]
    read: Callable[[Row], PairRow | ScoreRow]


_NUMBERED: Mapping[Any, Choice] = {
    0: "tie", 1: "first", 2: "second", "0": "tie", "1": "first", "2": "second", "Tie": "tie",
}  # fmt: skip
_LETTERED: Mapping[Any, Choice] = {"A>B": "first", "B>A": "second", "A=B": "tie"}
_OTHER: Mapping[Choice, Choice] = {"first": "second", "second": "first", "tie": "tie"}


def _llmbar(row: Row) -> PairRow:
    """LLMBar (Zeng et al. 2024, arXiv 2310.07641): the winner's number in both orders."""
    decisions = {
        judge: Decisions(
            given=(_NUMBERED.get(said["swap=False"]),), swapped=(_NUMBERED.get(said["swap=True"]),)
        )
        for judge, said in row["judges"].items()
    }
    return PairRow(
        id=f"{row['subset']}/{row['idx']}",
        labels=(_NUMBERED[row["label"]],),
        decisions=decisions,
        lengths=_lengths(row["output_1"], row["output_2"]),
    )


def _judgebench_decisions(row: Row) -> PairRow:
    """JudgeBench (Tan et al. 2025, arXiv 2410.12784): two decisions by place.

    The second was made with the answers swapped and speaks of the places, so its letters are
    turned round, as the benchmark's own metric does.
    """
    decisions: dict[str, Decisions] = {}
    for judge, (given, swapped) in row["judge_decisions"].items():
        second = _LETTERED.get(swapped)
        decisions[judge] = Decisions(
            given=(_LETTERED.get(given),), swapped=(second and _OTHER[second],)
        )
    return PairRow(
        id=row["pair_id"],
        labels=(_LETTERED[row["label"]],),
        decisions=decisions,
        lengths=_lengths(row["response_A"], row["response_B"]),
    )


def _judgebench_scores(row: Row) -> PairRow:
    """JudgeBench's reward models: a score for each answer; the higher one is preferred."""
    return PairRow(
        id=row["pair_id"],
        labels=(_LETTERED[row["label"]],),
        decisions={
            judge: Decisions(given=(preferred(first, second),))
            for judge, (first, second) in row["scores"].items()
        },
    )


def _pandalm(row: Row) -> PairRow:
    """PandaLM (Wang et al. 2024, arXiv 2306.05087): three human votes, and judges in one order."""
    return PairRow(
        id=str(row["idx"]),
        labels=tuple(_NUMBERED[row[f"annotator{number}"]] for number in (1, 2, 3)),
        decisions={
            name.removesuffix("_result"): Decisions(given=(_NUMBERED.get(row[name]),))
            for name in row
            if name.endswith("_result")
        },
        lengths=_lengths(row["response1"], row["response2"]),
    )


def _prometheus(row: Row) -> ScoreRow:
    """Prometheus (Kim et al. 2024, arXiv 2310.08491): scores of 1 to 5, asked several times."""
    before, mark, rest = row["instruction"].partition("###Response to evaluate:")
    response = rest.partition("###Reference Answer")[0].strip() if before and mark else None
    return ScoreRow(
        id=f"{row['idx']}/{row['response_source']}",
        cluster=str(row["idx"]),
        votes={
            name.removesuffix("_score"): tuple(row[name]) for name in row if name.endswith("_score")
        },
        length=None if response is None else len(response),
    )


def _lengths(first: Any, second: Any) -> tuple[int, int] | None:
    """Return the lengths of two texts; None where one is no text, as one in PandaLM's file is."""
    texts = isinstance(first, str) and isinstance(second, str)
    return (len(first), len(second)) if texts else None


def preferred(first: float, second: float) -> Choice:
    """Return which of two scores is higher."""
    if first == second:
        return "tie"
    return "first" if first > second else "second"


def _keys(text: str) -> frozenset[str]:
    return frozenset(text.split())


FORMATS = (
    Format("LLMBar", _keys("subset idx output_1 output_2 label judges"), _llmbar),
    Format(
        "JudgeBench",
        _keys("pair_id label judge_decisions response_A response_B"),
        _judgebench_decisions,
    ),
    Format("JudgeBench scores", _keys("pair_id label scores"), _judgebench_scores),
    Format("PandaLM", _keys("idx annotator1 annotator2 annotator3 response1 response2"), _pandalm),
    Format("Prometheus", _keys("idx response_source instruction gpt4_score"), _prometheus),
)

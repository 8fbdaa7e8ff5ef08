"""What a judge's decisions hang on beside the worth of what it judges: place, length, luck."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from rewardhub_judge.measure.agreement import NAN, Statistic, mean
from rewardhub_judge.measure.rows import Choice, Decisions

__all__ = [
    "both_orders_agree",
    "length_slope",
    "prefers_longer",
    "prefers_shown_first",
    "rank_correlation",
    "repeats_agree",
]

_NEWTON_STEPS = 50


def prefers_shown_first(decisions: Sequence[Decisions | None]) -> Statistic:
    """Return how often the item that was shown first wins, of decisions for either, both orders.

    0.5 where the place plays no role, whatever the items are worth, since each was shown in both
    (Zheng et al. 2023, arXiv 2306.05685, section 3.3; Wang et al. 2024, arXiv 2305.17926).
    """
    wins: list[int] = []
    counts: list[int] = []
    for row in decisions:
        given = [each for each in (row.given if row else ()) if each in {"first", "second"}]
        swapped = [each for each in (row.swapped if row else ()) if each in {"first", "second"}]
        wins.append(given.count("first") + swapped.count("second"))
        counts.append(len(given) + len(swapped))
    return mean(wins, counts)


def both_orders_agree(decisions: Sequence[Decisions | None]) -> Statistic:
    """Return the share of pairs on which both orders name the same item, or both a tie.

    *Consistency* of Zheng et al. 2023, section 4.2; one less the conflict rate of Wang et al. 2024.
    A pair on which one order has no verdict is not consistent. Repeats are compared in their order.
    """
    both = [list(zip(row.given, row.swapped, strict=False)) if row else [] for row in decisions]
    same = [sum(a == b and a is not None for a, b in row) for row in both]
    return mean(same, [len(row) for row in both])


def repeats_agree(repeats: Sequence[Sequence[Sequence[Any]]]) -> Statistic:
    """Return the chance that two answers to one question, asked twice, are the same verdict.

    Args:
        repeats: for each row its questions (an order is one), each with its answers; None is one
            without a verdict, which agrees with nothing.
    """
    same: list[int] = []
    counts: list[int] = []
    for questions in repeats:
        pairs = [pair for answers in questions for pair in itertools.combinations(answers, 2)]
        same.append(sum(a == b and a is not None for a, b in pairs))
        counts.append(len(pairs))
    return mean(same, counts)


def prefers_longer(
    choices: Sequence[Sequence[Choice | None]], lengths: Sequence[tuple[int, int] | None]
) -> Statistic:
    """Return how often the longer item wins, of decisions for either of two unlike lengths.

    By itself it is no bias: the better answers may be the longer ones. The same share of the labels
    stands beside it (Zheng et al. 2023, section 3.3; Saito et al. 2023, arXiv 2310.10076).
    """
    wins: list[int] = []
    counts: list[int] = []
    for row, length in zip(choices, lengths, strict=True):
        told = [each for each in row if each in {"first", "second"}]
        if length is None or length[0] == length[1]:
            told = []
        first_is_longer = length is not None and length[0] > length[1]
        wins.append(sum((each == "first") == first_is_longer for each in told))
        counts.append(len(told))
    return mean(wins, counts)


def length_slope(
    choices: Sequence[Sequence[Choice | None]], lengths: Sequence[tuple[int, int] | None]
) -> Statistic:
    """Return by how much each doubling of its length raises an item's log-odds to win.

    The slope b of the logistic regression ``P(first wins) = 1 / (1 + exp(-b x))`` with
    ``x = log2(length of the first / length of the second)``, in the spirit of the length term of
    Dubois et al. (2024, arXiv 2404.04475). There is no constant: which item is called the first
    means nothing. Not defined where length alone separates the decisions.
    """
    import numpy as np

    rows: list[int] = []
    x: list[float] = []
    y: list[float] = []
    for number, (row, length) in enumerate(zip(choices, lengths, strict=True)):
        for choice in row:
            if choice in {"first", "second"} and length is not None and length[0] != length[1]:
                rows.append(number)
                x.append(math.log2((length[0] + 1) / (length[1] + 1)))  # an empty item has none
                y.append(1.0 if choice == "first" else 0.0)
    places, ratios, wins = np.array(rows, int), np.array(x), np.array(y)

    def statistic(weights: Any) -> float:
        return _logistic(ratios, wins, weights[places])

    return statistic


def _logistic(x: Any, y: Any, weights: Any) -> float:
    """Return the slope by Newton's method; NaN where there is none."""
    import numpy as np

    pull = float(weights @ (np.abs(x) * ((x > 0) == (y == 1))))
    push = float(weights @ (np.abs(x) * ((x > 0) != (y == 1))))
    if not pull or not push:  # nothing, or nothing that holds the slope back
        return NAN
    slope = 0.0
    for _ in range(_NEWTON_STEPS):
        share = 1 / (1 + np.exp(-np.clip(slope * x, -500, 500)))
        step = float(weights @ (x * (y - share))) / float(weights @ (x * x * share * (1 - share)))
        slope += max(-2.0, min(2.0, step))
        if abs(step) < 1e-10:
            return slope
    return NAN


def rank_correlation(one: Sequence[float | None], other: Sequence[float | None]) -> Statistic:
    """Return Spearman's rank correlation over the rows that have both values.

    Not defined where one of the two is always the same.
    """
    import numpy as np

    both = [
        (number, a, b)
        for number, (a, b) in enumerate(zip(one, other, strict=True))
        if a is not None and b is not None
    ]
    places = np.array([number for number, _, _ in both], int)
    columns = [np.array([row[column] for row in both], float) for column in (1, 2)]
    codes = [np.unique(column, return_inverse=True)[1] for column in columns]

    def statistic(weights: Any) -> float:
        times = weights[places]
        first, second = (_centred_ranks(each, times) for each in codes)
        spread = float(times @ first**2) * float(times @ second**2)
        return float(times @ (first * second)) / math.sqrt(spread) if spread else NAN

    return statistic


def _centred_ranks(codes: Any, times: Any) -> Any:
    """Return the middle rank of each value less the mean rank, every row counted ``times``."""
    import numpy as np

    counts = np.bincount(codes, weights=times) if len(codes) else np.zeros(0)
    ranks = (np.cumsum(counts) - counts / 2)[codes]
    total = float(times.sum())
    return ranks - float(times @ ranks) / total if total else ranks

"""How far two who judged the same rows agree: accuracy, Cohen's kappa, Krippendorff's alpha.

Each statistic is a function of the rows' weights, how often each row counts: once where it is
computed, as often as it was drawn where an interval is bootstrapped. It is NaN where it is not
defined.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal, TypeAlias

__all__ = ["Level", "Statistic", "Weighting", "alpha", "kappa", "mean"]

Statistic: TypeAlias = Callable[[Any], float]
"""Weights of the rows, an array of whole numbers -> a number, or NaN."""

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
Weighting: TypeAlias = Literal["none", "linear", "quadratic"]

NAN = float("nan")


def mean(values: Sequence[float], counts: Sequence[float]) -> Statistic:
    """Return the statistic ``sum of values / sum of counts`` over rows.

    Args:
        values: for each row the sum of what is averaged: how many of its decisions are right.
        counts: for each row how many there are.
    """
    import numpy as np

    sums, numbers = np.asarray(values, float), np.asarray(counts, float)

    def statistic(weights: Any) -> float:
        total = float(weights @ numbers)
        return float(weights @ sums) / total if total else NAN

    return statistic


def kappa(
    pairs: Sequence[Sequence[tuple[Any, Any]]],
    weighting: Weighting = "none",
) -> Statistic:
    """Return Cohen's kappa, ``1 - observed / expected`` disagreement, as a statistic.

    Cohen (1960), A coefficient of agreement for nominal scales; with weights: Cohen (1968),
    Weighted kappa. Linear weights are the distance of two numbers, quadratic ones its square; for
    words every disagreement weighs the same. It is not defined where both always say one thing.

    Args:
        pairs: for each row the pairs (label, decision) of those decisions that have a verdict.
        weighting: what a disagreement weighs.
    """
    import numpy as np

    menu = _menu(value for row in pairs for pair in row for value in pair)
    size = len(menu)
    place = {value: number for number, value in enumerate(menu)}
    rows = np.array([number for number, row in enumerate(pairs) for _ in row], int)
    cells = np.array([place[a] * size + place[b] for row in pairs for a, b in row], int)
    distance = _distances(menu, weighting)

    def statistic(weights: Any) -> float:
        seen = np.bincount(cells, weights=weights[rows], minlength=size * size)
        observed = seen.reshape(size, size)
        total = observed.sum()
        if not total:
            return NAN
        chance = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / total
        expected = float((distance * chance).sum())
        return 1 - float((distance * observed).sum()) / expected if expected else NAN

    return statistic


def alpha(units: Sequence[Sequence[Any]], level: Level = "nominal") -> Statistic:
    """Return Krippendorff's alpha as a statistic.

    Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, for any number of observers
    and missing values. Units with fewer than two values count for nothing. It is not defined where
    all values are equal.

    Args:
        units: for each row the values that it was given, whoever gave them.
        level: ``nominal`` words, ``ordinal`` ranks or ``interval`` numbers.
    """
    import numpy as np

    menu = _menu(value for unit in units for value in unit)
    place = {value: number for number, value in enumerate(menu)}
    counts = np.zeros((len(units), len(menu)))
    for number, unit in enumerate(units):
        for value in unit if len(unit) > 1 else ():
            counts[number, place[value]] += 1
    sizes = counts.sum(axis=1)
    shares = 1 / np.maximum(sizes - 1, 1)

    def statistic(weights: Any) -> float:
        each = weights * shares
        coincidences = (counts * each[:, None]).T @ counts - np.diag(each @ counts)
        totals = coincidences.sum(axis=0)
        distance = _alpha_distances(menu, totals, level)
        expected = float((np.outer(totals, totals) * distance).sum())
        if not expected:
            return NAN
        return 1 - (float(totals.sum()) - 1) * float((coincidences * distance).sum()) / expected

    return statistic


def _menu(values: Any) -> list[Any]:
    found: set[Hashable] = set(values)
    return sorted(found, key=lambda value: (isinstance(value, str), value))


def _distances(menu: Sequence[Any], weighting: Weighting) -> Any:
    import numpy as np

    if weighting == "none" or any(isinstance(value, str) for value in menu):
        return 1.0 - np.eye(len(menu))
    numbers = np.array(menu, float)
    apart = np.abs(numbers[:, None] - numbers[None, :])
    return apart if weighting == "linear" else apart**2


def _alpha_distances(menu: Sequence[Any], totals: Any, level: Level) -> Any:
    import numpy as np

    if level == "nominal":
        return 1.0 - np.eye(len(menu))
    if level == "interval":
        numbers = np.array(menu, float)
        return (numbers[:, None] - numbers[None, :]) ** 2
    # Ranks are as far apart as there are values from one to the other, the ends by half.
    up_to = np.cumsum(totals) - totals / 2
    return (up_to[:, None] - up_to[None, :]) ** 2

"""Estimates from few samples, and how sure they are. Plain Python, and the same every time."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

LEVEL = 0.95
"""The level of every interval."""

LEAST_TASKS = 10
"""With fewer tasks than this, how far a mean over tasks is off is unknown."""

MANY_TASKS = 500
"""From this many tasks on the normal interval stands in for the bootstrap, which tends to it."""

_DRAWS = 2000
_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
_TINY = 1e-300
_MOST_TERMS = 10_000


class Interval(NamedTuple):
    """Where the true value lies, with probability `LEVEL`."""

    low: float
    high: float


class Vote(NamedTuple):
    """An answer: how many attempts gave it, and the share of them that is right."""

    times: int
    right: float


def pass_at_k(n: int, right: int, k: int) -> float:
    """Return the chance that one of k attempts is right, when ``right`` of n were.

    The unbiased estimator ``1 - C(n - right, k) / C(n, k)`` of Chen et al. 2021, "Evaluating
    Large Language Models Trained on Code" (arXiv 2107.03374), equation 1.

    Raises:
        ValueError: unless 1 <= k <= n and 0 <= right <= n.
    """
    if not (1 <= k <= n and 0 <= right <= n):
        raise ValueError(f"pass@{k} of {right} right in {n} cannot be estimated")
    return 1.0 - math.comb(n - right, k) / math.comb(n, k)


def majority_at_k(votes: Sequence[Vote], silent: int, k: int) -> float:
    """Return the chance that the answer given most often in k attempts is right.

    Taken over all ways to draw k of the attempts at hand without putting back, as pass@k is, so
    it is exact and not a simulation. Where answers are equally frequent each is taken with the
    same chance (self-consistency: Wang et al. 2022, arXiv 2203.11171). Where nobody gives an
    answer, none is right.

    Args:
        votes: the different answers.
        silent: how many attempts gave no answer.
        k: how many are drawn.

    Raises:
        ValueError: unless 1 <= k <= the number of attempts.
    """
    n = silent + sum(vote.times for vote in votes)
    if not 1 <= k <= n:
        raise ValueError(f"majority@{k} of {n} attempts cannot be estimated")
    return _majority(tuple(sorted(votes)), silent, k)


@lru_cache(maxsize=4096)
def _majority(votes: tuple[Vote, ...], silent: int, k: int) -> float:
    if k == silent + sum(vote.times for vote in votes):
        most = max((vote.times for vote in votes), default=0)
        top = [vote.right for vote in votes if vote.times == most]
        return math.fsum(top) / len(top) if top else 0.0
    ways = 0.0
    for place, vote in enumerate(votes):
        others = [other.times for other in (*votes[:place], *votes[place + 1 :])]
        for times in range(1, min(vote.times, k) + 1):
            if vote.right:
                wins = _ways_to_win(tuple(others), silent, k - times, times)
                ways += vote.right * math.comb(vote.times, times) * wins
    return ways / math.comb(silent + sum(vote.times for vote in votes), k)


def _ways_to_win(others: tuple[int, ...], silent: int, drawn: int, times: int) -> float:
    """Count the draws in which no other answer comes more than ``times``; ties are shared."""
    # ways[(d, t)]: draws of d attempts in which t other answers come exactly `times`.
    ways: Mapping[tuple[int, int], int] = {
        (d, 0): math.comb(silent, d) for d in range(min(silent, drawn) + 1)
    }
    for count in others:
        longer: dict[tuple[int, int], int] = {}
        for (d, ties), number in ways.items():
            for more in range(min(count, times, drawn - d) + 1):
                place = (d + more, ties + (more == times))
                longer[place] = longer.get(place, 0) + number * math.comb(count, more)
        ways = longer
    return math.fsum(number / (ties + 1) for (d, ties), number in ways.items() if d == drawn)


def wilson(right: float, n: float) -> Interval:
    """Return the interval of a share: Wilson 1927, which holds for few samples and at 0 and 1.

    Raises:
        ValueError: unless 0 <= right <= n and n > 0.
    """
    if not (n > 0 and 0 <= right <= n):
        raise ValueError(f"{right} of {n} is no share")
    z = _Z
    share = right / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


def mean_over_tasks(values: Sequence[float], *, seed: int = 0) -> Interval | None:
    """Return the interval of the mean of ``values`` in [0, 1], one value for each task.

    The percentile bootstrap (Efron 1979) over tasks, because the attempts at one task are not
    independent. None, which is "unknown", for fewer than `LEAST_TASKS` values. Where all values
    are equal nothing can be redrawn, and Wilson's interval stands in: ten tasks without a
    success do not prove that no task has one.

    Args:
        values: in the order of the tasks.
        seed: the same seed gives the same interval.
    """
    n = len(values)
    if n < LEAST_TASKS:
        return None
    if min(values) == max(values):
        return wilson(values[0] * n, n)
    if n >= MANY_TASKS:
        mean = math.fsum(values) / n
        half = _Z * math.sqrt(math.fsum((value - mean) ** 2 for value in values)) / n
        return Interval(max(0.0, mean - half), min(1.0, mean + half))
    source = random.Random(seed)  # noqa: S311  # a simulation, no secret
    means = sorted(math.fsum(source.choices(values, k=n)) / n for _ in range(_DRAWS))
    outside = (1 - LEVEL) / 2
    return Interval(means[int(outside * _DRAWS)], means[math.ceil((1 - outside) * _DRAWS) - 1])


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the chance that a number of the distribution Beta(a, b) is at most x.

    The continued fraction of the incomplete beta function (DLMF 8.17.22), evaluated by Lentz's
    method; to 1e-10 for a and b up to about 1e5.

    Raises:
        ValueError: unless a and b are positive.
    """
    if not (a > 0 and b > 0):
        raise ValueError(f"Beta({a}, {b}) does not exist: both numbers are positive")
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # there the fraction converges slowly, and its mirror quickly
        return 1.0 - beta_cdf(1 - x, b, a)
    log = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(log + a * math.log(x) + b * math.log1p(-x)) / a
    return min(1.0, max(0.0, front * _fraction(x, a, b)))


def _fraction(x: float, a: float, b: float) -> float:
    d = 1.0 / (1.0 - (a + b) * x / (a + 1) or _TINY)
    c, total = 1.0, d
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = total
        for term in (even, odd):
            d = 1.0 / (1.0 + term * d or _TINY)
            c = 1.0 + term / c or _TINY
            total *= c * d
        if abs(total - before) <= 1e-15 * abs(total):
            break
    return total


def beta_quantile(share: float, a: float, b: float) -> float:
    """Return the number below which ``share`` of Beta(a, b) lies, to 1e-12, by halving."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if beta_cdf(middle, a, b) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2

"""What every benchmark here shares: alternating rounds, and a result with its target."""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

ROUNDS = 7


@dataclass(frozen=True, kw_only=True)
class Result:
    """One figure of one run, beside what it should be.

    Attributes:
        name: what was measured.
        value: the figure: a ratio, or an amount in ``unit``.
        unit: ``x`` for a ratio, else ``s`` or ``MB``.
        target: what the value should be, at least or at most.
        at_least: whether the target is a lower bound.
        detail: the amounts that the figure comes from.
    """

    name: str
    value: float
    unit: str
    target: float
    at_least: bool
    detail: str

    @property
    def met(self) -> bool:
        """Whether the value is on the right side of the target."""
        return self.value >= self.target if self.at_least else self.value <= self.target

    def print(self) -> None:
        """Write the result as one line of JSON, for `run.py`."""
        sys.stdout.write(f"{json.dumps(asdict(self))}\n")
        sys.stdout.flush()


def is_quick(description: str | None) -> bool:
    """Return whether the command line asks for small sizes, which prove the script and no more."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small sizes: a trial of the script")
    return bool(parser.parse_args().quick)


def seconds_of(call: Callable[[], object]) -> float:
    """Return the wall time of ``call()``; garbage of what came before is cleared first."""
    gc.collect()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The medians of two things that were run in turns, in seconds.

    Attributes:
        first: median of the first.
        second: median of the second.
        ratio: median, over the rounds, of the second's seconds over the first's.
    """

    first: float
    second: float
    ratio: float


def in_turns(
    first: Callable[[], object], second: Callable[[], object], *, rounds: int = ROUNDS
) -> Pair:
    """Run two things in turns, after one round that does not count.

    A machine that is slow for a while slows both halves of a round, so that their ratio stands.
    """
    times: list[tuple[float, float]] = []
    for turn in range(rounds + 1):
        pair = (seconds_of(first), seconds_of(second))
        if turn:
            times.append(pair)
    return Pair(
        first=statistics.median(each[0] for each in times),
        second=statistics.median(each[1] for each in times),
        ratio=statistics.median(each[1] / each[0] for each in times),
    )

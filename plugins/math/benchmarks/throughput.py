# ruff: noqa: D103, T201  # a script: its output is its documentation
"""How fast math/equivalent is, beside math-verify called directly on the same rows.

Run from the repository root: ``python plugins/math/benchmarks/throughput.py``. Records are
made before the clock starts; the engine's column includes all that it does with them.
"""

import argparse
import logging
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from rewardhub_math import Equivalent
from rewardhub_math.equivalence import read

from rewardhub import Trajectory
from rewardhub.engine import Engine
from rewardhub.testing import CallingWorkers, make_trajectory

Row = tuple[str, str]
SPEC = {
    "rewardhub": 1,
    "name": "math/throughput",
    "version": 1,
    "range": [0, 1],
    "stages": [{"name": "outcome", "graders": [{"use": "math/equivalent"}]}],
}


def boxed_integers(count: int) -> Iterator[Row]:
    for value in range(count):
        yield rf"So the answer is $\boxed{{{value}}}$.", str(value + value % 2)


def reducible_fractions(count: int) -> Iterator[Row]:
    for value in range(1, count + 1):
        yield (
            rf"So the answer is $\boxed{{\frac{{{2 * value}}}{{{2 * value + 6}}}}}$.",
            f"{value}/{value + 3 + value % 2}",
        )


def directly(rows: list[Row]) -> list[bool]:
    math_verify: Any = import_module("math_verify")
    return [
        math_verify.verify(math_verify.parse(rf"\boxed{{{reference}}}"), math_verify.parse(text))
        for text, reference in rows
    ]


def graded(attempts: list[Trajectory]) -> list[bool]:
    grader, workers = Equivalent(), CallingWorkers()
    return [grader.grade(attempt, workers).value == 1 for attempt in attempts]


def timed(mark: Callable[[list[Any]], list[bool]], rows: list[Any]) -> tuple[float, list[bool]]:
    read.cache_clear()  # else the second column would be read from the first one's cache
    start = time.perf_counter()
    verdicts = mark(rows)
    return len(rows) / (time.perf_counter() - start), verdicts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    count = parser.parse_args().rows
    logging.disable(logging.WARNING)
    with Engine(SPEC) as engine:

        def scored(attempts: list[Trajectory]) -> list[bool]:
            return [reward.value == 1 for reward in engine.score_all(attempts)]

        for kind in (boxed_integers, reducible_fractions):
            rows = list(kind(count))
            attempts = [make_trajectory(text, reference=reference) for text, reference in rows]
            directly(rows[:10])
            scored(attempts[:10])
            slow, expected = timed(directly, rows)
            grader, by_grader = timed(graded, attempts)
            whole, by_engine = timed(scored, attempts)
            print(
                f"{kind.__name__}: math-verify {slow:,.0f}/s, "
                f"grader {grader:,.0f}/s ({grader / slow:.0f}x), "
                f"engine {whole:,.0f}/s ({whole / slow:.0f}x), "
                f"verdicts {'agree' if expected == by_grader == by_engine else 'DIFFER'}"
            )


if __name__ == "__main__":
    main()

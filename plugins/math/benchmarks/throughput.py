# ruff: noqa: D103, T201  # a script: its output is its documentation
"""How fast math/equivalent is, beside math-verify called directly on the same rows.

Run from the repository root: ``python plugins/math/benchmarks/throughput.py``. The engine's
column includes everything a run pays for: records, views, Scores, rewards.
"""

import argparse
import logging
import time
from collections.abc import Callable, Iterator

from rewardhub_math import Equivalent

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


def direct(rows: list[Row]) -> list[bool]:
    import math_verify

    return [
        math_verify.verify(math_verify.parse(rf"\boxed{{{reference}}}"), math_verify.parse(text))
        for text, reference in rows
    ]


def graded(rows: list[Row]) -> list[bool]:
    grader, workers = Equivalent(), CallingWorkers()
    return [grader.grade(attempt, workers).value == 1 for attempt in trajectories(rows)]


def trajectories(rows: list[Row]) -> list[Trajectory]:
    return [make_trajectory(text, reference=reference) for text, reference in rows]


def timed(function: Callable[[list[Row]], list[bool]], rows: list[Row]) -> tuple[float, list[bool]]:
    start = time.perf_counter()
    verdicts = function(rows)
    return len(rows) / (time.perf_counter() - start), verdicts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    rows_wanted = parser.parse_args().rows
    logging.disable(logging.WARNING)
    with Engine(SPEC) as engine:

        def scored(rows: list[Row]) -> list[bool]:
            return [reward.value == 1 for reward in engine.score_all(trajectories(rows))]

        for kind in (boxed_integers, reducible_fractions):
            rows = list(kind(rows_wanted))
            scored(rows[:10])
            direct(rows[:10])
            slow, expected = timed(direct, rows)
            fast, verdicts = timed(graded, rows)
            whole, through_engine = timed(scored, rows)
            agree = verdicts == expected == through_engine
            print(
                f"{kind.__name__}: math-verify {slow:,.0f}/s, grader {fast:,.0f}/s "
                f"({fast / slow:.0f}x), engine {whole:,.0f}/s ({whole / slow:.0f}x), "
                f"verdicts {'agree' if agree else 'DIFFER'}"
            )


if __name__ == "__main__":
    main()

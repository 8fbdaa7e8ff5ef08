# ruff: noqa: D103, T201  # a script: its output is its documentation
"""How fast a staged spec of five rule graders is: `rules/tidy-answer`, in one process.

Run from the repository root: ``python plugins/rules/benchmarks/staged.py``. Records are in memory
before the clock starts, and the clock is the CPU time of this process, which other programs on the
machine disturb less. The engine makes every Score, Part and Reward; beside it, the same five
graders are called in a row on the same records, gate included, and their Scores thrown away.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import rewardhub_rules

from rewardhub import (
    Engine,
    GraderCard,
    Registry,
    Spec,
    Trajectory,
    Workers,
    load_reward,
    registry_of,
)
from rewardhub.testing import CallingWorkers, make_trajectory

SPEC = "rules/tidy-answer"
TARGET = 20_000
ROUNDS = 7
SENTENCES = (
    "The harbour was quiet in the early hours, before the first boats came in.",
    "Nobody had expected the wind to turn, and yet the nets were full by noon.",
    "Prices fell a little; the buyers from the city took what was left.",
    "In the evening the crews mended their gear and spoke about the weather.",
)


def reply(number: int) -> str:
    """Return an answer of some 60 words; 1 in 8 is too short, 1 in 8 breaks another rule."""
    if number % 8 == 3:
        return "Quiet."
    lines = [f"Day {number + day}. {SENTENCES[(number + day) % 4]}" for day in range(4)]
    if number % 8 == 5:
        lines.append("As an AI language model, I cannot say more.")
    return "\n".join(lines)


def seconds_of(call: Callable[[], object]) -> float:
    gc.collect()
    start = time.process_time()
    call()
    return time.process_time() - start


def spec_of(registry: Registry) -> Spec:
    spec = load_reward(SPEC, registry)
    assert isinstance(spec, Spec)
    return spec


def _call(grader: Any, card: GraderCard, workers: Workers) -> tuple[Any, tuple[Workers, ...]]:
    return grader.grade, (workers,) if card.signature.slots else ()


def directly(spec: Spec, trajectories: Sequence[Trajectory]) -> int:
    """Call the graders one after the other; a closed gate ends an attempt, as in the engine."""
    workers = CallingWorkers()
    gate, *others = [_call(entry.grader, entry.card, workers) for entry in spec.entries]
    passed = 0
    for trajectory in trajectories:
        if gate[0](trajectory, *gate[1]).value == 1:
            values = [grade(trajectory, *more).value for grade, more in others]
            passed += min(values) == 1
    return passed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=TARGET)
    count = parser.parse_args().rows
    trajectories = [make_trajectory(reply(number), prompt="Tell me.") for number in range(count)]
    gc.freeze()  # as workers do: the collector need not look at the records again
    registry = registry_of(rewardhub_rules)
    spec = spec_of(registry)
    with Engine(SPEC, registry=registry) as engine:

        def scored() -> int:
            return sum(reward.success is True for reward in engine.score_all(trajectories))

        assert scored() == directly(spec, trajectories), "the two sides disagree"
        times = [
            (seconds_of(scored), seconds_of(lambda: directly(spec, trajectories)))
            for _ in range(ROUNDS)
        ]
    rate = count / statistics.median(ours for ours, _ in times)
    bare = count / statistics.median(theirs for _, theirs in times)
    ratio = statistics.median(theirs / ours for ours, theirs in times)
    print(f"engine  {rate:,.0f} trajectories/s (target {TARGET:,})")
    print(f"graders {bare:,.0f} trajectories/s, called directly")
    print(f"ratio   {ratio:.2f} of the direct calls' rate")


if __name__ == "__main__":
    main()

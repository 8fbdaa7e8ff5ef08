"""Composing three trivial graders: rewardhub's full result tree beside OpenEnv's bare number.

Both sides have the records in memory and call the same three functions. OpenEnv's side is
``Sequential(Gate(...), WeightedSum([...]))`` called directly: it returns a float and nothing else.
"""

from __future__ import annotations

import importlib
from typing import Any

import trivial
from measure import Result, in_turns, is_quick

from rewardhub import Engine, registry_of
from rewardhub.testing import make_trajectory


def peer_rubric() -> Any:
    """Return the rubric that gives what `trivial.GATED` gives."""
    rubrics: Any = importlib.import_module("openenv.core.rubrics")

    class HasMark(rubrics.Rubric):  # type: ignore[misc]
        def forward(self, action: str, observation: str) -> float:
            del observation
            return trivial.has_mark(action)

    class IsRight(rubrics.Rubric):  # type: ignore[misc]
        def forward(self, action: str, observation: str) -> float:
            return trivial.is_right(action, observation)

    class IsShort(rubrics.Rubric):  # type: ignore[misc]
        def forward(self, action: str, observation: str) -> float:
            del observation
            return trivial.is_short(action)

    weighted = rubrics.WeightedSum([IsRight(), IsShort()], weights=[0.75, 0.25])
    return rubrics.Sequential(rubrics.Gate(HasMark()), weighted)


def main() -> None:
    count = 500 if is_quick(__doc__) else 20_000
    asked = [trivial.question(number) for number in range(count)]
    trajectories = [
        make_trajectory(reply, prompt=prompt, reference=reference)
        for prompt, reply, reference in asked
    ]
    pairs = [(reply, reference) for _, reply, reference in asked]
    rubric = peer_rubric()
    with Engine(trivial.GATED, registry=registry_of(trivial)) as engine:

        def ours() -> list[float | None]:
            return [reward.value for reward in engine.score_all(trajectories)]

        def theirs() -> list[float]:
            return [rubric(reply, reference) for reply, reference in pairs]

        agree = [round(each or 0.0, 9) for each in ours()] == [round(each, 9) for each in theirs()]
        if not agree:
            raise SystemExit("The two sides give different rewards: nothing is compared.")
        pair = in_turns(ours, theirs, rounds=15)
    Result(
        name="Three inline graders composed, speed over OpenEnv's rubrics",
        value=pair.ratio,
        unit="x",
        target=0.4,
        at_least=True,
        detail=f"{count / pair.first:,.0f}/s with every Part beside {count / pair.second:,.0f}/s "
        "with a number alone",
    ).print()


if __name__ == "__main__":
    main()

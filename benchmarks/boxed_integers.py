"""Boxed integers through ``math/equivalent``, beside math-verify called directly.

Ours is the whole way through an Engine: views, Scores, Parts, a Reward. Theirs is what a reward
function does with math-verify: parse the reference, parse the answer, verify. Every second pair of
answers is right, and both sides must say the same of each.
"""

from __future__ import annotations

import importlib
import logging
from typing import Any

from measure import Result, in_turns, is_quick

from rewardhub import Engine
from rewardhub.testing import make_trajectory

SPEC: dict[str, Any] = {
    "rewardhub": 1,
    "name": "math/boxed-integers",
    "version": 1,
    "range": [0, 1],
    "stages": [{"name": "outcome", "graders": [{"use": "math/equivalent"}]}],
}


def main() -> None:
    count = 200 if is_quick(__doc__) else 2_000
    math_verify: Any = importlib.import_module("math_verify")
    logging.disable(logging.WARNING)
    rows = [
        (rf"Adding them up gives $\boxed{{{each}}}$.", str(each + each % 2))
        for each in range(count)
    ]
    trajectories = [make_trajectory(text, reference=reference) for text, reference in rows]
    with Engine(SPEC) as engine:

        def ours() -> list[bool]:
            return [reward.value == 1 for reward in engine.score_all(trajectories)]

        def theirs() -> list[bool]:
            return [
                bool(
                    math_verify.verify(
                        math_verify.parse(rf"\boxed{{{reference}}}"), math_verify.parse(text)
                    )
                )
                for text, reference in rows
            ]

        if ours() != theirs() or sum(ours()) != count // 2:
            raise SystemExit("The two sides give different verdicts: nothing is compared.")
        pair = in_turns(ours, theirs, rounds=3)
    Result(
        name="Boxed integers, speed over math-verify called directly",
        value=pair.ratio,
        unit="x",
        target=10,
        at_least=True,
        detail=f"{count / pair.first:,.0f}/s beside {count / pair.second:,.0f}/s, same verdicts",
    ).print()


if __name__ == "__main__":
    main()

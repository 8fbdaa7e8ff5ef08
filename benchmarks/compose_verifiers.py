"""Composing three trivial graders: rewardhub beside ``Task.score`` of verifiers.

Both sides have the records in memory, call the same three functions, add them up with the same
weights, and leave a tree of results: Parts here, ``trace.rewards`` there.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import trivial
from measure import Result, in_turns, is_quick

from rewardhub import Engine, registry_of
from rewardhub.testing import make_trajectory

Asked = tuple[str, str, str]


def peer_side(asked: Sequence[Asked]) -> Callable[[], list[float]]:
    """Return a function that scores every attempt by `verifiers`, as `trivial.SUM` does."""
    vf: Any = importlib.import_module("verifiers.v1")
    trace_module: Any = importlib.import_module("verifiers.v1.trace")

    class Data(vf.TaskData):  # type: ignore[misc]
        answer: str

    class Sum(vf.Task):  # type: ignore[misc]
        @vf.reward(weight=0.25)  # type: ignore[untyped-decorator]
        async def mark(self, trace: Any) -> float:
            return trivial.has_mark(trace.last_reply)

        @vf.reward(weight=0.5)  # type: ignore[untyped-decorator]
        async def right(self, trace: Any) -> float:
            return trivial.is_right(trace.last_reply, self.data.answer)

        @vf.reward(weight=0.25)  # type: ignore[untyped-decorator]
        async def short(self, trace: Any) -> float:
            return trivial.is_short(trace.last_reply)

    def rollout(prompt: str, reply: str, reference: str) -> tuple[Any, Any]:
        task = Sum(Data(prompt=prompt, answer=reference))
        nodes = [
            vf.MessageNode(message={"role": "user", "content": prompt}),
            vf.MessageNode(parent=0, message={"role": "assistant", "content": reply}, sampled=True),
        ]
        about = trace_module.TraceTask(type="Sum", data=task.data)
        agent = trace_module.AgentInfo(config=vf.AgentConfig())
        return task, vf.Trace(task=about, agent=agent, nodes=nodes)

    rollouts = [rollout(*each) for each in asked]

    async def score_all() -> list[float]:
        for task, trace in rollouts:
            await task.score(trace)
        return [trace.reward for _, trace in rollouts]

    return lambda: asyncio.run(score_all())


def main() -> None:
    count = 200 if is_quick(__doc__) else 2_000
    asked = [trivial.question(number) for number in range(count)]
    trajectories = [
        make_trajectory(reply, prompt=prompt, reference=reference)
        for prompt, reply, reference in asked
    ]
    theirs = peer_side(asked)
    with Engine(trivial.SUM, registry=registry_of(trivial)) as engine:

        def ours() -> list[float | None]:
            return [reward.value for reward in engine.score_all(trajectories)]

        agree = [round(each or 0.0, 9) for each in ours()] == [round(each, 9) for each in theirs()]
        if not agree:
            raise SystemExit("The two sides give different rewards: nothing is compared.")
        pair = in_turns(ours, theirs)
    Result(
        name="Three inline graders composed, speed over Task.score of verifiers",
        value=pair.ratio,
        unit="x",
        target=5,
        at_least=True,
        detail=f"{count / pair.first:,.0f}/s beside {count / pair.second:,.0f}/s",
    ).print()


if __name__ == "__main__":
    main()

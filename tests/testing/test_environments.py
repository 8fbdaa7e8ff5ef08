import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest
from pydantic import PrivateAttr

from rewardhub import Environment, Observation, Step, Task, ToolCall, Turn
from rewardhub.testing import EnvironmentContract

TOOL: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "add",
        "parameters": {
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "required": ["n"],
        },
    },
}


class Counter(Environment):
    """A number that calls add to."""

    start: int = 0

    _number: int = PrivateAttr(default=0)

    async def reset(self, task: Task) -> Turn:
        self._number = self.start
        return Turn(state={"number": self._number}, tools=(TOOL,))

    async def act(self, step: Step, calls: Sequence[ToolCall]) -> Turn:
        seen = tuple(self._call(call) for call in calls)
        return Turn(observations=seen, done=not calls, state={"number": self._number})

    def _call(self, call: ToolCall) -> Observation:
        if call.name != "add" or not isinstance(call.parsed, Mapping) or "n" not in call.parsed:
            return Observation(call_id=call.id, error="not so")
        self._number += call.parsed["n"]
        return Observation(call_id=call.id, content=str(self._number))

    async def close(self) -> None:
        pass


class _CounterContract(EnvironmentContract):
    environment: ClassVar[type[Environment]] = Counter

    def make_environment(self) -> Environment:
        return self.environment()

    def make_task(self) -> Task:
        return Task(id="t")

    def changing_call(self) -> ToolCall:
        return self.call("add", n=2)


class TestCounter(_CounterContract):
    pass


class Forgetful(Counter):
    async def act(self, step: Step, calls: Sequence[ToolCall]) -> Turn:
        turn = await super().act(step, calls)
        return Turn(observations=turn.observations, done=turn.done, state={"number": 0})


class Raising(Counter):
    def _call(self, call: ToolCall) -> Observation:
        self._number += call.parsed["n"]
        return Observation(call_id=call.id, content=str(self._number))


class Sticky(Counter):
    async def reset(self, task: Task) -> Turn:
        return Turn(state={"number": self._number}, tools=(TOOL,))


class Shuffled(Counter):
    async def act(self, step: Step, calls: Sequence[ToolCall]) -> Turn:
        turn = await super().act(step, calls)
        return Turn(observations=turn.observations[::-1], done=turn.done, state=turn.state)


@pytest.mark.parametrize(
    ("environment", "test"),
    [
        (Forgetful, "test_tells_when_the_state_has_changed"),
        (Raising, "test_a_wrong_call_is_an_observation"),
        (Sticky, "test_can_be_built_anew"),
        (Shuffled, "test_answers_each_call_by_its_id"),
    ],
)
def test_the_contract_finds_a_broken_environment(environment: type[Environment], test: str) -> None:
    class Broken(_CounterContract):
        pass

    Broken.environment = environment
    with pytest.raises((AssertionError, KeyError, TypeError)):
        getattr(Broken(), test)()


def test_fields_of_an_environment_are_checked_options() -> None:
    with pytest.raises(ValueError, match="begin"):
        Counter.model_validate({"begin": 3})
    turn = asyncio.run(Counter.model_validate({"start": 3}).reset(Task(id="t")))
    assert turn.state == {"number": 3}

"""What every environment promises, as tests to inherit."""

from __future__ import annotations

import asyncio
import json
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from rewardhub.contracts import Environment, Turn
from rewardhub.records import Step, Task, ToolCall

T = TypeVar("T")


class EnvironmentContract:
    """What every environment promises. Subclass it in a test file, and say what is tested::

        class TestMyEnvironment(EnvironmentContract):
            def make_environment(self) -> Environment:
                return MyEnvironment()

            def make_task(self) -> Task:
                return Task(id="t", files={"a.txt": "one"}, environment={"use": "mine"})

            def changing_call(self) -> ToolCall:
                return self.call("write", path="a.txt", content="two")

    Override `resources` where `reset` asks for some; a sandbox needs two slots.
    """

    @abstractmethod
    def make_environment(self) -> Environment:
        """Return a new environment for one attempt."""

    @abstractmethod
    def make_task(self) -> Task:
        """Return a task that it can be reset for."""

    @abstractmethod
    def changing_call(self) -> ToolCall:
        """Return a call that works, and after which the state is another."""

    def resources(self) -> Mapping[str, Any]:
        """Return what `reset` asks for, by parameter."""
        return {}

    @staticmethod
    def call(name: str, **arguments: Any) -> ToolCall:
        """Return a call with JSON arguments."""
        return ToolCall(id="call-1", name=name, arguments=json.dumps(arguments), parsed=arguments)

    def play(self, *calls: Sequence[ToolCall]) -> list[Turn]:
        """Return the turn of `reset`, and one for each step of ``calls``."""

        async def played(environment: Environment) -> list[Turn]:
            first = await self.reset(environment)
            acts = [Step(tool_calls=tuple(each)) for each in calls]
            return [first, *[await environment.act(each, each.tool_calls) for each in acts]]

        return self.during(played)

    async def reset(self, environment: Environment) -> Turn:
        """Reset the environment for the task, with its resources."""
        return await environment.reset(self.make_task(), **self.resources())

    def during(self, use: Callable[[Environment], Awaitable[T]]) -> T:
        """Return what ``use`` returns for a new environment, which is closed afterwards."""

        async def used() -> T:
            environment = self.make_environment()
            try:
                return await use(environment)
            finally:
                await environment.close()

        return asyncio.run(used())

    def test_says_what_can_be_called(self) -> None:
        """Each tool has a name of its own, and a JSON Schema for its arguments."""
        (turn,) = self.play()
        functions = [tool["function"] for tool in turn.tools]
        names = [function["name"] for function in functions]
        assert len(set(names)) == len(names)
        assert self.changing_call().name in names
        assert all(function["parameters"]["type"] == "object" for function in functions)

    def test_begins_in_the_same_state_each_time(self) -> None:
        """What the task describes is all that the state depends on."""
        assert self.play()[0].state == self.play()[0].state

    def test_tells_when_the_state_has_changed(self) -> None:
        """The snapshot after a call that changes something is another one."""
        before, after = self.play([self.changing_call()])
        assert before.state is not None
        assert after.state != before.state

    def test_tells_when_the_state_has_not_changed(self) -> None:
        """A call that does not work leaves the snapshot equal."""
        _, first, second = self.play([self.changing_call()], [self.call("no-such-tool-here")])
        assert second.state == first.state

    def test_gives_the_same_for_the_same_actions(self) -> None:
        """States and observations of two runs are equal, so that an attempt can be replayed."""
        calls = [self.changing_call()]
        first, second = self.play(calls), self.play(calls)
        assert [turn.state for turn in first] == [turn.state for turn in second]
        assert first[1].observations == second[1].observations

    def test_answers_each_call_by_its_id(self) -> None:
        """One observation for each call, in order."""
        calls = [
            self.changing_call().replace(id="first"),
            self.changing_call().replace(id="second"),
        ]
        _, turn = self.play(calls)
        assert [each.call_id for each in turn.observations] == ["first", "second"]

    def test_a_wrong_call_is_an_observation(self) -> None:
        """An unknown tool, and arguments that are no JSON or not what the schema says."""
        good = self.changing_call()
        for wrong in (
            self.call("no-such-tool-here"),
            good.replace(arguments="{", parsed=None),
            good.replace(arguments="[1]", parsed=(1,)),
            good.replace(arguments='{"no_such_argument": 1}', parsed={"no_such_argument": 1}),
        ):
            _, turn = self.play([wrong])
            (seen,) = turn.observations
            assert seen.error, wrong

    def test_its_record_is_json(self) -> None:
        """States, metadata, identity and artifacts can be written, and are read back equal."""

        async def recorded(environment: Environment) -> list[Any]:
            first = await self.reset(environment)
            call = self.changing_call()
            turn = await environment.act(Step(tool_calls=(call,)), [call])
            left = await environment.artifacts()
            return [first.state, turn.state, turn.metadata, environment.identity, left]

        for each in self.during(recorded):
            text = json.dumps(each, allow_nan=False)
            assert json.loads(text) == json.loads(json.dumps(json.loads(text)))

    def test_can_be_built_anew(self) -> None:
        """After `close`, `reset` begins from the beginning: nothing of the first time is left."""

        async def again(environment: Environment) -> tuple[Turn, Turn]:
            first = await self.reset(environment)
            call = self.changing_call()
            await environment.act(Step(tool_calls=(call,)), [call])
            await environment.close()
            return first, await self.reset(environment)

        first, second = self.during(again)
        assert second.state == first.state

    def test_attempts_do_not_see_each_other(self) -> None:
        """What one changes, another that runs at the same time does not see."""

        async def beside() -> tuple[Turn, Turn]:
            mine, other = self.make_environment(), self.make_environment()
            try:
                first = await self.reset(mine)
                await self.reset(other)
                call = self.changing_call()
                await other.act(Step(tool_calls=(call,)), [call])
                return first, await mine.act(Step(text="done"), [])
            finally:
                await mine.close()
                await other.close()

        first, after = asyncio.run(beside())
        assert after.state == first.state

    def test_may_be_closed_at_any_time(self) -> None:
        """Before the reset, and twice."""

        async def closed(environment: Environment) -> None:
            await environment.close()
            await self.reset(environment)
            await environment.close()
            await environment.close()

        self.during(closed)

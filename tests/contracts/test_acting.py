import asyncio
from collections.abc import Sequence

import pytest
from pydantic import ValidationError

from rewardhub.contracts import Environment, Policy, Turn
from rewardhub.errors import GraderDefinitionError
from rewardhub.records import Step, Task, ToolCall, Trajectory


class Parrot(Policy):
    times: int = 1

    @property
    def version(self) -> str:
        return "1"

    async def sample(self, task: Task, n: int, seed: int) -> Sequence[Trajectory]:
        step = Step(text=task.prompt * self.times)
        return [Trajectory(task=task, steps=(step,)) for _ in range(n)]


class Nowhere(Environment):
    size: int = 1

    async def reset(self, task: Task) -> Turn:
        return Turn()

    async def act(self, step: Step, calls: Sequence[ToolCall]) -> Turn:
        return Turn(done=True)

    async def close(self) -> None:
        pass


def test_fields_of_a_policy_are_checked_options():
    assert Parrot.model_validate({"times": 2}).times == 2
    with pytest.raises(ValidationError, match="time"):
        Parrot.model_validate({"time": 2})


def test_an_option_of_a_policy_does_not_hide_what_the_base_class_needs():
    with pytest.raises(GraderDefinitionError, match="sample_option"):
        type("Wrong", (Parrot,), {"__annotations__": {"sample": "int"}, "sample": 3})


def test_fields_of_an_environment_are_checked_options():
    assert Nowhere.model_validate({"size": 2}).size == 2
    with pytest.raises(ValidationError, match="sizes"):
        Nowhere.model_validate({"sizes": 2})


def test_an_environment_is_not_changed_from_outside():
    with pytest.raises(ValidationError, match="frozen"):
        Nowhere().size = 3


@pytest.mark.parametrize("contract", [Policy, Environment])
def test_a_contract_alone_is_nothing(contract):
    with pytest.raises(TypeError, match="abstract"):
        contract()


def test_an_environment_leaves_nothing_and_hides_nothing_unless_it_says_so():
    environment = Nowhere()
    assert asyncio.run(environment.artifacts()) == {}
    assert (dict(environment.identity), environment.hidden) == ({}, ())

from collections.abc import Iterator, Sequence

from rewardhub import (
    Environment,
    EnvironmentCard,
    Observation,
    Step,
    Task,
    ToolCall,
    Turn,
    hookimpl,
)


class Echo(Environment):
    """Gives back the arguments of each call; an attempt without calls is over."""

    async def reset(self, task: Task) -> Turn:
        return Turn()

    async def act(self, step: Step, calls: Sequence[ToolCall]) -> Turn:
        heard = tuple(Observation(call_id=call.id, content=call.arguments) for call in calls)
        return Turn(observations=heard, done=not calls)

    async def close(self) -> None:
        pass


@hookimpl
def rewardhub_environments() -> Iterator[EnvironmentCard]:
    yield EnvironmentCard(name="example-echo", environment=Echo)

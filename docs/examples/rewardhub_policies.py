from collections.abc import Iterator, Sequence

from rewardhub import Policy, PolicyCard, PolicyInfo, Step, Task, Trajectory, hookimpl


class Parrot(Policy):
    """Answers with the question."""

    name = "parrot"

    @property
    def version(self) -> str:
        return "1"

    async def sample(self, task: Task, n: int, seed: int) -> Sequence[Trajectory]:
        who = PolicyInfo(name=self.name, version=self.version)
        said = (Step(text=task.prompt),)
        return [Trajectory(task=task, group_size=n, steps=said, policy=who) for _ in range(n)]


@hookimpl
def rewardhub_policies() -> Iterator[PolicyCard]:
    yield PolicyCard(name="example-parrot", policy=Parrot)

from collections.abc import Iterator

from rewardhub import Message, Task, TaskSourceCard, hookimpl


def sums(count: int = 10) -> Iterator[Task]:
    for number in range(count):
        question = f"What is {number} + {number}?"
        yield Task(messages=(Message(role="user", content=question),), reference=str(2 * number))


@hookimpl
def rewardhub_task_sources() -> Iterator[TaskSourceCard]:
    yield TaskSourceCard(name="example-sums", source=sums, description="sums of equal numbers")

from collections.abc import Iterator

from rewardhub import AttackCard, Task, hookimpl


def every_number(task: Task) -> Iterator[str]:
    yield " ".join(str(number) for number in range(1000))


@hookimpl
def rewardhub_attacks() -> Iterator[AttackCard]:
    yield AttackCard(
        name="example-every-number",
        attack=every_number,
        domains=("math",),
        description="names all the numbers that a reference may be",
    )

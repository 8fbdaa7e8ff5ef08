from collections.abc import Iterator
from pathlib import Path

from rewardhub import (
    Message,
    RawRow,
    Reader,
    ReaderCard,
    ReadOptions,
    RowError,
    Step,
    Task,
    Trajectory,
    hookimpl,
)


class ArrowLines(Reader):
    """Reads lines such as ``2 + 2 => 4``."""

    def rows(self, path: Path) -> Iterator[RawRow]:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                yield RawRow(number, line.strip())

    def parse(self, row: RawRow, options: ReadOptions) -> Trajectory:
        try:
            question, arrow, answer = row.data.decode().partition(" => ")
        except UnicodeDecodeError as error:
            raise RowError(f"the row is not UTF-8: {error}") from None
        if not arrow:
            raise RowError("the row has no ` => `")
        task = Task(messages=(Message(role="user", content=question),))
        place = f"{options.source}:{row.number}"
        return Trajectory(id=place, task=task, steps=(Step(text=answer),))


def is_arrows(head: bytes) -> bool:
    return b" => " in head.partition(b"\n")[0]


@hookimpl
def rewardhub_readers() -> Iterator[ReaderCard]:
    yield ReaderCard(
        name="example-arrows",
        reader=ArrowLines,
        recognises=is_arrows,
        suffixes=(".arrows",),
        description="`question => answer`, one per line",
    )

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from rewardhub import Writer, WriterCard, hookimpl


class TabbedLines(Writer):
    """Writes id and value of each row; nothing for a reward without a value."""

    def write(self, rows: Iterable[Mapping[str, Any]], stream: BinaryIO) -> None:
        for row in rows:
            value = row["reward"].get("value")
            stream.write(f"{row['id']}\t{'' if value is None else value}\n".encode())


@hookimpl
def rewardhub_writers() -> Iterator[WriterCard]:
    yield WriterCard(
        name="example-tabbed",
        writer=TabbedLines,
        suffixes=(".tsv",),
        description="id and value, with a tab between them",
    )

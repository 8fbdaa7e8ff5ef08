"""What rewardhub ships itself, registered through the same hooks as any plugin."""

from collections.abc import Iterator

from rewardhub.builtin import formats
from rewardhub.builtin.recorded import Recorded
from rewardhub.host.cards import GraderCard, ReaderCard, WriterCard
from rewardhub.host.hookspecs import hookimpl


@hookimpl
def rewardhub_graders() -> Iterator[GraderCard]:
    """Yield the built-in graders."""
    yield GraderCard(name="recorded/value", grader=Recorded, reads=("metadata",))


@hookimpl
def rewardhub_readers() -> Iterator[ReaderCard]:
    """Yield the built-in readers."""
    return formats.reader_cards()


@hookimpl
def rewardhub_writers() -> Iterator[WriterCard]:
    """Yield the built-in writers."""
    return formats.writer_cards()

"""What rewardhub ships itself, registered through the same hooks as any plugin."""

from collections.abc import Iterator

from rewardhub.builtin import formats
from rewardhub.builtin.recorded import Recorded
from rewardhub.builtin.sandboxes.docker import DockerSandbox
from rewardhub.builtin.sandboxes.local import LocalSandbox
from rewardhub.builtin.text_graders import TEXT_READS, Similarity, StringCheck
from rewardhub.host.cards import GraderCard, ReaderCard, SandboxCard, WriterCard
from rewardhub.host.hookspecs import hookimpl


@hookimpl
def rewardhub_graders() -> Iterator[GraderCard]:
    """Yield the built-in graders."""
    yield GraderCard(name="recorded/value", grader=Recorded, reads=("metadata",))
    yield GraderCard(name="text/string-check", grader=StringCheck, reads=TEXT_READS)
    yield GraderCard(name="text/similarity", grader=Similarity, reads=TEXT_READS)


@hookimpl
def rewardhub_readers() -> Iterator[ReaderCard]:
    """Yield the built-in readers."""
    return formats.reader_cards()


@hookimpl
def rewardhub_writers() -> Iterator[WriterCard]:
    """Yield the built-in writers."""
    return formats.writer_cards()


@hookimpl
def rewardhub_sandboxes() -> Iterator[SandboxCard]:
    """Yield the built-in sandboxes."""
    yield SandboxCard(name="local", sandbox=LocalSandbox)
    yield SandboxCard(name="docker", sandbox=DockerSandbox)

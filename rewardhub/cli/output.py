"""Where the results go besides the ledger: ``--out``."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from rewardhub.builtin.formats import writer_for
from rewardhub.contracts import Writer
from rewardhub.engine.folder import ledger_rows
from rewardhub.errors import UsageError
from rewardhub.host import Registry

PLAIN = ("jsonl", ".jsonl")
"""The writer, and the ending, of what a ledger is already."""


@dataclass(frozen=True)
class Output:
    """A file that is made from a complete ledger; None and stdout are such files, too.

    Attributes:
        path: the file, or None.
        to_stdout: whether the lines go to stdout.
        writer: makes the format; None where the ledger is copied as it is.
    """

    path: Path | None = None
    to_stdout: bool = False
    writer: Writer | None = None

    def write(self, ledger: Path) -> None:
        """Make the file: it is there as a whole or not at all."""
        if self.to_stdout:
            sys.stdout.flush()
            with ledger.open("rb") as rows:
                shutil.copyfileobj(rows, sys.stdout.buffer)
        elif self.path is not None:
            _write_whole(self.path.resolve(), lambda stream: self._fill(ledger, stream))

    def _fill(self, ledger: Path, stream: BinaryIO) -> None:
        if self.writer is not None:
            self.writer.write(ledger_rows(ledger), stream)
            return
        with ledger.open("rb") as rows:
            shutil.copyfileobj(rows, stream)


def output_for(path: Path | None, registry: Registry, inputs: Iterable[Path]) -> Output:
    """Return the output for ``--out``, checked before anything is graded.

    Args:
        path: as given; ``-`` is stdout, and a name without an ending is JSON lines.
        registry: knows the writers.
        inputs: files that must not be overwritten.

    Raises:
        UsageError: if it could not be written in the end.
    """
    if path is None:
        return Output()
    if str(path) == "-":
        return Output(to_stdout=True)
    if path.is_dir():
        raise UsageError(f"`--out {path}` is a folder: name a file.")
    if not path.resolve().parent.is_dir():
        raise UsageError(f"`--out {path}`: the folder `{path.parent}` does not exist. Make it.")
    if path.resolve() in {each.resolve() for each in inputs}:
        raise UsageError(f"`--out {path}` is one of the inputs: name another file.")
    if not path.suffix:
        return Output(path)
    card = writer_for(path, registry).card
    if card.name == PLAIN[0] and path.suffix == PLAIN[1]:
        return Output(path)
    writer = card.writer()
    writer.write((), io.BytesIO())  # what it needs is missing now or never
    return Output(path, writer=writer)


def _write_whole(path: Path, fill: Callable[[BinaryIO], None]) -> None:
    if path.exists() and not path.is_file():  # a pipe or a device stays what it is
        with path.open("wb") as stream:
            fill(stream)
        return
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with part.open("wb") as stream:
            fill(stream)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)

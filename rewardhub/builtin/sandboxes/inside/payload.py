"""What a job is made of: its source or command, environment and files; read by the job alone."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Payload:
    """The content of a job.

    Attributes:
        source: Python source, if there is no command.
        command: program and arguments.
        env: what is added to the environment.
        files: path below the working folder -> content.
    """

    source: str
    command: Sequence[str]
    env: Mapping[str, str]
    files: Mapping[str, bytes]

    def pack(self) -> bytes:
        """Return it as bytes: the length of a head, the head as JSON, the files."""
        head = {
            "source": self.source,
            "command": list(self.command),
            "env": dict(self.env),
            "files": [[path, len(content)] for path, content in self.files.items()],
        }
        text = json.dumps(head).encode()
        return b"".join((len(text).to_bytes(4, "little"), text, *self.files.values()))

    @classmethod
    def read(cls, descriptor: int) -> Payload:
        """Return what `pack` made, from an open file."""
        raw = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        start = 4 + int.from_bytes(raw[:4], "little")
        head = json.loads(raw[4:start])
        files: dict[str, bytes] = {}
        for path, size in head["files"]:
            files[path] = raw[start : start + size]
            start += size
        return cls(source=head["source"], command=head["command"], env=head["env"], files=files)

    def write_files(self) -> None:
        """Write the files below the current folder."""
        for name, content in self.files.items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

"""What the host asks for, as the JSON that crosses to the inside."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Literal, Self

Mode = Literal["root", "user", "container", "landlock", "bare"]
"""How a job is walled in.

``root``: own namespaces, made by the superuser, and users that are nobody outside. ``user``: own
namespaces, made in a user namespace. ``container``: within a container, each job as a user of its
own. ``landlock``: files closed by Landlock. ``bare``: limits alone.
"""

NAMESPACES: tuple[Mode, ...] = ("root", "user")
"""The modes whose jobs see a file system and processes of their own."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What holds for all jobs of one warden.

    Attributes:
        mode: how a job is walled in.
        shown: what of this machine a job sees, read only: source and place of each.
        covered: folders of it that are shown empty.
        path: where Python looks for modules.
        executable: the interpreter, as a job finds it.
        programs: where commands are looked for, as ``PATH``.
        preload: name and source of the module that jobs find imported.
        first_uid: the user that user 0 of a namespace is outside.
        bounded: whether a control group is wanted; without one, the warden watches.
        writable: the folder for the files of jobs, where they have no file system of their own.
    """

    mode: Mode
    shown: tuple[tuple[str, str], ...] = ()
    covered: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    executable: str = ""
    programs: str = "/usr/local/bin:/usr/bin:/bin"
    preload: tuple[str, str] | None = None
    first_uid: int = 0
    bounded: bool = True
    writable: str = "/tmp"  # noqa: S108  # each job makes a folder of its own in it

    def to_json(self) -> bytes:
        """Return it as JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        """Return what `to_json` wrote."""
        return cls(**json.loads(text))


@dataclass(frozen=True, kw_only=True)
class Wish:
    """The limits of one job, and the sizes of what follows them: payload and stdin.

    The payload, which only the job reads, holds the rest; see `rewardhub_inside.payload`.
    """

    cpu_seconds: float
    wall_seconds: float
    memory_mb: int
    processes: int
    disk_mb: int
    output_bytes: int
    max_output_bytes: int
    payload: int
    stdin: int
    collect: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, kw_only=True)
class Order:
    """What the warden tells the zygote of one job.

    Attributes:
        uid: the user to become, where each job has one of its own.
        folder: the folder for its files, where it has no file system of its own.
        bounded: whether a control group bounds its memory.
        collect: whether its working folder is wanted by the warden.
    """

    cpu_seconds: float
    memory_mb: int
    processes: int
    disk_mb: int
    uid: int = 0
    folder: str = ""
    bounded: bool = True
    collect: bool = False

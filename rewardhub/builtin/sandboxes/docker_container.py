"""One hardened container, and the stream to the process in it."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewardhub.builtin.sandboxes.docker_daemon import Daemon
from rewardhub.builtin.sandboxes.docker_profile import seccomp_profile
from rewardhub.builtin.sandboxes.docker_stream import AttachedStream
from rewardhub.errors import InfrastructureError

if TYPE_CHECKING:
    from docker.models.containers import Container as SdkContainer

OWNER = "rewardhub.owner"
"""The label that says which process a container belongs to."""

_WARDEN_MB = 32
_LOADING_MB = 2048
"""Room for what is loaded before the first job; taken back then."""

_SPARE_PROCESSES = 8
_CAPABILITIES = ("SETUID", "SETGID", "KILL")
"""What the warden needs to give each job a user of its own, and to end all that it left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a container is, and what all processes in it may use together.

    Attributes:
        image: the digest of its image.
        runtime: the OCI runtime, as ``runsc``; empty means the default of the daemon.
        memory_mb: memory and files of a job, in MiB; swap is none.
        cpus: how many cores' worth of time.
        processes: processes and threads of a job.
        disk_mb: the size of ``/work`` and of ``/tmp``, in MiB each.
        covered: paths that the image declares as volumes, to be covered by empty folders.
        environment: the variables of its first process.
    """

    image: str
    runtime: str = ""
    memory_mb: int = 512
    cpus: float = 1.0
    processes: int = 64
    disk_mb: int = 64
    covered: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


class Container:
    """A container that runs, and ends by itself once its stream is closed or this process dies.

    Args:
        daemon: starts it.
        shape: what it is.
        command: what runs in it as root with three capabilities, speaking on stdin and stdout.

    Raises:
        InfrastructureError: if it cannot be started.
    """

    def __init__(self, daemon: Daemon, shape: Shape, command: Sequence[str]) -> None:
        self._daemon = daemon
        self._memory_mb = shape.memory_mb
        self._has_ended = False
        self._is_removed = False
        with daemon.asking("start a container") as client:
            self._container: SdkContainer = client.containers.create(
                shape.image, list(command), **_options(shape)
            )
            try:
                self.stream = _attached(client, self._container)
                self._container.start()
            except BaseException:
                with contextlib.suppress(Exception):
                    self._container.remove(force=True)
                raise

    @property
    def id(self) -> str:
        """The identifier that the daemon gave it."""
        return str(self._container.id)

    def complaint(self) -> str:
        """Return the end of what its first process wrote to stderr."""
        return self.stream.complaint

    def bound_memory(self, loaded_mb: float) -> None:
        """Hold it to the memory of a job, beside what is loaded; its processes share that.

        Raises:
            InfrastructureError: if the daemon does not answer.
        """
        size = f"{self._memory_mb + _WARDEN_MB + int(loaded_mb)}m"
        with self._daemon.asking("bound the memory of a container"):
            self._container.update(mem_limit=size, memswap_limit=size)

    def end(self) -> None:
        """End it now, and all that runs in it; one that is gone already is no error."""
        self._has_ended = True
        self.stream.close()
        with contextlib.suppress(InfrastructureError), self._daemon.asking("remove a container"):
            self._remove()

    def is_over(self) -> bool:
        """Whether it has ended and is removed; a removal that failed before is tried again."""
        if self._has_ended and not self._is_removed:
            self.end()
        return self._is_removed

    def _remove(self) -> None:
        import docker.errors

        try:
            self._container.remove(force=True)
        except docker.errors.NotFound:
            pass
        except docker.errors.APIError as error:
            if error.status_code != HTTPStatus.CONFLICT:  # it is being removed already
                raise
        self._is_removed = True


def _options(shape: Shape) -> dict[str, Any]:
    """Return the options of the container: whatever is not named here, it does not get."""
    from docker.types import LogConfig, Ulimit

    folder = f"rw,exec,nosuid,nodev,mode=1777,size={shape.disk_mb}m,nr_inodes=8192"
    shared = folder.replace("exec", "noexec")
    memory = f"{shape.memory_mb + _LOADING_MB}m"
    covers = dict.fromkeys(shape.covered, "ro,size=4k")
    return {
        "entrypoint": [],
        "user": "0:0",
        "working_dir": "/",
        "hostname": "sandbox",
        "environment": dict(shape.environment),
        "stdin_open": True,
        "auto_remove": True,
        "healthcheck": {"test": ["NONE"]},
        "labels": {OWNER: owner()},
        "log_config": LogConfig(type="none"),
        "network_mode": "none",
        "dns": ["127.0.0.1"],  # else those of the host could be read
        "dns_search": ["."],
        "ipc_mode": "private",
        "read_only": True,
        "tmpfs": {**covers, "/work": folder, "/tmp": folder, "/dev/shm": shared},  # noqa: S108
        "mem_limit": memory,
        "memswap_limit": memory,
        "nano_cpus": int(shape.cpus * 1e9),
        "pids_limit": shape.processes + _SPARE_PROCESSES,
        # With 1, a crash is not even handed to a program of the host; with 0 it would be.
        "ulimits": [Ulimit(name="core", soft=1, hard=1)],
        "cap_drop": ["ALL"],
        "cap_add": list(_CAPABILITIES),
        "security_opt": ["no-new-privileges", f"seccomp={seccomp_profile()}"],
        **({"runtime": shape.runtime} if shape.runtime else {}),
    }


def _attached(client: Any, container: SdkContainer) -> AttachedStream:
    """Return the stream to a container, over the raw socket below what the SDK wraps around it."""
    wrapper = client.api.attach_socket(
        container.id, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
    )
    connection: socket.socket = getattr(wrapper, "_sock", wrapper)
    connection.settimeout(None)
    return AttachedStream(connection, getattr(wrapper, "_response", None))


def owner() -> str:
    """Return what names this process among all that a daemon may serve: place, number, birth."""
    import psutil

    return f"{_place()} {os.getpid()} {psutil.Process().create_time():.2f}"


def _place() -> str:
    """Return what names the space of process numbers: machines, and containers, have their own."""
    with contextlib.suppress(OSError):
        return f"{platform.node()}/{Path('/proc/self/ns/pid').readlink()}"
    return platform.node()


def remove_orphans(daemon: Daemon) -> int:
    """Remove the containers of processes of this machine that are gone; return how many.

    A container ends when its stream is closed, so there are some only where the daemon itself was
    killed or did not answer.

    Raises:
        InfrastructureError: if the daemon does not answer.
    """
    import docker.errors

    removed = 0
    with daemon.asking("list its containers") as client:
        for container in client.containers.list(
            all=True, filters={"label": OWNER}, ignore_removed=True
        ):
            if _is_orphan(container.labels.get(OWNER, "")):
                with contextlib.suppress(docker.errors.APIError):
                    container.remove(force=True)
                    removed += 1
    return removed


def _is_orphan(label: str) -> bool:
    import psutil

    place, _, rest = label.rpartition(" ")[0].rpartition(" ")
    number, born = rest, label.rpartition(" ")[2]
    if place != _place() or not number.isdigit():
        return False
    try:
        return f"{psutil.Process(int(number)).create_time():.2f}" != born
    except psutil.NoSuchProcess:
        return True
    except psutil.AccessDenied:
        return False

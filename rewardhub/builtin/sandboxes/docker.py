"""DockerSandbox: programs in hardened containers, forked from a Python that is warm inside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field, PrivateAttr

from rewardhub.builtin.sandboxes.base import Kind, PooledSandbox
from rewardhub.builtin.sandboxes.bundle import BOOT, environment
from rewardhub.builtin.sandboxes.docker_container import Container, Shape, remove_orphans
from rewardhub.builtin.sandboxes.docker_daemon import SECONDS, Daemon
from rewardhub.builtin.sandboxes.image import IMAGE, Image, image_of
from rewardhub.builtin.sandboxes.inside.wishes import Setting
from rewardhub.builtin.sandboxes.line import Line
from rewardhub.contracts import Job
from rewardhub.errors import InfrastructureError, UsageError

_COMMAND = ("python3", "-s", "-P", "-B", "-c", BOOT)
"""With the site of the image, unlike the local sandbox: its packages are where it says."""

_CONNECTIONS = 64


class DockerSandbox(PooledSandbox):
    """Runs programs in containers of a Docker daemon, each slot with a warm one of its own.

    A container has no network, a root that is read only, no capability that a program could use,
    bounded memory, processes and CPU, and a filter of system calls; it ends when this process does.
    Each job in it is a user of its own, and nothing of it is left for the next.
    """

    image: str = IMAGE
    """The image: a name, a tag or a digest. ``rewardhub sandbox image`` makes one."""
    host: str = ""
    """The address of the daemon; default: DOCKER_HOST, else what the ``docker`` command uses."""
    runtime: str = ""
    """The OCI runtime of the containers, as ``runsc``; default: that of the daemon."""
    cpus: Annotated[float, Field(gt=0)] = 1.0
    """How many cores' worth of time a container has."""
    request_seconds: Annotated[float, Field(gt=0)] = SECONDS
    """How long one request to the daemon may take."""

    _daemon: Daemon | None = PrivateAttr(default=None)
    _found: Image | None = PrivateAttr(default=None)
    _containers: list[Container] = PrivateAttr(default_factory=list[Container])

    @property
    def identity(self) -> Mapping[str, Any]:
        """What a verdict may depend on; asks the daemon for the digest of the image."""
        return {
            "sandbox": "docker",
            "level": "strong",
            "image": self._resolved().digest,
            "runtime": self.runtime,
            "cpus": self.cpus,
        }

    def open(self) -> None:
        """Find the daemon, the image and the runtime; remove what a killed process left there.

        Raises:
            UsageError: if the daemon has no such image or runtime, or the SDK is not installed.
            InfrastructureError: if the daemon does not answer.
        """
        self._resolved()
        if self.runtime:
            self._check_runtime()
        remove_orphans(self._connected())

    def close(self) -> None:
        """End all containers."""
        super().close()
        self._remove_ended()
        with self._lock:
            daemon, self._daemon = self._daemon, None
        if daemon is not None:
            daemon.close()

    def _connected(self) -> Daemon:
        with self._lock:
            if self._daemon is None:
                self._daemon = Daemon(
                    self.host, seconds=self.request_seconds, connections=_CONNECTIONS
                )
            return self._daemon

    def _resolved(self) -> Image:
        """Return the image, the same one throughout: a tag may move while a run goes on."""
        if self._found is None:
            self._found = image_of(self._connected(), self.image)
        return self._found

    def _check_runtime(self) -> None:
        daemon = self._connected()
        with daemon.asking("name its runtimes") as client:
            known = sorted(client.info().get("Runtimes") or {})
        if self.runtime not in known:
            listed = ", ".join(f"`{each}`" for each in known)
            raise UsageError(
                f"The Docker daemon at {daemon.address} has no runtime `{self.runtime}`, only "
                f"{listed}. Add it to the daemon's configuration, or leave `runtime` out."
            )

    def _kind_of(self, job: Job) -> Kind:
        shape = (job.memory_mb, job.processes, job.disk_mb)
        return replace(super()._kind_of(job), shape=shape)

    def _open_line(self, kind: Kind) -> Line:
        self._remove_ended()
        image = self._resolved()
        memory_mb, processes, disk_mb = (int(str(each)) for each in kind.shape)
        shape = Shape(
            image=image.digest,
            runtime=self.runtime,
            memory_mb=memory_mb,
            cpus=self.cpus,
            processes=processes,
            disk_mb=disk_mb,
            covered=image.volumes,
            environment=environment(hash_seed=kind.hash_seed),
        )
        container = Container(self._connected(), shape, _COMMAND)
        with self._lock:
            self._containers.append(container)
        preload = kind.preload
        setting = Setting(
            mode="container",
            programs=image.path,
            preload=(preload.name, preload.source) if preload else None,
        )
        try:
            line = Line(container, setting)
            container.bound_memory(float(line.info["rss_mb"]))
        except InfrastructureError as error:
            container.end()
            raise self._explained(error, kind) from error
        except BaseException:
            container.end()
            raise
        return line

    def _explained(self, error: InfrastructureError, kind: Kind) -> InfrastructureError:
        """Return an error that says how to make an image with what a preload needs."""
        if kind.preload is None or "ModuleNotFoundError" not in str(error):
            return error
        wanted = "".join(f" --with {each}" for each in kind.preload.requires)
        return InfrastructureError(
            f"The image `{self.image}` lacks a module: {str(error).strip().splitlines()[-1]}. "
            f"Make one that has it: `rewardhub sandbox image --name {self.image}{wanted}`."
        )

    def _remove_ended(self) -> None:
        """Remove what could not be removed when it ended: the daemon may not have answered."""
        with self._lock:
            containers = list(self._containers)
        gone = [each for each in containers if each.is_over()]
        with self._lock:
            self._containers[:] = [each for each in self._containers if each not in gone]

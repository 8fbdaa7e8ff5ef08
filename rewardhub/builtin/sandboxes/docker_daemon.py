"""The connection to a Docker daemon, and what its errors mean."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from rewardhub.errors import InfrastructureError, UsageError

if TYPE_CHECKING:
    from docker import DockerClient

SECONDS = 30.0
"""How long one request to the daemon may take, if nobody says."""


class Daemon:
    """A Docker daemon; connected to when it is first asked. Used from any thread.

    Args:
        host: its address, as ``unix:///run/docker.sock`` or ``tcp://name:2376``; empty means what
            ``DOCKER_HOST`` or the current context of the ``docker`` command says.
        seconds: how long one request may take.
        connections: how many requests may be under way at a time.
    """

    def __init__(self, host: str = "", *, seconds: float = SECONDS, connections: int = 16) -> None:
        self._seconds = seconds
        self._connections = connections
        self._client: DockerClient | None = None
        self._lock = threading.Lock()
        self.address = host or os.environ.get("DOCKER_HOST", "") or _address_of_context()

    @contextmanager
    def asking(self, purpose: str) -> Generator[DockerClient]:
        """Give the client of the SDK; what goes wrong inside is told in words.

        Args:
            purpose: what the daemon is asked to do, as ``start a container``.

        Raises:
            UsageError: if the ``docker`` extra is not installed, or the address is no address.
            InfrastructureError: if the daemon cannot be reached, takes too long or refuses.
        """
        client = self._connected(purpose)
        with self._in_words(purpose):
            yield client

    def close(self) -> None:
        """Let go of the connections; the next question makes new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _connected(self, purpose: str) -> DockerClient:
        with self._lock:
            if self._client is None:
                self._client = self._connect(purpose)
            return self._client

    def _connect(self, purpose: str) -> DockerClient:
        try:
            from docker import DockerClient
            from docker.constants import MINIMUM_DOCKER_API_VERSION
        except ImportError:
            raise UsageError(
                "The docker sandbox needs the Docker SDK: `pip install 'rewardhub-core[docker]'`."
            ) from None
        with self._in_words(purpose):
            made = partial(
                DockerClient.from_env,
                environment={**os.environ, "DOCKER_HOST": self.address},
                timeout=self._seconds,  # type: ignore[arg-type]  # requests takes a float
                max_pool_size=self._connections,
            )
            # Asked for the version by itself, the SDK leaves the connection open if that fails.
            first = made(version=MINIMUM_DOCKER_API_VERSION)
            try:
                spoken = str(first.version(api_version=False)["ApiVersion"])
            finally:
                first.close()
            return made(version=spoken)

    @contextmanager
    def _in_words(self, purpose: str) -> Generator[None]:
        import docker.errors
        import requests

        try:
            self._knock()
            yield
        except docker.errors.APIError as error:
            raise InfrastructureError(
                f"The Docker daemon at {self.address} could not {purpose}: "
                f"{error.explanation or error}"
            ) from error
        except requests.exceptions.Timeout as error:
            raise InfrastructureError(
                f"The Docker daemon at {self.address} did not {purpose} within "
                f"{self._seconds:g} s: is the machine overloaded, or does the daemon hang?"
            ) from error
        except (
            docker.errors.DockerException,
            requests.exceptions.RequestException,
            OSError,
        ) as error:
            raise self._unreachable(error) from error

    def _knock(self) -> None:
        """Raise OSError if nobody listens: the SDK would leave its own socket open then."""
        if self.address.startswith("unix://"):
            with socket.socket(socket.AF_UNIX) as door:
                door.settimeout(self._seconds)
                door.connect(self.address.removeprefix("unix://"))

    def _unreachable(self, error: BaseException) -> InfrastructureError | UsageError:
        """Return the error to raise for a daemon that gave no answer."""
        causes = list(_causes(error))
        if any(isinstance(each, PermissionError) for each in causes):
            return InfrastructureError(
                f"The Docker daemon at {self.address} refuses this user. Join the group `docker` "
                "(`sudo usermod -aG docker $USER`, then log in again), or name a daemon that is "
                "yours: `host: unix:///run/user/1000/docker.sock`, or DOCKER_HOST."
            )
        scheme, separator, _ = self.address.partition("://")
        if not separator or scheme not in {"unix", "tcp", "http", "https", "npipe", "ssh"}:
            return UsageError(
                f"`{self.address}` is no address of a Docker daemon. One looks like "
                "`unix:///var/run/docker.sock` or `tcp://name:2376`."
            )
        told = next((each for each in causes if isinstance(each, OSError) and each.errno), error)
        return InfrastructureError(
            f"The Docker daemon at {self.address} does not answer: is it running? Start it "
            "(`sudo systemctl start docker`), or name another with `host` in the spec or "
            f"DOCKER_HOST. ({type(told).__name__}: {told})"
        )


def _address_of_context() -> str:
    """Return the address that the ``docker`` command would use here."""
    fallback = "unix:///var/run/docker.sock"
    try:
        from docker.context import ContextAPI

        context = ContextAPI.get_current_context()
        return (context.Host if context else "") or fallback
    except Exception:  # noqa: BLE001  # no SDK, no context, or a file of another version
        return fallback


def _causes(error: BaseException) -> Generator[BaseException]:
    """Yield an error and all that led to it: requests wraps what urllib3 wraps."""
    waiting, seen = [error], set[int]()
    while waiting:
        each = waiting.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        further = [each.__cause__, each.__context__, getattr(each, "reason", None), *each.args]
        waiting += [cause for cause in further if isinstance(cause, BaseException)]

import os
from collections.abc import Iterator

import pytest

from rewardhub.builtin.sandboxes.docker_daemon import Daemon
from rewardhub.builtin.sandboxes.image import IMAGE, image_of
from rewardhub.errors import InfrastructureError, UsageError

HOW = "(see .ci/docker.sh and REWARDHUB_DOCKER)"


@pytest.fixture(scope="session")
def docker_daemon() -> Iterator[Daemon]:
    """A daemon that answers: at REWARDHUB_DOCKER, or where the docker command finds it."""
    daemon = Daemon(os.environ.get("REWARDHUB_DOCKER", ""))
    try:
        with daemon.asking("answer") as client:
            client.ping()
    except (InfrastructureError, UsageError):
        pytest.skip(f"needs Docker, and no daemon answers at {daemon.address} {HOW}")
    yield daemon
    daemon.close()


@pytest.fixture(scope="session")
def docker_image(docker_daemon: Daemon) -> str:
    """The digest of the image that `rewardhub sandbox image` made."""
    try:
        return image_of(docker_daemon, IMAGE).digest
    except UsageError:
        pytest.skip(f"needs Docker with the image {IMAGE} {HOW}")

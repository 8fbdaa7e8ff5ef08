import json
import os
from collections.abc import Iterator

import pytest

from rewardhub.builtin.sandboxes.docker_daemon import Daemon
from rewardhub.cli.codes import ExitCode
from rewardhub.cli.sandbox_image import make_image
from rewardhub.cli.session import Session
from rewardhub.errors import InfrastructureError, UsageError

NAME = f"rewardhub-test-command-{os.getpid()}"


@pytest.fixture(scope="module")
def host() -> Iterator[str]:
    daemon = Daemon(os.environ.get("REWARDHUB_DOCKER", ""))
    try:
        with daemon.asking("answer") as client:
            client.ping()
    except InfrastructureError:
        pytest.skip(
            f"needs Docker, and no daemon answers at {daemon.address} "
            "(see .ci/docker.sh and REWARDHUB_DOCKER)"
        )
    yield daemon.address
    with daemon.asking("remove an image") as client:
        client.images.remove(NAME, force=True)
    daemon.close()


def test_makes_an_image_and_says_so(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    made = make_image(Session(), name=NAME, distributions=["iniconfig"], host=host)
    said = capsys.readouterr()
    assert made is ExitCode.OK
    assert f"{NAME} is ready (Python 3." in said.out
    assert f"Making the image {NAME} at {host} with iniconfig" in said.err


def test_tells_machines_the_digest(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    make_image(Session(as_json=True, quiet=True), name=NAME, distributions=["iniconfig"], host=host)
    said = json.loads(capsys.readouterr().out)
    assert said["digest"].startswith("sha256:")
    assert (said["name"], said["with"]) == (NAME, ["iniconfig"])


def test_refuses_what_is_not_installed(host: str) -> None:
    with pytest.raises(UsageError, match="`no-such-thing` is not installed here"):
        make_image(Session(quiet=True), distributions=["no-such-thing"], host=host)


@pytest.mark.parametrize("base", [None, "python:3"])
def test_says_that_no_daemon_answers(base: str | None) -> None:
    with pytest.raises(InfrastructureError, match="does not answer: is it running?"):
        make_image(Session(quiet=True), base=base, host="unix:///nowhere")

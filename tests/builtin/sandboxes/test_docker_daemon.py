import socket
from pathlib import Path

import pytest

from rewardhub.builtin.sandboxes.docker_daemon import Daemon
from rewardhub.errors import InfrastructureError, UsageError


def ping(daemon: Daemon) -> None:
    with daemon.asking("answer") as client:
        client.ping()


def test_says_where_no_daemon_answers_and_what_next(tmp_path: Path) -> None:
    address = f"unix://{tmp_path}/docker.sock"
    with pytest.raises(InfrastructureError) as told:
        ping(Daemon(address))
    assert f"The Docker daemon at {address} does not answer: is it running?" in str(told.value)
    assert "systemctl start docker" in str(told.value)


def test_says_who_may_not_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: socket.socket, address: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(InfrastructureError, match="refuses this user. Join the group `docker`"):
        ping(Daemon(f"unix://{tmp_path}/docker.sock"))


def test_a_daemon_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "docker.sock"))
        listener.listen()
        with pytest.raises(InfrastructureError, match="did not answer within 0.2 s"):
            ping(Daemon(f"unix://{tmp_path}/docker.sock", seconds=0.2))


@pytest.mark.parametrize("address", ["nonsense://x", "unix", "docker.sock"])
def test_an_address_that_is_none_is_a_mistake_of_the_user(address: str) -> None:
    with pytest.raises(UsageError, match="is no address of a Docker daemon"):
        ping(Daemon(address))


def test_takes_the_address_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://somewhere:1234")
    assert Daemon().address == "tcp://somewhere:1234"
    assert Daemon("unix:///named").address == "unix:///named"


def test_names_the_extra_when_the_sdk_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "docker", None)
    with pytest.raises(UsageError, match=r"rewardhub-core\[docker\]"):
        ping(Daemon("unix:///nowhere"))

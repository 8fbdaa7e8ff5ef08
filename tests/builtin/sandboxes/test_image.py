import os
from collections.abc import Callable

import pytest

from rewardhub.builtin.sandboxes.docker_daemon import Daemon
from rewardhub.builtin.sandboxes.image import IMAGE, build_from_image, build_host_image, image_of
from rewardhub.errors import UsageError

NAME = f"rewardhub-test-{os.getpid()}"


@pytest.fixture
def forget(docker_daemon: Daemon, request: pytest.FixtureRequest) -> Callable[[str], None]:
    def later(name: str) -> None:
        def remove() -> None:
            with docker_daemon.asking("remove an image") as client:
                client.images.remove(name, force=True)

        request.addfinalizer(remove)

    return later


def run(daemon: Daemon, image: str, source: str) -> str:
    with daemon.asking("run a program") as client:
        said: bytes = client.containers.run(
            image, ["python3", "-I", "-c", source], remove=True, network_mode="none"
        )
    return said.decode().strip()


def test_the_same_files_make_the_same_digest(
    docker_daemon: Daemon, forget: Callable[[str], None]
) -> None:
    first = build_host_image(docker_daemon, name=f"{NAME}:one", distributions=["iniconfig"])
    forget(f"{NAME}:one")
    again = build_host_image(docker_daemon, name=f"{NAME}:two", distributions=["iniconfig"])
    forget(f"{NAME}:two")
    assert first.digest == again.digest
    assert first.digest.startswith("sha256:")


def test_programs_inside_find_modules_libraries_threads_and_a_shell(
    docker_daemon: Daemon, docker_image: str
) -> None:
    source = (
        "import ctypes, sqlite3, ssl, subprocess, threading, zlib, pytest;"
        "thread = threading.Thread(target=len, args=('',)); thread.start(); thread.join();"
        "print(subprocess.run('echo shell | cat', shell=True, capture_output=True).stdout)"
    )
    assert run(docker_daemon, docker_image, source) == "b'shell\\n'"


def test_says_which_python_is_inside(docker_daemon: Daemon, docker_image: str) -> None:
    image = image_of(docker_daemon, docker_image)
    said = run(docker_daemon, docker_image, "import platform; print(platform.python_version())")
    assert image.python == said


def test_an_image_is_found_by_its_digest(docker_daemon: Daemon, docker_image: str) -> None:
    named = image_of(docker_daemon, IMAGE)
    assert image_of(docker_daemon, named.digest).digest == named.digest


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("no-such-image", "rewardhub sandbox image --name no-such-image`"),
        (f"sha256:{'0' * 64}", "rewardhub sandbox image`"),
    ],
)
def test_a_missing_image_names_the_command_that_makes_one(
    docker_daemon: Daemon, name: str, command: str
) -> None:
    with pytest.raises(UsageError) as told:
        image_of(docker_daemon, name)
    assert f"has no image `{name}`" in str(told.value)
    assert command in str(told.value)


def test_builds_on_another_image(
    docker_daemon: Daemon, docker_image: str, forget: Callable[[str], None]
) -> None:
    image = build_from_image(docker_daemon, docker_image, name=NAME, distributions=[])
    forget(NAME)
    assert run(docker_daemon, image.digest, "print(6 * 7)") == "42"


def test_says_why_no_image_could_be_built(docker_daemon: Daemon, docker_image: str) -> None:
    with pytest.raises(UsageError, match="No image could be built from .*\n(.*\n)*.*No module"):
        build_from_image(docker_daemon, docker_image, name=NAME, distributions=["iniconfig"])

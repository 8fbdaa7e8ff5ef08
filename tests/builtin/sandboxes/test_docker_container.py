import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rewardhub.builtin.sandboxes import docker_container
from rewardhub.builtin.sandboxes.docker_container import Container, Shape, owner, remove_orphans
from rewardhub.builtin.sandboxes.docker_daemon import Daemon
from rewardhub.errors import InfrastructureError

ECHO = "import os\nwhile data := os.read(0, 65536):\n    os.write(1, data)\n"
DEAF = "import os, time\nos.write(1, b'up')\ntime.sleep(600)\n"

Start = Callable[..., Container]


@pytest.fixture
def start(docker_daemon: Daemon, docker_image: str) -> Iterator[Start]:
    running: list[Container] = []

    def make(source: str, **shape: Any) -> Container:
        command = ["python3", "-I", "-S", "-c", source]
        running.append(Container(docker_daemon, Shape(image=docker_image, **shape), command))
        return running[-1]

    yield make
    for container in running:
        container.end()


def said(container: Container) -> Any:
    """All that a container writes until it ends, read as JSON."""
    container.stream.settimeout(30)
    return json.loads(b"".join(iter(lambda: container.stream.recv(65536), b"")))


def is_there(daemon: Daemon, identifier: str) -> bool:
    with daemon.asking("list containers") as client:
        listed = client.containers.list(all=True, ignore_removed=True)
    return identifier in {each.id for each in listed}


def is_gone_soon(daemon: Daemon, identifier: str) -> bool:
    deadline = time.monotonic() + 30
    while is_there(daemon, identifier):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_carries_bytes_both_ways(start: Start) -> None:
    stream = start(ECHO).stream
    sent = bytes(range(256)) * 4000
    stream.sendall(sent)
    got = b""
    while len(got) < len(sent):
        got += stream.recv(1 << 16)
    assert got == sent


def test_ends_and_is_removed_when_its_stream_is_closed(start: Start, docker_daemon: Daemon) -> None:
    container = start(ECHO)
    assert is_there(docker_daemon, container.id)
    container.stream.close()
    assert is_gone_soon(docker_daemon, container.id)


def test_does_not_outlive_a_process_that_is_killed(
    docker_daemon: Daemon, docker_image: str
) -> None:
    source = f"""
        import time
        from rewardhub.builtin.sandboxes.docker_container import Container, Shape
        from rewardhub.builtin.sandboxes.docker_daemon import Daemon
        command = ["python3", "-I", "-S", "-c", {ECHO!r}]
        container = Container(
            Daemon({docker_daemon.address!r}), Shape(image={docker_image!r}), command
        )
        print(container.id, flush=True)
        time.sleep(600)
    """
    command = [sys.executable, "-c", textwrap.dedent(source)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        identifier = host.stdout.readline().strip()
        assert is_there(docker_daemon, identifier)
        host.send_signal(signal.SIGKILL)
    assert is_gone_soon(docker_daemon, identifier)


def test_ends_at_once_even_if_it_does_not_listen(start: Start, docker_daemon: Daemon) -> None:
    container = start(DEAF)
    assert container.stream.recv(2) == b"up"
    container.end()
    assert is_gone_soon(docker_daemon, container.id)


def test_ending_what_is_gone_is_no_error(start: Start, docker_daemon: Daemon) -> None:
    container = start(ECHO)
    container.end()
    container.end()
    assert is_gone_soon(docker_daemon, container.id)


def test_has_three_capabilities_and_can_gain_none(start: Start) -> None:
    status = said(
        start(
            "import json; print(json.dumps(dict(line.rstrip().split(':\t', 1)"
            " for line in open('/proc/self/status') if ':\t' in line)))"
        )
    )
    three = (1 << 5) | (1 << 6) | (1 << 7)  # KILL, SETGID, SETUID
    assert int(status["CapBnd"], 16) == int(status["CapEff"], 16) == three
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


def test_writes_nowhere_but_in_its_own_folders(start: Start) -> None:
    source = """
        import json, os
        writable = []
        for path in ("/", "/usr", "/etc", "/root", "/var/tmp", "/proc/sys/kernel", "/sys", "/bin",
                     "/sys/fs/cgroup", "/work", "/tmp", "/dev/shm"):
            try:
                os.close(os.open(path + "/probe", os.O_CREAT | os.O_WRONLY))
                writable.append(path)
            except OSError:
                pass
        print(json.dumps(writable))
    """
    assert said(start(textwrap.dedent(source))) == ["/work", "/tmp", "/dev/shm"]


def test_has_no_network(start: Start) -> None:
    source = """
        import json, os, socket
        from socket import AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, SOCK_DGRAM, SOCK_RAW, SOCK_STREAM
        def errno_of(family, kind):
            try:
                socket.socket(family, kind).close()
            except OSError as error:
                return error.errno
        print(json.dumps([
            errno_of(AF_INET, SOCK_STREAM), errno_of(AF_INET6, SOCK_DGRAM),
            errno_of(AF_NETLINK, SOCK_RAW), errno_of(AF_UNIX, SOCK_STREAM),
            sorted(os.listdir("/sys/class/net")),
        ]))
    """
    assert said(start(textwrap.dedent(source))) == [97, 97, 97, None, ["lo"]]


@pytest.mark.parametrize(
    ("number", "arguments"),
    [
        pytest.param(425, (8, 0), id="io_uring_setup"),
        pytest.param(323, (0,), id="userfaultfd"),
        pytest.param(321, (0, 0, 0), id="bpf"),
        pytest.param(250, (0, 0, 0), id="keyctl"),
        pytest.param(101, (0, 0, 0, 0), id="ptrace"),
        pytest.param(272, (0x10000000,), id="unshare"),
        pytest.param(161, (0,), id="chroot"),
        pytest.param(298, (0, 0, -1, -1, 0), id="perf_event_open"),
        pytest.param(135, (0xFFFFFFFF,), id="personality"),
        pytest.param(56, (0x10000000 | 17, 0, 0, 0, 0), id="clone of a user namespace"),
    ],
)
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86_64")
def test_refuses_what_attacks_begin_with(
    start: Start, number: int, arguments: tuple[int, ...]
) -> None:
    source = (
        "import ctypes; libc = ctypes.CDLL(None, use_errno=True);"
        f"print([libc.syscall({number}, *{arguments!r}), ctypes.get_errno()])"
    )
    assert said(start(source)) == [-1, 1]


def test_holds_memory_of_all_processes_together(start: Start) -> None:
    source = """
        import json, os
        os.read(0, 1)
        children = []
        for _ in range(8):
            child = os.fork()
            if not child:
                block = bytearray(64 << 20)
                block[::4096] = b"x" * len(block[::4096])
                os.read(0, 1)
                os._exit(0)
            children.append(child)
        dead = 0
        for child in children[:5]:
            dead += os.waitpid(-1, 0)[1] == 9
        print(json.dumps(dead))
    """
    container = start(textwrap.dedent(source), memory_mb=64)
    container.bound_memory(0)
    container.stream.sendall(b"x")
    assert said(container) == 5


def test_holds_the_number_of_processes(start: Start) -> None:
    source = """
        import json, os
        started = 0
        try:
            while os.fork():
                started += 1
                assert started < 500
            os.read(0, 1)
        except BlockingIOError:
            print(json.dumps(started), flush=True)
            os.kill(-1, 9)
    """
    assert 10 <= said(start(textwrap.dedent(source), processes=10)) < 30


def test_holds_the_size_of_its_folders(start: Start) -> None:
    source = """
        import json, os
        wrote = 0
        try:
            with open("/work/big", "wb", buffering=0) as file:
                while wrote < 100 << 20:
                    wrote += file.write(bytes(1 << 20))
        except OSError as error:
            print(json.dumps([error.errno, wrote >> 20]))
    """
    assert said(start(textwrap.dedent(source), disk_mb=5)) == [28, 5]


def test_an_unknown_runtime_is_said(start: Start) -> None:
    with pytest.raises(InfrastructureError, match="could not start a container.*no-such-runtime"):
        start(ECHO, runtime="no-such-runtime")


def test_the_runtime_is_handed_on(start: Start, docker_daemon: Daemon) -> None:
    container = start(ECHO, runtime="runc")
    with docker_daemon.asking("look at it") as client:
        told = client.containers.get(container.id).attrs["HostConfig"]["Runtime"]
    assert told == "runc"


def test_a_folder_that_the_image_declares_as_a_volume_is_covered(start: Start) -> None:
    source = "import json, os; print(json.dumps(os.access('/data', os.W_OK)))"
    assert said(start(source, covered=("/data",))) is False


def test_containers_of_processes_that_are_gone_are_removed(
    start: Start, docker_daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as finished:
        number = finished.pid
    place = owner().rsplit(" ", 2)[0]
    monkeypatch.setattr(docker_container, "owner", lambda: f"{place} {number} 1.00")
    container = start(DEAF)
    assert container.stream.recv(2) == b"up"
    assert remove_orphans(docker_daemon) >= 1
    assert is_gone_soon(docker_daemon, container.id)


@pytest.mark.parametrize("whose", ["this process", "another machine", "nobody who can be read"])
def test_containers_that_may_be_in_use_are_left_alone(
    start: Start, docker_daemon: Daemon, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    owners = {
        "this process": owner(),
        "another machine": "elsewhere/pid:[1] 1 1.00",
        "nobody who can be read": "???",
    }
    monkeypatch.setattr(docker_container, "owner", lambda: owners[whose])
    container = start(DEAF)
    assert container.stream.recv(2) == b"up"
    remove_orphans(docker_daemon)
    assert is_there(docker_daemon, container.id)

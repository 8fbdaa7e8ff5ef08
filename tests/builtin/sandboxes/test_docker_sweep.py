"""What a job leaves in a container is gone before the next one begins."""

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rewardhub.builtin.sandboxes import docker_container
from rewardhub.builtin.sandboxes.docker_container import Container, Shape
from rewardhub.builtin.sandboxes.docker_daemon import Daemon

SWEEP = Path(docker_container.__file__).parent / "inside" / "sweep.py"
AROUND = """
import json, os, sys, time
job = os.fork()
if not job:
    os.setgroups([]); os.setresgid(20000, 20000, 20000); os.setresuid(20000, 20000, 20000)
    os.umask(0o77)
    try:
        exec(JOB)
    finally:
        os.write(2, b"")
        os._exit(0)
time.sleep(WAIT)
left = sweep(20000, {1})
while True:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        break
found = [path for top in ("/work", "/tmp", "/dev/shm", "/dev/mqueue") for path in os.listdir(top)]
shared = sum(len(open(f"/proc/sysvipc/{kind}").readlines()) - 1 for kind in ("shm", "sem", "msg"))
alive = [each for each in os.listdir("/proc") if each.isdigit() and each != "1"]
work = os.statvfs("/work")
print(json.dumps([left, found, shared, alive, work.f_files - work.f_ffree]))
"""
CLEAN = [[], [], 0, [], 1]

Left = Callable[..., Any]


@pytest.fixture
def left_by(docker_daemon: Daemon, docker_image: str) -> Left:
    def run(job: str, *, wait: float = 0.3, before: str = "") -> Any:
        around = AROUND.replace("JOB", repr(textwrap.dedent(job))).replace("WAIT", str(wait))
        source = f"{SWEEP.read_text()}\n{before}\n{around}"
        command = ["python3", "-I", "-S", "-c", source]
        container = Container(docker_daemon, Shape(image=docker_image), command)
        try:
            container.stream.settimeout(30)
            said = b"".join(iter(lambda: container.stream.recv(65536), b""))
            assert said, container.stream.complaint
            return json.loads(said)
        finally:
            container.end()

    return run


def test_nothing_is_left_of_a_job_that_left_nothing(left_by: Left) -> None:
    assert left_by("pass") == CLEAN


def test_removes_files_in_every_folder(left_by: Left) -> None:
    job = """
        for top in ("/work", "/tmp", "/dev/shm"):
            os.makedirs(top + "/a/b/c")
            open(top + "/a/b/file", "w").close()
            os.symlink("/", top + "/a/root")
            os.mkfifo(top + "/a/fifo")
            open((top + "/a/").encode() + b"\\xff\\n name", "w").close()
    """
    assert left_by(job) == CLEAN


def test_removes_what_its_owner_may_not_read(left_by: Left) -> None:
    job = """
        os.makedirs("/work/a/b")
        open("/work/a/b/file", "w").close()
        os.chmod("/work/a/b/file", 0)
        os.chmod("/work/a/b", 0)
        os.chmod("/work/a", 0)
    """
    assert left_by(job) == CLEAN


def test_removes_a_tree_that_is_deeper_than_a_path_is_long(left_by: Left) -> None:
    job = """
        os.chdir("/work")
        for _ in range(6000):
            os.mkdir("d")
            os.chdir("d")
    """
    assert left_by(job, wait=2.0) == CLEAN


def test_ends_a_daemon(left_by: Left) -> None:
    job = """
        if not os.fork():
            os.setsid()
            if not os.fork():
                time.sleep(600)
    """
    assert left_by(job) == CLEAN


def test_ends_processes_that_fork_without_end(left_by: Left) -> None:
    job = """
        while True:
            try:
                os.fork()
            except OSError:
                pass
    """
    assert left_by(job) == CLEAN


def test_ends_processes_that_shoot_at_all_others(left_by: Left) -> None:
    job = """
        for _ in range(3):
            os.fork()
        while True:
            for number in range(2, 400):
                if number != os.getpid():
                    try:
                        os.kill(number, 9)
                    except OSError:
                        pass
    """
    assert left_by(job) == CLEAN


def test_removes_shared_memory_semaphores_and_queues(left_by: Left) -> None:
    job = """
        import ctypes
        libc = ctypes.CDLL(None)
        made = [
            libc.shmget(7, 4096, 0o1600), libc.semget(7, 3, 0o1600), libc.msgget(7, 0o1600),
            libc.mq_open(b"/queue", os.O_CREAT | os.O_RDWR, 0o600, None),
        ]
        assert min(made) >= 0, made
        open("/dev/shm/made", "w").close()
        time.sleep(600)
    """
    assert left_by(job) == CLEAN


def test_tells_of_what_it_cannot_remove(left_by: Left) -> None:
    left = left_by("pass", before="open('/work/of-root', 'w').close()")
    assert "Operation not permitted: b'/work/of-root'" in left[0][0]

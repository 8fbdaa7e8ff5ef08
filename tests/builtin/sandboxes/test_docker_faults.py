"""A daemon that dies, hangs or restarts is nobody's wrong answer, and the run goes on after it."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewardhub import (
    Grader,
    InfrastructureError,
    Job,
    Outcome,
    Sandbox,
    Score,
    Trajectory,
    UsageError,
)
from rewardhub.builtin.sandboxes.docker import DockerSandbox
from rewardhub.builtin.sandboxes.docker_container import OWNER
from rewardhub.builtin.sandboxes.docker_daemon import Daemon
from rewardhub.builtin.sandboxes.image import build_host_image
from rewardhub.testing import grade, make_trajectory

HELLO = Job(source="print('hello')", wall_seconds=20)
SLEEP = Job(source="import time; time.sleep(60)", wall_seconds=90)


class Prints(Grader):
    """Full marks for a program that says hello."""

    def grade(self, trajectory: Trajectory, sandbox: Sandbox) -> Score:
        outcome = sandbox.fairly(lambda: sandbox.run(Job(source=trajectory.final_text)))
        return Score.of(outcome.stdout == "hello\n", outcome.status)


class Dockerd:
    """A daemon that a test may treat badly."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"unix://{folder}/docker.sock"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        # A dead containerd that nobody waits for looks alive to a daemon that finds its number.
        for stale in ("pid", "exec/containerd/containerd.pid"):
            (self.folder / stale).unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *("dockerd", "--data-root", self.folder / "data"),
                    *("--exec-root", self.folder / "exec", "--pidfile", self.folder / "pid"),
                    # Not --bridge=none: that would take docker0 from the daemon beside it.
                    *("--host", self.address, "--iptables=false"),
                ],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + 60
        daemon = Daemon(self.address, seconds=5)
        while True:
            try:
                with daemon.asking("answer") as client:
                    client.ping()
                break
            except InfrastructureError:
                assert time.monotonic() < deadline, (self.folder / "log").read_text()[-3000:]
                time.sleep(0.1)
        daemon.close()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)


@pytest.fixture
def dockerd() -> Iterator[Dockerd]:
    if shutil.which("dockerd") is None or os.geteuid() != 0:
        pytest.skip("needs Docker: dockerd, and root to start it (see REWARDHUB_DOCKER)")
    folder = Path(tempfile.mkdtemp(prefix="rewardhub-dockerd-"))
    daemon = Dockerd(folder)
    daemon.start()
    try:
        with_image = Daemon(daemon.address)
        build_host_image(with_image, distributions=[])
        with_image.close()
        yield daemon
    finally:
        daemon.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def sandbox(docker_daemon: Daemon, docker_image: str) -> Iterator[DockerSandbox]:
    made = DockerSandbox(host=docker_daemon.address, slots=1)
    made.open()
    yield made
    made.close()


class Running:
    """A job that runs in a thread, and what became of it."""

    def __init__(self, sandbox: DockerSandbox, job: Job) -> None:
        self._result: Any = None
        self._thread = threading.Thread(target=self._run, args=(sandbox, job))
        self._thread.start()

    def _run(self, sandbox: DockerSandbox, job: Job) -> None:
        try:
            self._result = sandbox.run(job)
        except InfrastructureError as error:
            self._result = error

    def outcome(self) -> Outcome | InfrastructureError:
        self._thread.join(60)
        assert not self._thread.is_alive(), "the job is still waited for"
        result: Outcome | InfrastructureError = self._result
        return result


def own_containers(daemon: Daemon) -> list[Any]:
    with daemon.asking("list its containers") as client:
        listed = client.containers.list(all=True, filters={"label": OWNER}, ignore_removed=True)
    return [each for each in listed if each.labels[OWNER].split()[-2] == str(os.getpid())]


def is_told_as_ours(result: Outcome | InfrastructureError) -> bool:
    return isinstance(result, InfrastructureError) or result.status == "sandbox_error"


def test_a_missing_daemon_is_said_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="does not answer: is it running?"):
        DockerSandbox(host=f"unix://{tmp_path}/docker.sock").open()


def test_a_daemon_that_never_answers_is_given_up(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "docker.sock"))
        listener.listen()
        sandbox = DockerSandbox(host=f"unix://{tmp_path}/docker.sock", request_seconds=0.2)
        with pytest.raises(InfrastructureError, match=r"within 0\.2 s"):
            sandbox.open()


def test_a_missing_image_is_said_before_anything_runs(docker_daemon: Daemon) -> None:
    sandbox = DockerSandbox(host=docker_daemon.address, image="no-such-image")
    with pytest.raises(UsageError, match="rewardhub sandbox image --name no-such-image"):
        sandbox.open()


def test_an_unknown_runtime_is_said_before_anything_runs(
    docker_daemon: Daemon, docker_image: str
) -> None:
    sandbox = DockerSandbox(host=docker_daemon.address, runtime="no-such-runtime")
    with pytest.raises(UsageError, match="no runtime `no-such-runtime`.*`runc`"):
        sandbox.open()


def test_a_container_that_is_removed_in_the_middle_of_a_run(
    sandbox: DockerSandbox, docker_daemon: Daemon
) -> None:
    assert sandbox.run(HELLO).stdout == "hello\n"
    running = Running(sandbox, SLEEP)
    time.sleep(0.3)
    (container,) = own_containers(docker_daemon)
    with docker_daemon.asking("remove a container"):
        container.remove(force=True)
    assert is_told_as_ours(running.outcome())
    assert sandbox.run(HELLO).stdout == "hello\n"


def test_a_container_that_was_removed_between_two_jobs_is_replaced(
    sandbox: DockerSandbox, docker_daemon: Daemon
) -> None:
    sandbox.run(HELLO)
    (container,) = own_containers(docker_daemon)
    with docker_daemon.asking("remove a container"):
        container.remove(force=True)
    outcome = sandbox.fairly(lambda: sandbox.run(HELLO))
    assert outcome.stdout == "hello\n"


def test_a_job_whose_container_was_removed_is_tried_again(
    sandbox: DockerSandbox, docker_daemon: Daemon
) -> None:
    played: list[Outcome] = []

    def play() -> Outcome:
        if played:
            played.append(sandbox.run(HELLO))
        else:
            running = Running(sandbox, SLEEP)
            time.sleep(0.3)
            with docker_daemon.asking("remove a container"):
                own_containers(docker_daemon)[0].remove(force=True)
            result = running.outcome()
            assert isinstance(result, Outcome)
            played.append(result)
        return played[-1]

    sandbox.run(HELLO)
    assert sandbox.fairly(play).stdout == "hello\n"
    assert [each.status for each in played] == ["sandbox_error", "ok"]


def test_two_jobs_side_by_side_are_in_two_containers(
    sandbox: DockerSandbox, docker_daemon: Daemon
) -> None:
    one, other = sandbox.start(SLEEP, SLEEP)
    assert len(own_containers(docker_daemon)) == 2
    assert [one.kill().status, other.kill().status] == ["killed", "killed"]


def test_a_program_that_uses_up_the_memory_is_graded(sandbox: DockerSandbox) -> None:
    source = "blocks = []\nwhile True: blocks.append(b'x' * (1 << 20))"
    outcome = sandbox.run(Job(source=source, memory_mb=128))
    assert outcome.status in {"oom", "nonzero"}
    assert sandbox.run(HELLO).stdout == "hello\n"


def test_closing_leaves_no_container(docker_daemon: Daemon, docker_image: str) -> None:
    sandbox = DockerSandbox(host=docker_daemon.address, slots=1)
    sandbox.open()
    sandbox.run(HELLO)
    assert len(own_containers(docker_daemon)) == 1
    sandbox.close()
    assert own_containers(docker_daemon) == []


@pytest.mark.proof
def test_a_daemon_that_is_killed_in_the_middle_of_a_run_and_started_again(
    dockerd: Dockerd,
) -> None:
    sandbox = DockerSandbox(host=dockerd.address, slots=1, request_seconds=10)
    sandbox.open()
    assert sandbox.run(HELLO).stdout == "hello\n"
    running = Running(sandbox, SLEEP)
    time.sleep(0.5)
    dockerd.kill()
    assert is_told_as_ours(running.outcome())
    with pytest.raises(InfrastructureError, match="does not answer: is it running?"):
        sandbox.fairly(lambda: sandbox.run(HELLO))
    score = grade(Prints(), make_trajectory("print('hello')"), sandbox=sandbox)
    assert (score.status, score.fault, score.value) == ("failed", "infrastructure", None)
    dockerd.start()
    assert grade(Prints(), make_trajectory("print('hello')"), sandbox=sandbox).value == 1.0
    assert sandbox.fairly(lambda: sandbox.run(HELLO)).stdout == "hello\n"
    sandbox.close()


@pytest.mark.proof
def test_a_daemon_that_is_stopped_in_the_middle_of_a_run_and_started_again(
    dockerd: Dockerd,
) -> None:
    sandbox = DockerSandbox(host=dockerd.address, slots=1, request_seconds=30)
    sandbox.open()
    running = Running(sandbox, SLEEP)
    time.sleep(1.0)
    dockerd.stop()
    assert is_told_as_ours(running.outcome())
    dockerd.start()
    assert sandbox.fairly(lambda: sandbox.run(HELLO)).stdout == "hello\n"
    sandbox.close()


@pytest.mark.proof
def test_a_daemon_that_hangs_is_given_up(dockerd: Dockerd) -> None:
    sandbox = DockerSandbox(host=dockerd.address, slots=1, request_seconds=2)
    sandbox.open()
    assert dockerd.process is not None
    dockerd.process.send_signal(signal.SIGSTOP)
    try:
        assert is_told_as_ours(Running(sandbox, HELLO).outcome())
    finally:
        dockerd.process.send_signal(signal.SIGCONT)
    assert sandbox.fairly(lambda: sandbox.run(HELLO)).stdout == "hello\n"
    sandbox.close()

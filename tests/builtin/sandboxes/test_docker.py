"""What every sandbox promises, kept by containers; and what only containers have."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from rewardhub import Job, Preload
from rewardhub.builtin.sandboxes.docker import DockerSandbox
from rewardhub.builtin.sandboxes.docker_daemon import Daemon
from rewardhub.testing import SandboxContract


@pytest.fixture(scope="module")
def sandbox(docker_daemon: Daemon, docker_image: str) -> Iterator[DockerSandbox]:
    with closing(DockerSandbox(host=docker_daemon.address, slots=1)) as sandbox:
        sandbox.open()
        yield sandbox


class TestDockerSandbox(SandboxContract):
    def test_no_nameserver_of_this_machine_is_seen(self, sandbox: DockerSandbox) -> None:
        outcome = self.run(sandbox, "print(open('/etc/resolv.conf').read())")
        servers = [line for line in outcome.stdout.splitlines() if line.startswith("nameserver")]
        assert servers == ["nameserver 127.0.0.1"]

    def test_each_job_is_a_user_of_its_own(self, sandbox: DockerSandbox) -> None:
        users = [self.told(sandbox, "import os; print(os.getuid())") for _ in range(3)]
        assert len({0, *users}) == 4

    def test_a_job_touches_neither_warden_nor_zygote(self, sandbox: DockerSandbox) -> None:
        source = """
import json, os
got = []
for number in filter(str.isdigit, os.listdir("/proc")):
    if int(number) == os.getpid():
        continue
    for name in ("environ", "mem", "maps", "fd/0", "root/etc", "cwd/.", "stack", "auxv"):
        try:
            os.close(os.open(f"/proc/{number}/{name}", os.O_RDONLY))
            got.append(f"{number}/{name}")
        except OSError:
            pass
    for signal in (0, 9, 15, 19):
        try:
            os.kill(int(number), signal)
            got.append(f"{number} {signal}")
        except OSError:
            pass
print(json.dumps(got))
"""
        assert self.told(sandbox, source) == []

    def test_what_needs_the_capabilities_of_the_warden_is_refused(
        self, sandbox: DockerSandbox
    ) -> None:
        source = """
import json, os
done = []
for name, call in {
    "user": lambda: os.setresuid(0, 0, 0), "group": lambda: os.setgroups([0]),
    "owner": lambda: os.chown("/work/mine", 0, 0), "root": lambda: os.chroot("/tmp"),
    "nice": lambda: os.nice(-5), "folder": lambda: os.chmod("/work", 0o700),
    "device": lambda: os.mknod("/work/disk", 0o60600, os.makedev(254, 0)),
}.items():
    open("/work/mine", "w").close()
    try:
        call()
        done.append(name)
    except OSError:
        pass
print(json.dumps(done))
"""
        assert self.told(sandbox, source) == []

    def test_memory_of_a_job_is_bounded_whatever_jobs_ask_for(self, sandbox: DockerSandbox) -> None:
        eats = "held = bytearray(200 << 20); held[::4096] = b'x' * len(held[::4096]); print(1)"
        assert self.run(sandbox, eats, memory_mb=100).status == "oom"
        assert self.told(sandbox, eats, memory_mb=300) == 1

    def test_shared_memory_is_no_way_around_the_limits(self, sandbox: DockerSandbox) -> None:
        source = """
import json
made = 0
try:
    while made < 20000:
        open(f"/dev/shm/{made}", "w").close()
        made += 1
except OSError:
    pass
print(json.dumps(made))
"""
        assert self.told(sandbox, source) < 10000
        assert (
            self.told(sandbox, "import json, os; print(json.dumps(os.listdir('/dev/shm')))") == []
        )


def test_a_flood_of_a_gigabyte_costs_this_process_next_to_nothing(sandbox: DockerSandbox) -> None:
    import psutil

    sandbox.run(Job(source="pass", max_output_bytes=2 << 30))
    before = psutil.Process().memory_info().rss
    source = "import os\nblock = bytes(1 << 20)\nfor _ in range(1 << 10): os.write(1, block)"
    outcome = sandbox.run(Job(source=source, max_output_bytes=2 << 30, wall_seconds=60))
    assert (outcome.status, outcome.output_total) == ("ok", 1 << 30)
    assert psutil.Process().memory_info().rss - before <= 8 << 20


def test_a_tag_that_moves_does_not_change_the_run(docker_daemon: Daemon, docker_image: str) -> None:
    with docker_daemon.asking("tag an image") as client:
        client.images.get(docker_image).tag("rewardhub-test-moving")
    try:
        with closing(
            DockerSandbox(host=docker_daemon.address, image="rewardhub-test-moving", slots=1)
        ) as sandbox:
            sandbox.open()
            with docker_daemon.asking("take the tag away") as client:
                client.images.remove("rewardhub-test-moving")
            assert sandbox.identity["image"] == docker_image
            assert sandbox.run(Job(source="print(1)")).stdout == "1\n"
    finally:
        with docker_daemon.asking("look for the tag") as client:
            assert not client.images.list("rewardhub-test-moving")


def test_its_identity_names_the_digest_and_no_slots(
    docker_daemon: Daemon, docker_image: str
) -> None:
    made = [DockerSandbox(host=docker_daemon.address, slots=slots) for slots in (1, 2)]
    assert made[0].identity == made[1].identity
    assert made[0].identity["image"] == docker_image
    for each in made:
        each.close()


def test_says_which_distribution_the_image_lacks(sandbox: DockerSandbox) -> None:
    from rewardhub import InfrastructureError

    preload = Preload(name="ready", source="import nosuchmodule", requires=("no-such-module",))
    with pytest.raises(InfrastructureError) as told:
        sandbox.run(Job(source="pass", preload=preload))
    assert "lacks a module: ModuleNotFoundError: No module named 'nosuchmodule'" in str(told.value)
    assert "rewardhub sandbox image --name rewardhub-sandbox --with no-such-module" in str(
        told.value
    )

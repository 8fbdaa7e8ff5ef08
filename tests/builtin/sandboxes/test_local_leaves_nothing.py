"""After many runs this machine is as it was before."""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from rewardhub.builtin.sandboxes.local import LocalSandbox
from rewardhub.contracts import Job, Preload

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

JOBS: tuple[tuple[Job, str], ...] = (
    (Job(source="print(sum(range(100)))"), "ok"),
    (Job(source="open('f', 'w').write('x' * 1000); raise SystemExit(3)"), "nonzero"),
    (Job(source="import os, time\nif os.fork() == 0:\n    os.setsid(); time.sleep(99)"), "ok"),
    (Job(command=("sh", "-c", "sleep 99 & echo $PPID")), "ok"),
    (Job(source="import os; os.kill(os.getpid(), 9) or os.abort()"), "killed"),
    (Job(source="x", files={"a/b": "c"}, stdin="y" * 10000, collect=("a",)), "nonzero"),
    (Job(source="print(1)", preload=Preload(name="ready", source="import json")), "ok"),
    (Job(source="import os\nwhile True: os.write(1, bytes(65536))", max_output_bytes=1 << 20),
     "output_limit"),
)  # fmt: skip
SLOW: tuple[tuple[Job, str], ...] = (
    (Job(source="while True: pass", cpu_seconds=0.05), "timeout"),
    (Job(source="import time; time.sleep(9)", wall_seconds=0.05), "timeout"),
    (Job(source="held = bytearray(b'x') * (99 << 20)", memory_mb=32), "oom"),
)


def groups_of_nobody() -> set[str]:
    """Return the control groups whose warden is gone: others may run sandboxes of their own."""
    found = Path("/sys/fs/cgroup").glob("**/rewardhub-*")
    return {str(path) for path in found if not psutil.pid_exists(int(path.name.split("-")[1]))}


def state() -> dict[str, Any]:
    """Return what of this machine a sandbox could leave something in."""
    gc.collect()
    process = psutil.Process()
    return {
        "processes": sorted(each.pid for each in process.children(recursive=True)),
        "descriptors": process.num_fds(),
        "threads": process.num_threads(),
        "mounts": Counter(Path("/proc/self/mounts").read_text().splitlines()),
        "files": sorted(Path(tempfile.gettempdir()).glob("rewardhub-job-*")),
        "shared": sorted(Path("/dev/shm").iterdir()),
        "semaphores": Path("/proc/sysvipc/sem").read_text(),
    }


def run_all(sandbox: LocalSandbox, times: int) -> None:
    for _ in range(times):
        for job, status in JOBS:
            outcome = sandbox.run(job)
            assert outcome.status == status, outcome
            assert not outcome.tampered


def leaves_nothing(act: Callable[[LocalSandbox], None]) -> None:
    LocalSandbox().open()
    before, groups = state(), groups_of_nobody()
    with closing(LocalSandbox(slots=1)) as sandbox:
        act(sandbox)
    after = state()
    before["mounts"], after["mounts"] = {}, after["mounts"] - before["mounts"]
    others = ("overlay", "nsfs")  # containers of this machine
    after["mounts"] = {line: 1 for line in after["mounts"] if line.split()[2] not in others}
    assert after == before
    assert groups_of_nobody() <= groups


def test_some_runs_leave_nothing() -> None:
    def act(sandbox: LocalSandbox) -> None:
        run_all(sandbox, 4)
        for job, status in SLOW:
            assert sandbox.run(job).status == status

    leaves_nothing(act)


def test_a_host_that_is_killed_leaves_nothing() -> None:
    program = """
import sys
from rewardhub.builtin.sandboxes.local import LocalSandbox
from rewardhub.contracts import Job
sandbox = LocalSandbox(slots=1)
source = "import os, time; os.write(3, bytes(4)); time.sleep(600)"
(program,) = sandbox.start(Job(source=source, wall_seconds=600))
program.receive()
print("runs", flush=True)
sys.stdin.read()
"""
    groups = groups_of_nobody()
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    ) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"runs\n"
        family = psutil.Process(host.pid).children(recursive=True)
        assert len(family) >= 3  # warden, zygote, job
        host.kill()
    _, alive = psutil.wait_procs(family, timeout=30)
    assert not alive
    assert groups_of_nobody() <= groups


@pytest.mark.proof
@pytest.mark.timeout(1200)
def test_ten_thousand_runs_leave_nothing() -> None:
    def act(sandbox: LocalSandbox) -> None:
        run_all(sandbox, 25)  # lines are warm, and this process has its size
        process = psutil.Process()
        memory, descriptors = process.memory_info().rss, process.num_fds()
        run_all(sandbox, 10_000 // len(JOBS))
        assert process.memory_info().rss - memory < 8 << 20
        assert process.num_fds() == descriptors

    leaves_nothing(act)

"""What happens around workers: scripts, terminals, nurseries, machines without fork."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from rewardhub.contracts.limits import Limits
from rewardhub.engine.workers import Result, WorkerPool, WorkerStartError, launch, watch

SOURCE = "worker_targets:run_source"
WIDE = Limits(cpu_seconds=20.0, wall_seconds=20.0, memory_mb=1024)
HERE = Path(__file__).parent

SCRIPT = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
from rewardhub.contracts.limits import Limits
from rewardhub.engine.workers import WorkerPool
WIDE = Limits(cpu_seconds=None, wall_seconds=None, memory_mb=None)
pool = WorkerPool(2, target='{SOURCE}', manifest=b'')
def run(source): return pool.submit(source.encode(), limits=WIDE)
"""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def script(source: str) -> subprocess.Popen[str]:
    """Run a program that has a pool, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT + source],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def gone(pids: list[int]) -> bool:
    """Wait until no process of these numbers is left."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if not any(is_running(pid) for pid in pids):
            return True
        time.sleep(0.02)
    return False


def is_running(pid: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


FAMILY = """
import os, subprocess, time
subprocess.Popen(['sleep', '1000'])
subprocess.Popen(['sleep', '1000'], start_new_session=True)
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    time.sleep(1000)
control.progress('started')
time.sleep(1000)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="adopting orphans needs Linux")
def test_leaves_nothing_behind_when_its_process_is_killed() -> None:
    source = f"""
import psutil, time
futures = [run({FAMILY!r}) for _ in range(2)]
def family(): return [child.pid for child in psutil.Process().children(recursive=True)]
while len(family()) < 1 + 2 * 5: time.sleep(0.01)
print(*family(), flush=True)
time.sleep(1000)
"""
    with script(source) as process:
        assert process.stdout is not None
        family = [int(pid) for pid in process.stdout.readline().split()]
        process.kill()
    assert len(family) == 11
    assert gone(family)


def test_leaves_nothing_behind_when_its_process_just_ends() -> None:
    source = """
import psutil
run('').result()
future = run('while True: pass')
print(*[child.pid for child in psutil.Process().children(recursive=True)])
"""
    with script(source) as process:
        output, errors = process.communicate(timeout=60)
    assert errors == ""
    assert gone([int(pid) for pid in output.split()])


def test_goes_on_when_the_terminal_interrupts_its_process() -> None:
    source = """
import os, time
try:
    print(run('import os; reply = str(os.getpid()).encode()').result().payload.decode(), flush=True)
    time.sleep(1000)
except KeyboardInterrupt:
    ends = [run('').result().end for _ in range(4)]
    print(*ends, len(pool._threads))
    pool.close()
"""
    with script(source) as process:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout.readline() == "reply reply reply reply 2\n"
        assert process.wait(60) == 0
    assert gone([worker])


def test_never_runs_the_main_script_again(tmp_path: Path) -> None:
    note = tmp_path / "note"
    file = tmp_path / "main.py"
    file.write_text(
        SCRIPT
        + f"""
with open({str(note)!r}, 'a') as note: note.write(__name__)
print(run("reply = __import__('sys').modules['__main__'].__dict__.get('WIDE', 'nothing').encode()")
    .result().payload.decode())
pool.close()
"""
    )
    command = [sys.executable, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("nothing\n", "")
    assert note.read_text() == "__main__"


def test_imports_from_the_working_folder_where_its_process_does(tmp_path: Path) -> None:
    (tmp_path / "loose_target.py").write_text("def target(manifest, control): return bytes.upper")
    source = f"""
import os
os.chdir({str(tmp_path)!r})
loose = WorkerPool(1, target='loose_target:target', manifest=b'')
print(loose.submit(b'loud', limits=WIDE).result().payload.decode())
loose.close()
pool.close()
"""
    with script(source) as process:
        output, errors = process.communicate(timeout=60)
    assert (output, errors) == ("LOUD\n", "")


def nursery_of(pool: WorkerPool) -> int:
    found = pool.submit(b"import os; reply = str(os.getppid()).encode()", limits=WIDE).result(60)
    return int(found.payload)


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(1, target=SOURCE, manifest=b"") as pool:
        yield pool


def test_starts_a_nursery_again_that_was_killed(pool: WorkerPool) -> None:
    first = nursery_of(pool)
    result = pool.submit(f"import os; os.kill({first}, 9)\n{FAMILY}".encode(), limits=WIDE).result(
        60
    )
    assert result.end == "died"
    assert result.detail == "was lost together with the process that had started it"
    assert nursery_of(pool) != first


def test_kills_what_a_killed_nursery_leaves_behind(pool: WorkerPool, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    source = f"""
import os, subprocess, time
left = subprocess.Popen(['sleep', '1000'], start_new_session=True)
with open({str(note)!r}, 'w') as note: note.write(str(left.pid))
os.kill(os.getppid(), 9)
time.sleep(1000)
"""
    assert pool.submit(source.encode(), limits=WIDE).result(60).end == "died"
    assert gone([int(note.read_text())])


def test_replaces_a_nursery_that_a_job_has_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_REQUEST_SECONDS", 0.5)
    with WorkerPool(1, target=SOURCE, manifest=b"") as pool:
        first = nursery_of(pool)
        source = b"import os, signal; os.kill(os.getppid(), signal.SIGSTOP); os._exit(1)"
        assert pool.submit(source, limits=WIDE).result(60).end == "died"
        assert nursery_of(pool) != first


def test_says_why_nothing_can_be_preloaded() -> None:
    with WorkerPool(1, target=SOURCE, manifest=b"", preload=("no_such_module",)) as pool:
        future = pool.submit(b"", limits=WIDE)
        with pytest.raises(WorkerStartError, match="No module named 'no_such_module'"):
            future.result(60)


def test_refuses_to_fork_a_nursery_with_threads() -> None:
    with WorkerPool(1, target=SOURCE, manifest=b"", preload=("threads_at_import",)) as pool:
        future = pool.submit(b"", limits=WIDE)
        with pytest.raises(WorkerStartError, match=r"started threads .* preload less"):
            future.result(60)


def test_says_that_the_machine_refuses_another_process() -> None:
    with WorkerPool(1, target=SOURCE, manifest=b"", preload=("no_fork",)) as pool:
        future = pool.submit(b"", limits=WIDE)
        with pytest.raises(WorkerStartError, match=r"refuses another process .*use fewer workers"):
            future.result(60)


def test_shares_what_was_preloaded() -> None:
    source = b"import sys; reply = str('colorsys' in sys.modules).encode()"
    with WorkerPool(1, target=SOURCE, manifest=b"", preload=("colorsys",)) as pool:
        assert pool.submit(source, limits=WIDE).result(60).payload == b"True"


@pytest.fixture(scope="module")
def forkless() -> Iterator[WorkerPool]:
    """Workers that are commands of their own, watched through psutil: as on Windows."""

    def launcher(preload: tuple[str, ...]) -> launch.Launcher:
        return launch.DirectLauncher()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watch, "this_machine", watch.PortableProcesses)
        patch.setattr("rewardhub.engine.workers.pool.launcher_here", launcher)
        with WorkerPool(1, target=SOURCE, manifest=b"") as pool:
            yield pool


def run(pool: WorkerPool, source: str, limits: Limits = WIDE) -> Result:
    return pool.submit(source.encode(), limits=limits).result(60)


def test_replies_without_fork(forkless: WorkerPool) -> None:
    assert run(forkless, "reply = b'here'").payload == b"here"


def test_kills_a_job_over_its_cpu_limit_without_fork(forkless: WorkerPool) -> None:
    assert run(forkless, "while True: pass", Limits(cpu_seconds=0.3)).end == "cpu"
    assert run(forkless, "").end == "reply"


def test_kills_a_job_over_its_memory_limit_without_fork(forkless: WorkerPool) -> None:
    assert run(forkless, "x = bytearray(700 << 20)", Limits(memory_mb=200)).end == "memory"


def test_says_how_a_worker_died_without_fork(forkless: WorkerPool) -> None:
    assert run(forkless, "import os; os._exit(3)").detail == "exited with status 3"


def test_kills_processes_that_a_job_leaves_behind_without_fork(forkless: WorkerPool) -> None:
    source = "import subprocess; p = subprocess.Popen(['sleep', '1000']); reply = b'%d' % p.pid"
    result = run(forkless, source)
    assert result.end == "survivors"
    assert gone([int(result.payload)])


def test_kills_the_family_of_a_dead_worker_without_fork(
    forkless: WorkerPool, tmp_path: Path
) -> None:
    note = tmp_path / "pid"
    source = f"""
import os, subprocess
left = subprocess.Popen(['sleep', '1000'], start_new_session=True)
with open({str(note)!r}, 'w') as note: note.write(str(left.pid))
os._exit(1)
"""
    assert run(forkless, source).end == "died"
    assert gone([int(note.read_text())])


def test_ends_its_worker_when_closed_without_fork(forkless: WorkerPool) -> None:
    worker = int(run(forkless, "import os; reply = b'%d' % os.getpid()").payload)
    forkless.close()
    assert not psutil.pid_exists(worker)

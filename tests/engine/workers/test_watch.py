from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewardhub.engine.workers import watch
from rewardhub.engine.workers.watch import LinuxProcesses, PortableProcesses, Processes

READERS = [pytest.param(PortableProcesses, id="portable")]
if isinstance(watch.this_machine(), LinuxProcesses):
    READERS.append(pytest.param(LinuxProcesses, id="linux"))

PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])
data = bytearray(50 << 20)
while time.process_time() < 0.3: pass
print(child.pid, flush=True)
time.sleep(1000)
"""


@pytest.fixture(params=READERS)
def processes(request: pytest.FixtureRequest) -> Processes:
    made: Processes = request.param()
    return made


@pytest.fixture(scope="module")
def family() -> Iterator[tuple[int, int]]:
    """A process that has used 50 MiB and 0.3 s of CPU time, and its child."""
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        yield process.pid, child
        watch.kill([child, process.pid])


def test_reads_what_a_process_uses(processes: Processes, family: tuple[int, int]) -> None:
    process = processes.read(family[0])
    assert process is not None
    assert process.alive
    assert 0.29 <= process.cpu_seconds < 5
    assert process.memory_bytes > 50 << 20


def test_knows_no_process_that_is_not_there(processes: Processes) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert processes.read(ended.pid) is None


def test_tells_a_process_that_has_ended(processes: Processes) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as ended:
        ended.kill()
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        process = processes.read(ended.pid)
    assert process is not None
    assert not process.alive


def test_finds_descendants(processes: Processes, family: tuple[int, int]) -> None:
    parent, child = family
    assert [process.pid for process in processes.descendants(parent)] == [child]
    assert {parent, child} <= {process.pid for process in processes.descendants(os.getpid())}


def test_leaves_out_a_family(processes: Processes, family: tuple[int, int]) -> None:
    found = processes.descendants(os.getpid(), without={family[0]})
    assert not {process.pid for process in found} & set(family)


def test_counts_no_memory_twice_that_processes_share() -> None:
    if not READERS[1:]:
        pytest.skip("needs Linux")
    reader, writer = os.pipe()
    source = f"""
import os, time
data = bytearray(60 << 20)
os.fork()
os.write({writer}, b'.')
time.sleep(1000)
"""
    processes = LinuxProcesses()
    command = [sys.executable, "-c", source]
    with subprocess.Popen(command, pass_fds=[writer], start_new_session=True) as process:
        while len(os.read(reader, 1)) + len(os.read(reader, 1)) < 2:
            pass
        parent = processes.read(process.pid)
        assert parent is not None
        both = [parent, *processes.descendants(process.pid)]
        together = processes.memory_of(both)
        os.killpg(process.pid, signal.SIGKILL)
    os.close(reader)
    os.close(writer)
    assert sum(one.memory_bytes for one in both) > 120 << 20
    assert 60 << 20 < together < 100 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="needs proc")
def test_reads_a_process_whose_name_looks_like_other_fields(tmp_path: Path) -> None:
    folder = tmp_path / "7"
    folder.mkdir()
    numbers = " ".join(str(number) for number in range(4, 53))
    (folder / "stat").write_text(f"7 (a) Z 1 (b) S {numbers}")
    process = LinuxProcesses(str(tmp_path)).read(7)
    ticks = os.sysconf("SC_CLK_TCK")
    page = os.sysconf("SC_PAGE_SIZE")
    # Fields 14 to 17 are CPU times in ticks, field 24 is the resident memory in pages.
    assert process == (7, (14 + 15 + 16 + 17) / ticks, 24 * page, True)


@pytest.mark.skipif(sys.platform != "linux", reason="needs pthread_exit and proc")
def test_takes_a_process_for_alive_whose_first_thread_has_ended() -> None:
    source = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
print(flush=True)
ctypes.CDLL(None).pthread_exit(None)
"""
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        stat = Path(f"/proc/{process.pid}/stat")
        deadline = time.monotonic() + 20
        while " Z " not in stat.read_text() and time.monotonic() < deadline:
            time.sleep(0.01)
        found = LinuxProcesses().read(process.pid)
        process.kill()
    assert found is not None
    assert found.alive


def test_kills_until_nothing_is_left() -> None:
    children = [subprocess.Popen(["sleep", "1000"]) for _ in range(3)]

    def find() -> list[int]:
        # Shows one at a time, as when killing one process brings the next to light.
        return [child.pid for child in children if child.poll() is None][:1]

    assert watch.kill_until_none(find)
    assert [child.wait() for child in children] == [-signal.SIGKILL] * 3


def test_gives_up_on_what_cannot_be_killed() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert not watch.kill_until_none(lambda: [gone.pid], seconds=0.05)


def test_names_processes_for_people(family: tuple[int, int]) -> None:
    found = LinuxProcesses().descendants(family[0])
    assert watch.describe(found * 6).startswith(sys.executable)
    assert watch.describe(found * 6).endswith(f"(pid {family[1]}), ...")

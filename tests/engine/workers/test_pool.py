from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

import psutil
import pytest

from rewardhub.contracts.limits import Limits
from rewardhub.engine.workers import Result, WorkerPool, WorkerStartError, frames, meter
from rewardhub.errors import UsageError

SOURCE = "worker_targets:run_source"
WIDE = Limits(cpu_seconds=20.0, wall_seconds=20.0, memory_mb=1024)

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(2, target=SOURCE, manifest=b"the manifest") as pool:
        yield pool


@pytest.fixture(scope="module")
def single() -> Iterator[WorkerPool]:
    with WorkerPool(1, target=SOURCE, manifest=b"") as single:
        yield single


@pytest.fixture
def run(pool: WorkerPool) -> Iterator[Run]:
    """Run source in the pool; afterwards the pool must still do its work."""

    def run(
        source: str,
        *,
        cpu: float | None = 20.0,
        wall: float | None = 20.0,
        memory: int | None = 1024,
        alone: bool = False,
        canary: bool = False,
    ) -> Result:
        limits = Limits(cpu_seconds=cpu, wall_seconds=wall, memory_mb=memory)
        return pool.submit(source.encode(), limits=limits, alone=alone, canary=canary).result(60)

    yield run
    futures = [pool.submit(b"reply = b'fine'", limits=WIDE) for _ in range(4)]
    assert [future.result(60).payload for future in futures] == [b"fine"] * 4


def test_returns_what_the_handler_returns(run: Run) -> None:
    result = run("reply = b'a' * 1000")
    assert (result.end, result.payload) == ("reply", b"a" * 1000)


def test_carries_large_payloads_both_ways(pool: WorkerPool) -> None:
    source = b"reply = b'y' * 20_000_000 #" + b"x" * 20_000_000
    assert pool.submit(source, limits=WIDE).result(60).payload == b"y" * 20_000_000


def test_gives_the_manifest_to_the_target(run: Run) -> None:
    assert run("reply = manifest").payload == b"the manifest"


def test_keeps_a_worker_and_its_state_from_job_to_job(single: WorkerPool) -> None:
    single.submit(b"state['kept'] = b'kept'", limits=WIDE)
    assert single.submit(b"reply = state['kept']", limits=WIDE).result(60).payload == b"kept"


def test_returns_the_traceback_of_an_uncaught_exception(run: Run) -> None:
    result = run("def f(): raise LookupError('lost')\nf()")
    assert result.end == "raised"
    assert result.detail.rstrip().endswith("LookupError: lost")


@pytest.mark.parametrize("name", ["KeyboardInterrupt", "SystemExit", "GeneratorExit"])
def test_takes_exceptions_that_end_programs_for_exceptions(run: Run, name: str) -> None:
    result = run(f"raise {name}('now')")
    assert (result.end, result.detail.splitlines()[-1]) == ("raised", f"{name}: now")


def test_survives_an_exception_that_cannot_be_printed(run: Run) -> None:
    result = run("class Bad(Exception):\n    def __str__(self): raise ValueError\nraise Bad")
    assert result.end == "raised"


def test_calls_a_reply_that_is_not_bytes_an_error_of_the_handler(run: Run) -> None:
    result = run("reply = 'text'")
    assert (result.end, "returned str, not bytes" in result.detail) == ("raised", True)


def test_kills_a_job_over_its_cpu_limit(run: Run) -> None:
    result = run("while True: pass", cpu=0.3)
    assert (result.end, result.detail) == ("cpu", "used more than 0.3 s of CPU time")
    assert result.cpu_seconds > 0.3


def test_kills_a_regular_expression_that_backtracks_for_ever(run: Run) -> None:
    assert run("import re; re.match('(a+)+$', 'a' * 64 + 'b')", cpu=0.3).end == "cpu"


def test_kills_arithmetic_that_never_returns_to_python(run: Run) -> None:
    assert run("pow(10**8, 10**8)", cpu=0.3).end == "cpu"


def test_counts_the_cpu_time_of_descendants(run: Run) -> None:
    source = """
import subprocess, sys
subprocess.run([sys.executable, '-c', 'while True: pass'])
"""
    assert run(source, cpu=0.3).end == "cpu"


def test_counts_the_cpu_time_of_descendants_that_have_ended(run: Run) -> None:
    source = """
import subprocess, sys
burn = 'import time\\nwhile time.process_time() < 0.2: pass'
for _ in range(100):
    subprocess.run([sys.executable, '-c', burn])
"""
    assert run(source, cpu=0.5).end == "cpu"


def test_does_not_charge_a_job_for_the_one_before(single: WorkerPool) -> None:
    burn = b"import time\nwhile time.process_time() < 0.6: pass"
    assert single.submit(burn, limits=WIDE).result(60).end == "reply"
    limits = Limits(cpu_seconds=0.5, wall_seconds=20.0)
    result = single.submit(b"import time; time.sleep(0.2)", limits=limits).result(60)
    assert result.end == "reply"


def test_kills_a_job_over_its_wall_limit(run: Run) -> None:
    result = run("import time; time.sleep(600)", wall=0.2)
    assert (result.end, result.detail) == ("wall", "took longer than 0.2 s")


def test_kills_a_job_that_blocks_all_signals(run: Run) -> None:
    source = """
import signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
time.sleep(600)
"""
    assert run(source, wall=0.2).end == "wall"


def test_kills_a_job_that_never_stops_talking(run: Run) -> None:
    assert run("while True: control.progress('still here')", wall=0.3, cpu=None).end == "wall"


def test_kills_a_job_over_its_memory_limit(run: Run) -> None:
    result = run("data = bytearray(700 << 20)", memory=200)
    assert (result.end, result.detail) == ("memory", "used more than 200 MB of memory")
    assert result.memory_mb is not None
    assert result.memory_mb > 200


def test_refuses_memory_far_over_the_limit_at_once(run: Run) -> None:
    result = run("data = bytearray(8 << 30)", memory=256)
    assert (result.end, result.detail.splitlines()[-1]) == ("memory", "MemoryError")


def test_calls_it_memory_when_a_job_does_not_fit_into_its_worker(run: Run) -> None:
    assert run("#" + "x" * 100_000_000, memory=16).end == "memory"


def test_counts_the_memory_of_descendants(run: Run) -> None:
    source = """
import subprocess, sys
subprocess.run([sys.executable, '-c', 'data = bytearray(300 << 20); import time; time.sleep(600)'])
"""
    assert run(source, memory=200).end == "memory"


def test_counts_memory_that_forked_processes_share_once(run: Run) -> None:
    source = """
import os, signal, time
data = bytearray(150 << 20)
children = []
for _ in range(4):
    child = os.fork()
    if not child:
        time.sleep(600)
    children.append(child)
time.sleep(0.3)
for child in children:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""
    assert run(source, memory=400).end == "reply"


@pytest.mark.parametrize(
    ("source", "detail"),
    [
        ("os._exit(3)", "exited with status 3"),
        ("os._exit(0)", "exited with status 0"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "was killed by signal 9 (SIGKILL)"),
        ("signal.raise_signal(signal.SIGSEGV)", "was killed by signal 11 (SIGSEGV)"),
        ("ctypes.string_at(0)", "was killed by signal 11 (SIGSEGV)"),
        ("os.abort()", "was killed by signal 6 (SIGABRT)"),
    ],
)
def test_says_how_a_worker_died(run: Run, source: str, detail: str) -> None:
    result = run(f"import ctypes, os, signal\n{source}")
    assert (result.end, result.detail) == ("died", detail)


@pytest.mark.parametrize("after", ["", "import time; time.sleep(600)"])
def test_says_that_a_job_closed_the_channel(run: Run, after: str) -> None:
    result = run(f"import os; os.closerange(3, 100)\n{after}")
    assert (result.end, result.detail) == ("died", "gave up its channel to the pool")


def test_kills_a_worker_that_writes_into_the_channel(run: Run) -> None:
    source = """
import os, stat, time
for number in range(3, 50):
    try:
        if stat.S_ISSOCK(os.fstat(number).st_mode):
            os.write(number, b'garbage' * 10)
    except OSError:
        pass
time.sleep(600)
"""
    result = run(source)
    assert (result.end, "what is no answer" in result.detail) == ("died", True)


def test_is_not_deceived_by_a_forged_answer_to_the_next_job(single: WorkerPool) -> None:
    forged = """
import os, stat, struct
body = struct.pack('!Qd?', 2, 0.0, False) + b'forged'
for number in range(3, 50):
    try:
        if stat.S_ISSOCK(os.fstat(number).st_mode):
            channel = number
    except OSError:
        pass
import threading, time
frame = struct.pack('!BI', 13, len(body)) + body
threading.Thread(target=lambda: (time.sleep(0.05), os.write(channel, frame))).start()
"""
    first = single.submit(forged.replace("!Qd?', 2", "!Qd?', 1").encode(), limits=WIDE)
    assert first.result(60).end == "reply"
    time.sleep(0.2)
    second = single.submit(b"reply = b'honest'", limits=WIDE).result(60)
    assert (second.end, second.payload) == ("died", b"")


def test_keeps_what_a_job_prints_out_of_the_channel(run: Run) -> None:
    result = run("import os; print('to people'); os.write(1, b'\\0garbage'); os.write(2, b'!')")
    assert (result.end, result.stderr) == ("reply", "to people\n\0garbage!")


def test_quotes_only_the_last_of_what_a_job_prints(run: Run) -> None:
    result = run("print('x' * 1_000_000 + 'end')")
    assert (len(result.stderr), result.stderr[-4:]) == (4096, "end\n")


def test_quotes_half_a_line_of_a_job_that_was_killed(run: Run) -> None:
    source = "import os; print('half a line', end=''); os._exit(1)"
    assert run(source).stderr == "half a line"


def test_does_not_quote_the_job_before(single: WorkerPool) -> None:
    single.submit(b"print('first')", limits=WIDE)
    assert single.submit(b"", limits=WIDE).result(60).stderr == ""


def test_writes_nothing_to_the_standard_output_of_the_pool(
    run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    run("import os; os.system('echo loud; echo louder >&2'); print('loudest')")
    assert capfd.readouterr() == ("", "")


def test_gives_a_job_no_terminal_to_read_from(run: Run) -> None:
    assert run("import sys; reply = sys.stdin.read().encode()").payload == b""


def leave_behind(setsid: bool) -> str:
    return f"""
import subprocess
left = subprocess.Popen(['sleep', '1000'], start_new_session={setsid})
reply = str(left.pid).encode()
"""


@pytest.mark.parametrize("setsid", [False, True])
def test_kills_and_names_processes_that_a_job_leaves_behind(run: Run, setsid: bool) -> None:
    result = run(leave_behind(setsid))
    left = int(result.payload)
    assert result.end == "survivors"
    assert result.detail == f"left 1 process behind: sleep 1000 (pid {left})"
    assert not psutil.pid_exists(left)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="adopting orphans needs Linux")
def test_finds_a_survivor_that_forked_twice_into_a_session_of_its_own(run: Run) -> None:
    source = """
import os, time
reader, writer = os.pipe()
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    os.write(writer, str(os.getpid()).encode())
    time.sleep(1000)
os.wait()
reply = os.read(reader, 100)
"""
    result = run(source)
    assert result.end == "survivors"
    assert not psutil.pid_exists(int(result.payload))


def test_says_both_that_a_job_raised_and_that_it_left_a_process(run: Run) -> None:
    result = run(leave_behind(False) + "raise LookupError('lost')")
    assert result.end == "survivors"
    assert "sleep 1000" in result.detail
    assert "LookupError: lost" in result.detail


def test_takes_no_process_for_a_survivor_that_the_job_has_just_killed(run: Run) -> None:
    assert run(leave_behind(False) + "left.kill()").end == "reply"


def test_lets_threads_stay(run: Run) -> None:
    source = "import threading, time; threading.Thread(target=time.sleep, args=(1,)).start()"
    assert run(source).end == "reply"


def test_lets_a_process_stay_that_the_target_started() -> None:
    with WorkerPool(1, target="worker_targets:with_companion", manifest=b"") as single:
        first, second = (single.submit(b"", limits=WIDE).result(60) for _ in range(2))
    assert (first.end, second.end) == ("reply", "reply")
    assert first.payload == second.payload
    pid, state = first.payload.decode().split()
    assert state == "None"
    assert not psutil.pid_exists(int(pid))


def test_lets_only_one_of_two_processes_return_from_a_fork(run: Run) -> None:
    result = run("import os; child = os.fork(); reply = b'parent' if child else b'child'")
    assert (result.end, result.payload) == ("reply", b"parent")


def test_lets_only_one_of_two_processes_return_from_a_fork_of_the_target() -> None:
    with WorkerPool(1, target="worker_targets:fork_twice", manifest=b"") as forked:
        results = [forked.submit(b"", limits=WIDE).result(60) for _ in range(20)]
    assert {result.end for result in results} == {"reply"}
    assert len({result.payload for result in results}) == 1


def test_kills_a_family_that_holds_the_channel_after_its_worker_died(run: Run) -> None:
    source = """
import os, time
if os.fork():
    os.kill(os.getpid(), 9)
time.sleep(1000)
"""
    result = run(source)
    assert (result.end, result.detail) == ("died", "was killed by signal 9 (SIGKILL)")


def test_kills_a_family_that_keeps_forking(run: Run) -> None:
    source = """
import os, time
end = time.monotonic() + 4
while time.monotonic() < end:
    os.fork()
    time.sleep(0.02)
"""
    assert run(source, wall=0.2, memory=None).end == "wall"


def test_stops_a_job_that_starts_too_many_processes(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meter, "_MOST_PROCESSES", 20)
    source = """
import os, time
for _ in range(30):
    if not os.fork():
        time.sleep(600)
time.sleep(600)
"""
    result = run(source, memory=None)
    assert (result.end, result.detail) == ("memory", "started more than 20 processes")


def test_narrows_limits_for_a_part_of_a_job(run: Run) -> None:
    source = "with control.limit(cpu_seconds=0.2, wall_seconds=None):\n    while True: pass"
    assert run(source).detail == "used more than 0.2 s of CPU time"


def test_narrows_the_wall_limit_for_a_part_of_a_job(run: Run) -> None:
    source = "import time\nwith control.limit(wall_seconds=0.1): time.sleep(600)"
    assert run(source).detail == "took longer than 0.1 s"


def test_widens_limits_again_after_the_part(run: Run) -> None:
    source = """
import time
with control.limit(cpu_seconds=1, wall_seconds=1): pass
time.sleep(1.2)
"""
    assert run(source).end == "reply"


def test_holds_the_wider_limits_inside_narrower_ones(run: Run) -> None:
    source = "import time\nwith control.limit(wall_seconds=60): time.sleep(600)"
    assert run(source, wall=0.2).detail == "took longer than 0.2 s"


def test_says_what_a_killed_job_was_at(run: Run) -> None:
    source = "control.progress('row 7'); control.progress('row 8')\nwhile True: pass"
    assert run(source, cpu=0.2).progress == "row 8"


def test_runs_a_lone_job_on_a_fresh_worker(single: WorkerPool) -> None:
    where = b"import os; reply = str(os.getpid()).encode()"
    used = single.submit(where, limits=WIDE).result(60).payload
    fresh = single.submit(where, limits=WIDE, alone=True).result(60).payload
    after = single.submit(where, limits=WIDE).result(60).payload
    assert used != fresh
    assert fresh == after


def test_runs_a_lone_job_beside_no_other(pool: WorkerPool, tmp_path: Path) -> None:
    # Each job notes who else was running when it came, and stays a little.
    source = f"""
import os, pathlib, time
folder = pathlib.Path({str(tmp_path)!r})
mine = folder / str(os.getpid())
mine.touch()
time.sleep(0.05)
reply = str(len(list(folder.iterdir()))).encode()
mine.unlink()
""".encode()
    futures = [pool.submit(source, limits=WIDE, alone=n % 4 == 0) for n in range(16)]
    beside = [future.result(60).payload for future in futures]
    assert beside[::4] == [b"1"] * 4
    assert b"2" in beside


def test_measures_a_canary_after_a_wall_limit(run: Run) -> None:
    result = run("import time; time.sleep(600)", wall=0.1, alone=True, canary=True)
    assert result.end == "wall"
    assert result.canary_seconds is not None
    assert result.canary_seconds > 0


def test_measures_no_canary_after_other_ends(run: Run) -> None:
    assert run("", canary=True).canary_seconds is None


def test_answers_many_threads_that_submit_at_once(pool: WorkerPool) -> None:
    wrong: list[int] = []

    def submit_some(first: int) -> None:
        numbers = range(first, first + 200)
        futures = [pool.submit(f"reply = b'{n}'".encode(), limits=WIDE) for n in numbers]
        wrong.extend(
            n
            for n, future in zip(numbers, futures, strict=True)
            if future.result(60).payload != str(n).encode()
        )

    threads = [threading.Thread(target=submit_some, args=(n * 1000,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_answers_all_jobs_while_some_kill_their_workers(pool: WorkerPool) -> None:
    futures = [
        pool.submit(b"import os; os._exit(1)" if n % 10 == 0 else b"", limits=WIDE)
        for n in range(100)
    ]
    ends = [future.result(60).end for future in futures]
    assert ends == [("died" if n % 10 == 0 else "reply") for n in range(100)]


def test_does_not_run_a_job_that_was_cancelled(single: WorkerPool) -> None:
    single.submit(b"import time; time.sleep(0.3)", limits=WIDE)
    waiting = single.submit(b"", limits=WIDE)
    assert waiting.cancel()
    assert single.submit(b"", limits=WIDE).result(60).end == "reply"


def test_ends_waiting_jobs_when_closed() -> None:
    single = WorkerPool(1, target=SOURCE, manifest=b"")
    running = single.submit(b"import time; time.sleep(0.3)", limits=WIDE)
    waiting = single.submit(b"", limits=WIDE)
    while not running.running():
        time.sleep(0.01)
    single.close()
    assert (running.result(0).end, waiting.result(0).end) == ("reply", "closed")


def test_kills_running_jobs_when_the_time_to_close_is_over() -> None:
    single = WorkerPool(1, target=SOURCE, manifest=b"")
    running = single.submit(b"while True: pass", limits=Limits(cpu_seconds=None, wall_seconds=None))
    while not running.running():
        time.sleep(0.01)
    single.close(timeout=0.1)
    assert running.result(0).end == "closed"


def test_ends_jobs_that_come_after_closing() -> None:
    single = WorkerPool(1, target=SOURCE, manifest=b"")
    single.close()
    single.close()
    assert single.submit(b"", limits=WIDE).result(0).end == "closed"


def test_leaves_no_process_behind_when_closed() -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with WorkerPool(2, target=SOURCE, manifest=b"") as pool:
        pool.submit(b"", limits=WIDE).result(60)
        during = psutil.Process().children(recursive=True)
    assert len(during) > len(before)
    assert {child.pid for child in psutil.Process().children(recursive=True)} == before


def test_lets_the_handler_close_what_it_opened(tmp_path: Path) -> None:
    file = tmp_path / "note"
    target = "worker_targets:closing"
    with WorkerPool(1, target=target, manifest=str(file).encode()) as single:
        single.submit(b"", limits=WIDE).result(60)
        assert not file.exists()
    assert file.read_text() == "closed"


def failure(future: Future[Result]) -> str:
    with pytest.raises(WorkerStartError) as caught:
        future.result(60)
    return str(caught.value)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("no_such_module:target", "No module named 'no_such_module'"),
        ("worker_targets:no_such_function", "no attribute 'no_such_function'"),
        ("worker_targets:refuse", "LookupError: no grader for these"),
        ("worker_targets:exit_at_once", "exited with status 4 before it was ready"),
    ],
)
def test_says_why_no_worker_starts(target: str, message: str) -> None:
    with WorkerPool(1, target=target, manifest=b"these") as single:
        first, second = (single.submit(b"", limits=WIDE) for _ in range(2))
        assert message in failure(first)
        assert message in failure(second)


def test_quotes_what_a_worker_printed_that_does_not_start() -> None:
    with WorkerPool(1, target="worker_targets:exit_at_once", manifest=b"") as single:
        assert "leaving" in failure(single.submit(b"", limits=WIDE))


def test_does_not_wait_for_ever_for_a_worker_to_be_ready() -> None:
    target = "worker_targets:never_ready"
    with WorkerPool(1, target=target, manifest=b"", start_seconds=0.3) as single:
        assert "took longer than 0.3 s" in failure(single.submit(b"", limits=WIDE))


def test_closes_while_a_worker_is_not_ready_yet() -> None:
    single = WorkerPool(1, target="worker_targets:never_ready", manifest=b"")
    future = single.submit(b"", limits=WIDE)
    single.close(timeout=0.2)
    assert future.result(0).end == "closed"


@pytest.mark.parametrize("target", ["worker_targets", ":echo", "worker_targets:", "a:b:c"])
def test_refuses_a_target_that_names_no_function(target: str) -> None:
    with pytest.raises(UsageError, match=r"package\.module:function"):
        WorkerPool(1, target=target, manifest=b"")


def test_refuses_a_pool_without_workers() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        WorkerPool(0, target=SOURCE, manifest=b"")


def test_refuses_a_payload_that_fits_no_frame(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rewardhub.engine.workers.pool.LARGEST", 1000)
    with pytest.raises(UsageError, match="1,001 bytes"):
        pool.submit(b"x" * 1001, limits=WIDE)


def test_calls_a_reply_that_fits_no_frame_an_error_of_the_handler(run: Run) -> None:
    result = run(f"reply = bytes({frames.LARGEST + 1})", memory=None)
    assert (result.end, "too large" in result.detail) == ("raised", True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_refuses_to_work_in_a_process_forked_from_its_own(pool: WorkerPool) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            pool.submit(b"", limits=WIDE)
        except UsageError:
            os.write(writer, b"refused")
        pool.close()
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    assert os.read(reader, 100) == b"refused"
    os.close(reader)
    assert pool.submit(b"", limits=WIDE).result(60).end == "reply"


def test_is_not_interrupted_by_what_the_terminal_sends_to_the_pool(run: Run) -> None:
    group = os.getpgrp()
    assert int(run("import os; reply = str(os.getpgrp()).encode()").payload) != group
    assert int(run("import os; reply = str(os.getsid(0)).encode()").payload) != os.getsid(0)
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN

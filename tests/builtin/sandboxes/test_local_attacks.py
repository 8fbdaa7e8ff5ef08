"""Attacks on what is special about the local sandbox: zygote, warden, descriptors, channel."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rewardhub.builtin.sandboxes.inside import frames
from rewardhub.builtin.sandboxes.local import LocalSandbox
from rewardhub.contracts import Job, Outcome, ProgramEndedError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

CHANNEL = """
import array, json, os, socket
channel = socket.socket(fileno=int(os.environ["REWARDHUB_CHANNEL"]))
def say(message):
    channel.sendall(len(message).to_bytes(4, "little") + message)
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LocalSandbox]:
    with closing(LocalSandbox(slots=1)) as sandbox:
        sandbox.open()
        yield sandbox


def run(sandbox: LocalSandbox, source: str, **limits: Any) -> Outcome:
    outcome = sandbox.run(Job(source=source, **limits))
    assert outcome.status != "sandbox_error", outcome.reason
    return outcome


def told(sandbox: LocalSandbox, source: str, **limits: Any) -> Any:
    outcome = run(sandbox, source, **limits)
    assert outcome.status == "ok", outcome
    return json.loads(outcome.stdout)


def warden_of(sandbox: LocalSandbox) -> int:
    """Return the process of the warden that serves plain jobs."""
    run(sandbox, "pass")
    assert sandbox._pool is not None
    (slot,) = sandbox._pool._free
    line: Any = next(reversed(slot.lines.values()))
    return int(line._carrier._process.pid)


def test_a_job_has_no_descriptor_but_its_own(sandbox: LocalSandbox) -> None:
    source = "import os\nprint(sorted(map(int, os.listdir('/proc/self/fd')))[:-1])"
    assert told(sandbox, source) == [0, 1, 2, 3]


def test_a_command_has_no_descriptor_but_its_own(sandbox: LocalSandbox) -> None:
    listed = "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1])"
    assert sandbox.run(Job(command=("python3", "-c", listed))).stdout == "[0, 1, 2, 3]\n"


def test_a_job_is_the_first_of_its_processes_and_sees_no_other(sandbox: LocalSandbox) -> None:
    source = "import os, json\nprint(json.dumps([n for n in os.listdir('/proc') if n.isdigit()]))"
    assert told(sandbox, source) == ["1"]


def test_stdin_cannot_be_changed(sandbox: LocalSandbox) -> None:
    source = """
import os
got = []
for name, attempt in {
    "write": lambda: os.pwrite(0, b"x", 0),
    "truncate": lambda: os.ftruncate(0, 0),
    "reopen": lambda: os.pwrite(os.open("/proc/self/fd/0", os.O_RDWR), b"x", 0),
}.items():
    try:
        attempt()
        got.append(name)
    except OSError:
        pass
import json
print(json.dumps([got, open(0).read()]))
"""
    assert told(sandbox, source, stdin="as it was") == [[], "as it was"]


def test_a_job_has_no_rights_and_gains_none(sandbox: LocalSandbox) -> None:
    source = """
import json, os, resource
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
caps = [int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")]
got = []
for name, attempt in {
    "setuid": lambda: os.setresuid(4, 4, 4),
    "nice": lambda: os.setpriority(os.PRIO_PROCESS, 0, -5),
    "core": lambda: resource.setrlimit(resource.RLIMIT_CORE, (2, 2)),
    "processes": lambda: resource.setrlimit(resource.RLIMIT_NPROC, (9999, 9999)),
    "cpu": lambda: resource.setrlimit(resource.RLIMIT_CPU, (9999, 9999)),
    "time": lambda: __import__("time").clock_settime(0, 0),
    "host": lambda: __import__("socket").sethostname("x"),
}.items():
    try:
        attempt()
        got.append(name)
    except (OSError, ValueError):
        pass
print(json.dumps([caps, status["NoNewPrivs"].strip(), status["Seccomp"].strip(), got]))
"""
    assert told(sandbox, source) == [[0] * 5, "1", "2", []]


def test_a_crash_is_not_handed_to_the_host(sandbox: LocalSandbox) -> None:
    # With a limit of 0, a `core_pattern` that is a pipe would start a program of the host.
    source = "import resource; print(list(resource.getrlimit(resource.RLIMIT_CORE)))"
    assert told(sandbox, source) == [1, 1]


def test_a_set_user_id_program_gives_nothing(sandbox: LocalSandbox) -> None:
    source = """
import json, os, shutil, subprocess, sys
shutil.copy(shutil.which("id"), "own")
os.chmod("own", 0o6755)
print(json.dumps([os.geteuid(), int(subprocess.check_output(["./own", "-u"]))]))
"""
    before, after = told(sandbox, source)
    assert before == after


def test_descriptors_sent_over_the_channel_go_nowhere(sandbox: LocalSandbox) -> None:
    warden = Path(f"/proc/{warden_of(sandbox)}/fd")

    def settled() -> int:
        """Count them once the last job's are closed, right after its outcome is told."""
        counts = [len(list(warden.iterdir())), -1]
        while counts[-1] != counts[-2]:
            time.sleep(0.05)
            counts.append(len(list(warden.iterdir())))
        return counts[-1]

    before = settled()
    source = (
        CHANNEL
        + """
for _ in range(50):
    held = array.array("i", [os.open("/dev/null", os.O_RDONLY) for _ in range(3)])
    channel.sendmsg([b"\\x01\\0\\0\\0x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, held)])
    for each in held:
        os.close(each)
"""
    )
    (program,) = sandbox.start(Job(source=source))
    with program:
        assert [program.receive() for _ in range(50)] == [b"x"] * 50
        assert program.finish().status == "ok"
    assert settled() == before


def test_frames_of_the_warden_cannot_be_forged(sandbox: LocalSandbox) -> None:
    head = json.dumps({"status": 0, "sizes": [0, 0], "files": []}).encode()
    forged = frames.pack(frames.OUTCOME, len(head).to_bytes(4, "little"), head)
    source = CHANNEL + f"say({forged!r})\nos.write(1, {forged!r})\nraise SystemExit(3)"
    (program,) = sandbox.start(Job(source=source))
    with program:
        assert program.receive() == forged
        assert program.finish().exit_code == 3


def test_half_a_message_is_none(sandbox: LocalSandbox) -> None:
    (program,) = sandbox.start(Job(source=CHANNEL + "channel.sendall(b'\\x09\\0\\0\\0half')"))
    with program, pytest.raises(ProgramEndedError) as ended:
        program.receive()
    assert ended.value.outcome.status == "ok"


def test_a_flood_of_messages_waits_for_its_reader(sandbox: LocalSandbox) -> None:
    warden = warden_of(sandbox)

    def resident_mb() -> float:
        return int(Path(f"/proc/{warden}/statm").read_text().split()[1]) * 4096 / 2**20

    before = resident_mb()
    source = CHANNEL + "while True: say(bytes(1 << 20))"
    (program,) = sandbox.start(Job(source=source, wall_seconds=1))
    with program:
        program.receive()
        time.sleep(1.5)  # nobody reads, and its time runs out all the same
        assert program.finish().limit == "wall"
    assert resident_mb() - before < 64


def test_a_program_that_protects_itself_from_the_oom_killer_does_not_take_the_zygote(
    sandbox: LocalSandbox,
) -> None:
    warden = warden_of(sandbox)
    source = """
try:
    open("/proc/self/oom_score_adj", "w").write("0")
except OSError:
    pass
held = []
while True:
    held.append(bytearray(b"x" * (1 << 20)))
"""
    outcome = run(sandbox, source, memory_mb=128)
    assert outcome.status == "oom", outcome
    assert warden_of(sandbox) == warden


def test_memory_of_one_job_is_not_held_against_the_next(sandbox: LocalSandbox) -> None:
    fills = """
import os
for folder in ("/tmp", "/work", "/dev/shm"):
    with open(f"{folder}/full", "wb") as file:
        for _ in range(32):
            file.write(os.urandom(1 << 20))
held = bytearray(b"x") * (100 << 20)
"""
    for _ in range(6):
        assert run(sandbox, fills, memory_mb=256).status == "ok"


def test_a_stopped_program_is_ended(sandbox: LocalSandbox) -> None:
    source = "import os, signal\nif os.fork() == 0: os.kill(os.getpid(), 19)\nos.wait()"
    assert run(sandbox, source, wall_seconds=0.5).limit == "wall"


def test_ending_in_every_rude_way_is_the_programs_own_end(sandbox: LocalSandbox) -> None:
    for source in (
        "import os; os.closerange(0, 256)",
        "import os; os.close(3); os.close(1)",
        "import sys; sys.stdout = sys.stderr = sys.stdin = None",
        "import atexit, os; atexit.register(os._exit, 5)",
        "import sys; sys.setrecursionlimit(10**9); f = lambda: f(); f()",
        "import threading; threading._shutdown = None",
        "import sys; sys.modules.clear()",
        "import builtins; builtins.__dict__.clear()",
        "import gc; [each.clear() for each in gc.get_objects() if type(each) is dict]",
        "import os; os._exit = None",
        "raise KeyboardInterrupt",
        "raise BaseException",
        "import sys; sys.excepthook = 1 / 2; 1 / 0",
        "import signal, os; signal.raise_signal(signal.SIGKILL)",
        "import resource; resource.setrlimit(resource.RLIMIT_CPU, (0, 0))\nwhile True: pass",
        "\ud800",
        "a\0b",
        "(" * 10000,
    ):
        assert run(sandbox, source, wall_seconds=20).status in {"ok", "nonzero", "killed", "oom"}
    assert run(sandbox, "print('well')").stdout == "well\n"


def test_names_and_texts_that_are_no_unicode_are_no_crash(sandbox: LocalSandbox) -> None:
    assert run(sandbox, "", files={"\ud800": "x"}).exit_code == 125
    assert run(sandbox, "", files={"a": "x", "a/b": "y"}).exit_code == 125
    assert told(sandbox, "print(len(open(0).read()))", stdin="\ud800") == 6
    assert sandbox.run(Job(command=("\ud800",))).exit_code == 126


def test_a_file_that_is_larger_than_the_disk_is_the_programs_end(sandbox: LocalSandbox) -> None:
    outcome = run(sandbox, "", files={"big": bytes(3 << 20)}, disk_mb=1)
    assert outcome.exit_code == 125
    assert "No space left" in outcome.stderr or "too large" in outcome.stderr


def test_what_is_collected_is_bounded(sandbox: LocalSandbox) -> None:
    source = """
import os
os.mkdir("deep")
os.chdir("deep")
for _ in range(200):
    os.mkdir("d")
    os.chdir("d")
try:
    for number in range(12000):
        open(f"/work/many-{number}", "w").close()
except OSError:
    pass
"""
    outcome = run(sandbox, source, collect=(".",))
    assert outcome.status == "ok"
    assert len(outcome.files) <= 10_000
    sparse = "open('one', 'wb').truncate(40 << 20); open('two', 'wb').truncate(40 << 20)"
    outcome = run(sandbox, sparse, collect=("one", "two"))
    assert sum(map(len, outcome.files.values())) <= 64 << 20


def test_a_name_that_is_no_text_is_not_collected(sandbox: LocalSandbox) -> None:
    source = "open(b'\\xff', 'w').close(); open('good', 'w').close()"
    assert set(run(sandbox, source, collect=(".",)).files) == {"good"}


def test_a_folder_that_became_a_link_is_not_followed(sandbox: LocalSandbox) -> None:
    source = "import os; os.symlink('/usr', 'out'); os.symlink('/etc', 'a')"
    assert run(sandbox, source, collect=("out", "out/bin/env", "a/passwd", "a")).files == {}


def test_jobs_side_by_side_share_no_abstract_socket(sandbox: LocalSandbox) -> None:
    left = CHANNEL + (
        "server = socket.socket(socket.AF_UNIX)\nserver.bind('\\0meet')\nserver.listen()\n"
        "say(b'listens')\nchannel.recv(1)\n"
    )
    right = CHANNEL + (
        "channel.recv(4)\n"
        "try:\n    socket.socket(socket.AF_UNIX).connect('\\0meet'); say(b'met')\n"
        "except OSError:\n    say(b'alone')\n"
    )
    first, second = sandbox.start(Job(source=left), Job(source=right))
    with first, second:
        assert first.receive() == b"listens"
        second.send(b"")
        assert second.receive() == b"alone"


def test_a_path_of_this_machines_packages_is_not_seen(sandbox: LocalSandbox) -> None:
    source = """
import importlib.util, json, sysconfig, os
names = [name for name in ("pydantic", "pytest", "rewardhub") if importlib.util.find_spec(name)]
print(json.dumps([names, os.listdir(sysconfig.get_paths()["purelib"])]))
"""
    assert told(sandbox, source) == [[], []]


def test_only_what_is_asked_for_can_be_imported() -> None:
    with closing(LocalSandbox(slots=1, packages=("iniconfig",))) as sandbox:
        source = """
import importlib.util, json, subprocess, sys
found = [name for name in ("iniconfig", "pytest") if importlib.util.find_spec(name)]
said = subprocess.check_output([sys.executable, "-c", "import iniconfig; print(1)"])
print(json.dumps([found, int(said)]))
"""
        assert told(sandbox, source) == [["iniconfig"], 1]


def test_the_hash_seed_is_the_jobs(sandbox: LocalSandbox) -> None:
    def hashed(**env: str) -> Any:
        return told(sandbox, "print(hash('text'))", env=env)

    assert hashed() == hashed(PYTHONHASHSEED="0")
    assert hashed(PYTHONHASHSEED="7") == hashed(PYTHONHASHSEED="7") != hashed()


def test_threads_processes_and_loops_work(sandbox: LocalSandbox) -> None:
    source = """
import asyncio, json, multiprocessing, subprocess, sys, threading
def add(a, b): return a + b
got = []
thread = threading.Thread(target=lambda: got.append("thread")); thread.start(); thread.join()
got.append(subprocess.run([sys.executable, "-c", "print('child')"], capture_output=True, text=True).stdout.strip())
with multiprocessing.get_context("fork").Pool(2) as pool: got.append(pool.starmap(add, [(1, 2)])[0])
async def main(): await asyncio.sleep(0); return "loop"
got.append(asyncio.run(main()))
print(json.dumps(got))
"""  # noqa: E501
    assert told(sandbox, source) == ["thread", "child", 3, "loop"]

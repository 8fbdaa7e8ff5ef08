"""What every sandbox promises, as tests to inherit: results, limits, isolation, channels."""

from __future__ import annotations

import json
import os

import psutil

from rewardhub.contracts import Job, Outcome, Preload, Sandbox
from rewardhub.errors import UsageError
from rewardhub.testing import sandbox_attacks as attacks
from rewardhub.testing.sandbox_channels import ChannelContract
from rewardhub.testing.sandbox_runs import MEBIBYTE
from rewardhub.testing.sandbox_walls import WallsContract


class SandboxContract(WallsContract, ChannelContract):
    """What every sandbox promises. Subclass it in a test file, and say what is tested::

        @pytest.fixture(scope="module")
        def sandbox() -> Iterator[Sandbox]:
            with closing(MySandbox()) as sandbox:
                sandbox.open()
                yield sandbox


        class TestMySandbox(SandboxContract):
            pass

    Give it one slot, so that what one job leaves behind lies in the way of the next.
    """

    # --- results --------------------------------------------------------------------------------

    def test_gives_back_what_a_program_wrote(self, sandbox: Sandbox) -> None:
        """Both streams, the exit code, and what it used."""
        source = "import sys; print('out ä'); print('err', file=sys.stderr)"
        outcome = self.run(sandbox, source)
        assert (outcome.status, outcome.exit_code) == ("ok", 0)
        assert (outcome.stdout, outcome.stderr) == ("out ä\n", "err\n")
        assert outcome.output_total == len("out ä\nerr\n".encode())
        assert 0 < outcome.seconds < 30
        assert 0 < outcome.memory_mb < 512

    def test_an_exit_code_is_told_as_it_is(self, sandbox: Sandbox) -> None:
        """Whatever way a program ends: by exit, by an exception, by a text."""
        for source, code in (
            ("raise SystemExit(3)", 3),
            ("import os; os._exit(4)", 4),
            ("1 / 0", 1),
            ("raise SystemExit('a reason')", 1),
            ("def", 1),
        ):
            outcome = self.run(sandbox, source)
            assert (outcome.status, outcome.exit_code) == ("nonzero", code), source

    def test_an_exception_leaves_its_traceback(self, sandbox: Sandbox) -> None:
        """As Python writes it."""
        outcome = self.run(sandbox, "def f():\n    1 / 0\nf()")
        assert outcome.stderr.startswith("Traceback (most recent call last):")
        assert "ZeroDivisionError: division by zero" in outcome.stderr

    def test_a_program_that_crashes_was_killed(self, sandbox: Sandbox) -> None:
        """By a signal, so that there is no exit code."""
        outcome = self.run(sandbox, "import ctypes; ctypes.string_at(0)")
        assert (outcome.status, outcome.exit_code) == ("killed", None), outcome

    def test_source_is_the_main_program(self, sandbox: Sandbox) -> None:
        """With its files beside it, importable."""
        source = "import helper, sys\nif __name__ == '__main__': print(helper.value, sys.argv[1:])"
        outcome = self.run(sandbox, source, files={"helper.py": "value = 7"})
        assert outcome.stdout == "7 []\n", outcome.stderr

    def test_a_command_is_run(self, sandbox: Sandbox) -> None:
        """With its arguments as they are."""
        command = (self.python, "-c", "import sys; print(sys.argv[1:])", "a b", "$HOME", "")
        outcome = sandbox.run(Job(command=command))
        assert (outcome.status, outcome.stdout) == ("ok", "['a b', '$HOME', '']\n"), outcome

    def test_a_command_that_is_not_there_ends_without_success(self, sandbox: Sandbox) -> None:
        """That is the job's doing, not the sandbox's."""
        outcome = sandbox.run(Job(command=("no-such-program",)))
        assert outcome.status == "nonzero", outcome

    def test_files_come_in_and_go_out(self, sandbox: Sandbox) -> None:
        """Bytes as they are, folders whole, nothing that was not asked for."""
        raw = bytes(range(256)) * 40
        source = (
            "import os, pathlib\n"
            "data = pathlib.Path('in/ü.bin').read_bytes()\n"
            "os.makedirs('out/deep')\n"
            "pathlib.Path('out/deep/back.bin').write_bytes(data[::-1])\n"
            "pathlib.Path('other').write_text('not asked for')\n"
        )
        outcome = self.run(sandbox, source, files={"in/ü.bin": raw}, collect=("out", "missing"))
        assert dict(outcome.files) == {"out/deep/back.bin": raw[::-1]}, outcome.stderr

    def test_only_plain_files_are_collected(self, sandbox: Sandbox) -> None:
        """No link is followed, and no pipe waited for."""
        source = (
            "import os\n"
            "os.symlink('/etc/passwd', 'link'); os.symlink('/etc', 'folder'); os.mkfifo('pipe')\n"
            "open('plain', 'w').write('yes')\n"
        )
        wanted = ("link", "folder", "folder/passwd", "pipe", "plain")
        outcome = self.run(sandbox, source, collect=wanted)
        assert dict(outcome.files) == {"plain": b"yes"}

    def test_places_outside_are_refused(self, sandbox: Sandbox) -> None:
        """Asking for them is a mistake of the grader, and nothing runs."""
        import pytest

        for job in (
            Job(source="", collect=("../etc/passwd",)),
            Job(source="", collect=("/etc/passwd",)),
            Job(source="", files={"../outside": "x"}),
            Job(source="", files={"/outside": "x"}),
        ):
            with pytest.raises(UsageError):
                sandbox.run(job)

    def test_stdin_is_given_whole(self, sandbox: Sandbox) -> None:
        """Also where it is longer than any pipe, and where nobody reads it."""
        big = "x" * (5 * MEBIBYTE)
        assert self.told(sandbox, "import sys; print(len(sys.stdin.read()))", stdin=big) == len(big)
        assert self.told(sandbox, "print(1)", stdin=big) == 1
        assert self.told(sandbox, "import sys; print(len(sys.stdin.read()))") == 0

    def test_a_job_has_its_own_environment(self, sandbox: Sandbox) -> None:
        """What it asks for, and nothing of this process."""
        told = self.told(
            sandbox, "import json, os; print(json.dumps(dict(os.environ)))", env={"ASKED": "yes"}
        )
        assert told["ASKED"] == "yes"
        mine = {name: value for name, value in os.environ.items() if told.get(name) == value}
        assert set(mine) <= {"PATH", "LANG", "HOME", "PYTHONDONTWRITEBYTECODE"}, sorted(mine)

    def test_a_preload_is_there_to_be_imported(self, sandbox: Sandbox) -> None:
        """Made anew for each job: what one does to it the next does not see."""
        preload = Preload(
            name="ready", source="import json\ncount = [0]\ndef add():\n count[0] += 1"
        )
        source = "import ready; ready.add(); print(ready.count[0])"
        assert [self.told(sandbox, source, preload=preload) for _ in range(2)] == [1, 1]

    # --- limits ---------------------------------------------------------------------------------

    def test_too_much_cpu_time_is_a_timeout(self, sandbox: Sandbox) -> None:
        """Of all its processes together."""
        busy = "import os\nfor _ in range(3): os.fork()\nwhile True: pass"
        for source in ("while True: pass", busy):
            outcome = self.run(sandbox, source, cpu_seconds=0.5, wall_seconds=30)
            assert (outcome.status, outcome.limit) == ("timeout", "cpu"), outcome
            assert outcome.cpu_seconds < 5, outcome

    def test_too_much_wall_time_is_a_timeout(self, sandbox: Sandbox) -> None:
        """Where a program sleeps, or waits for itself."""
        for source in (
            "import time; time.sleep(60)",
            "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()",
            "import os; read, write = os.pipe(); os.read(read, 1)",
        ):
            outcome = self.run(sandbox, source, wall_seconds=0.5)
            assert (outcome.status, outcome.limit) == ("timeout", "wall"), outcome

    def test_nothing_makes_a_program_deaf_to_its_limit(self, sandbox: Sandbox) -> None:
        """It may ignore what signals it likes."""
        assert self.run(sandbox, attacks.DEAF, cpu_seconds=0.5).status == "timeout"

    def test_too_much_memory_ends_a_program(self, sandbox: Sandbox) -> None:
        """And is told as that, or as the MemoryError that Python makes of it."""
        outcome = self.run(
            sandbox, "held = bytearray(3 << 30); held[::4096] = b'x' * len(held[::4096])",
            memory_mb=256,
        )  # fmt: skip
        assert outcome.status == "oom" or "MemoryError" in outcome.stderr, outcome
        assert outcome.memory_mb < 400

    def test_processes_share_the_memory_limit(self, sandbox: Sandbox) -> None:
        """Eight that hold 400 MiB each do not fit into 512."""
        outcome = self.run(sandbox, attacks.MANY_EATERS, memory_mb=512)
        held = int(outcome.stdout or 0)
        assert held <= 1, outcome

    def test_processes_are_counted(self, sandbox: Sandbox) -> None:
        """A fork bomb ends at the limit."""
        assert self.told(sandbox, attacks.FORKS, processes=16) < 20

    def test_the_disk_is_bounded(self, sandbox: Sandbox) -> None:
        """Wherever a program can write."""
        written = self.told(sandbox, attacks.FILLS_DISK, disk_mb=16, memory_mb=512)
        assert all(size <= 20 * MEBIBYTE for size in written.values()), written

    def test_files_and_descriptors_are_bounded(self, sandbox: Sandbox) -> None:
        """No program makes tens of thousands of them."""
        assert self.told(sandbox, attacks.MANY_FILES) < 20000
        assert self.told(sandbox, attacks.MANY_DESCRIPTORS) < 5000

    def test_output_is_kept_up_to_a_size(self, sandbox: Sandbox) -> None:
        """What is over it is counted."""
        outcome = self.run(sandbox, "print('ab' * 50000)", output_bytes=1000)
        assert (outcome.status, outcome.output_total) == ("ok", 100001)
        assert outcome.stdout == "ab" * 500

    def test_a_flood_of_output_ends_a_program(self, sandbox: Sandbox) -> None:
        """And costs this process next to nothing."""
        before = psutil.Process().memory_info().rss
        outcome = self.run(
            sandbox, "import os\nfor _ in range(1000): os.write(1, bytes(1 << 20))",
            max_output_bytes=4 * MEBIBYTE,
        )  # fmt: skip
        assert outcome.status == "output_limit", outcome
        assert len(outcome.stdout) <= 64 << 10
        assert psutil.Process().memory_info().rss - before <= 8 * MEBIBYTE

    # --- whose fault ----------------------------------------------------------------------------

    def test_the_canary_is_well(self, sandbox: Sandbox) -> None:
        """Alone or not."""
        assert sandbox.canary() == ""
        with sandbox.alone():
            assert sandbox.canary() == ""
            assert self.told(sandbox, "print(1)") == 1

    def test_a_sleeper_is_found_out(self, sandbox: Sandbox) -> None:
        """`fairly` plays it twice and believes it."""
        played: list[Outcome] = []

        def play() -> Outcome:
            played.append(self.run(sandbox, "import time; time.sleep(60)", wall_seconds=0.5))
            return played[-1]

        assert sandbox.fairly(play).limit == "wall"
        assert len(played) == 2

    def test_its_identity_is_json(self, sandbox: Sandbox) -> None:
        """And says which sandbox it is, and what it keeps apart."""
        told = json.loads(json.dumps(dict(sandbox.identity)))
        assert {"sandbox", "level"} <= set(told), told

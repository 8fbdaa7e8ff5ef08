"""What no sandbox lets through: files, processes, the network, the run before."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Generator
from pathlib import Path

import psutil

from rewardhub.contracts import Job, Sandbox
from rewardhub.testing import sandbox_attacks as attacks
from rewardhub.testing.sandbox_runs import SandboxRuns


class WallsContract(SandboxRuns):
    """Isolation: from this machine, and of one run from another."""

    def test_attacks_get_nothing(self, sandbox: Sandbox) -> None:
        """Neither files of this machine, nor what the kernel keeps for administrators."""
        got = {name: self.told(sandbox, source) for name, source in attacks.QUIET.items()}
        assert not any(got.values()), got

    def test_nothing_of_the_network_is_reached(self, sandbox: Sandbox) -> None:
        """Not even this machine itself."""
        with attacks.listening() as wanted:
            assert self.told(sandbox, attacks.CALL_HOME, stdin=wanted) == []

    def test_files_and_processes_of_this_machine_are_not_seen(self, sandbox: Sandbox) -> None:
        """A secret in a file, in an environment, in a command line."""
        secret = secrets.token_hex(16)
        source = (
            "import glob, sys\n"
            "names = [sys.stdin.read().strip()]\n"
            "names += [n for k in ('environ', 'cmdline') for n in glob.glob(f'/proc/[0-9]*/{k}')]\n"
            "for name in names:\n"
            "    try:\n"
            "        print(open(name, 'rb').read())\n"
            "    except OSError:\n"
            "        pass\n"
        )
        with tempfile.TemporaryDirectory() as folder, _secretive(secret):
            path = Path(folder, "secret")
            path.write_text(secret)
            outcome = self.run(sandbox, source, stdin=str(path))
        assert outcome.status == "ok", outcome.stderr
        assert secret not in outcome.stdout

    def test_nobody_survives(self, sandbox: Sandbox) -> None:
        """A daemon that holds the pipes open neither keeps the run from ending nor lives on."""
        mark = f"mark-{secrets.token_hex(8)}"
        outcome = self.run(sandbox, attacks.DAEMON.replace("MARK", mark), wall_seconds=20)
        assert outcome.stdout == "left\n", outcome
        assert outcome.seconds < 15
        assert not [one for one in psutil.process_iter(["cmdline"]) if mark in str(one.info)]

    def test_killing_all_it_can_kills_nobody_else(self, sandbox: Sandbox) -> None:
        """The next job runs as if nothing had been."""
        sandbox.run(Job(source=attacks.KILLS))
        assert self.told(sandbox, "print(1)") == 1

    def test_nothing_of_one_run_is_seen_by_the_next(self, sandbox: Sandbox) -> None:
        """No file, no shared memory, no process."""
        assert self.run(sandbox, attacks.LEAVES_THINGS).stdout == "left\n"
        assert self.told(sandbox, attacks.FINDS_THINGS) == []

    def test_no_memory_of_one_run_is_inherited_by_the_next(self, sandbox: Sandbox) -> None:
        """Not its source, its files, its input, its output, its messages."""
        secret = secrets.token_hex(16)
        source = f"import sys\nkept = '{secret}' * 100\nprint(kept, sys.stdin.read())"
        for _ in range(3):
            self.run(sandbox, source, stdin=secret, files={"f": secret}, env={"SECRET": secret})
        assert self.told(sandbox, attacks.SCANS_MEMORY, stdin=secret[::-1]) == 0


@contextlib.contextmanager
def _secretive(secret: str) -> Generator[None]:
    """Hold a secret in the environment while inside."""
    os.environ["SECRET_OF_THE_HOST"] = secret
    try:
        yield
    finally:
        del os.environ["SECRET_OF_THE_HOST"]

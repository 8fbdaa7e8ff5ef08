"""How a sandbox lets one talk with programs that run in it."""

from __future__ import annotations

import contextlib

from rewardhub.contracts import Job, ProgramEndedError, Sandbox
from rewardhub.testing.sandbox_runs import MEBIBYTE, SandboxRuns

_GREETS = """
import os
channel = int(os.environ["REWARDHUB_CHANNEL"])
def read(size):
    data = b""
    while len(data) < size:
        piece = os.read(channel, size - len(data))
        if not piece:
            raise SystemExit(0)
        data += piece
    return data
def receive():
    return read(int.from_bytes(read(4), "little"))
def send(message):
    os.write(channel, len(message).to_bytes(4, "little") + message)
"""


class ChannelContract(SandboxRuns):
    """Channels: messages both ways, and no way for a program to hold anybody up."""

    def test_a_program_is_talked_with(self, sandbox: Sandbox) -> None:
        """Messages go both ways, however long, and end with the channel."""
        source = _GREETS + "while True: send(receive()[::-1])"
        (program,) = sandbox.start(Job(source=source))
        with program:
            for message in (b"ab", b"", bytes(range(256)) * 3000):
                program.send(message)
                assert program.receive() == message[::-1]
            outcome = program.finish()
        assert (outcome.status, outcome.exit_code) == ("ok", 0), outcome

    def test_a_program_that_ends_without_an_answer_says_how(self, sandbox: Sandbox) -> None:
        """By itself, at a limit, or because it closed the channel."""
        import pytest

        for source, status in (
            (_GREETS + "receive(); raise SystemExit(3)", "nonzero"),
            ("import time; time.sleep(60)", "timeout"),
        ):
            (program,) = sandbox.start(Job(source=source, wall_seconds=1))
            with program:
                program.send(b"go")
                with pytest.raises(ProgramEndedError) as ended:
                    program.receive()
                assert ended.value.outcome.status == program.finish().status == status

    def test_what_is_said_before_the_end_is_heard(self, sandbox: Sandbox) -> None:
        """A last message is not lost because its sender has ended."""
        (program,) = sandbox.start(Job(source=_GREETS + "send(b'last words')"))
        with program:
            assert program.receive() == b"last words"
            assert program.finish().status == "ok"

    def test_a_message_without_end_ends_its_sender(self, sandbox: Sandbox) -> None:
        """Also one that only says that it will be long."""
        for source in (
            _GREETS + "os.write(channel, b'\\xff\\xff\\xff\\xff')\nimport time; time.sleep(60)",
            _GREETS + "while True: os.write(channel, bytes([0, 0, 64, 0]) + bytes(1 << 20))",
        ):
            (program,) = sandbox.start(Job(source=source, wall_seconds=10))
            with program, contextlib.suppress(ProgramEndedError):
                for _ in range(50):
                    program.receive()
                raise AssertionError("it went on")
            assert program.kill().status in {"killed", "timeout"}

    def test_a_program_that_does_not_listen_holds_nobody_up(self, sandbox: Sandbox) -> None:
        """What is sent to it is lost."""
        (program,) = sandbox.start(Job(source="import time; time.sleep(60)", wall_seconds=2))
        with program:
            for _ in range(8):
                program.send(bytes(MEBIBYTE))
            assert program.finish().status == "timeout"

    def test_a_program_that_is_left_is_ended(self, sandbox: Sandbox) -> None:
        """And its slot is free again."""
        for _ in range(3):
            with sandbox.start(Job(source="import time; time.sleep(60)"))[0]:
                pass
        assert self.told(sandbox, "print(1)") == 1

    def test_jobs_side_by_side_do_not_meet(self, sandbox: Sandbox) -> None:
        """They share a slot, and neither files nor processes."""
        left = _GREETS + "open('/tmp/mine', 'w').close(); open('mine', 'w').close(); receive()"
        right = _GREETS + (
            "receive()\n"
            "import json\n"
            "seen = [name for name in ('/tmp/mine', 'mine') if os.path.exists(name)]\n"
            "def killed(number):\n"
            "    try:\n"
            "        os.kill(number, 9)\n"
            "        return True\n"
            "    except OSError:\n"
            "        return False\n"
            "own = (1, os.getpid(), os.getppid())\n"
            "seen += [n for n in range(2, 32768) if n not in own and killed(n)]\n"
            "send(json.dumps(seen).encode())\n"
        )
        first, second = sandbox.start(Job(source=left + "\nsend(b'')"), Job(source=right))
        with first, second:
            second.send(b"")
            assert second.receive() == b"[]"
            first.send(b"")
            assert first.receive() == b""
            assert (first.finish().status, second.finish().status) == ("ok", "ok")
